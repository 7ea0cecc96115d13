"""Contract: when a server has started, every section of every page has been drawn once, by a session that is
gone.
"""

from collections.abc import Callable

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.kit.server import lifespan
from tests.asynchronous import complete

SECTIONS = {"a": ["One", "Two"], "b": [], "c": ["Three"]}


class Runtime:
    """A runtime whose pages have these sections; it notes what is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self.closed: list[str] = []

    def connect_session(self, client, user_info) -> str:
        self.hear: Callable = client.write_forward_msg
        return "session"

    def handle_backmsg(self, session, message) -> None:
        page, states = message.rerun_script.page_script_hash, message.rerun_script.widget_states.widgets
        self.asked.append((page, [text for state in states for text in state.string_array_value.data]))
        navigation = ForwardMsg()
        for name in SECTIONS:
            navigation.navigation.app_pages.add(page_script_hash=name)
        navigation.navigation.app_pages.add(page_script_hash="a once more", is_hidden=True)
        self.hear(navigation)
        for place, options in ((1, ["not a section"]), (0, SECTIONS.get(page, [])), (0, ["another choice"])):
            if options:
                delta = ForwardMsg()
                delta.metadata.delta_path.extend([place, 0])
                group = delta.delta.new_element.button_group
                group.id, group.required = "sections", "another choice" not in options
                for option in options:
                    group.options.add(content=option)
                self.hear(delta)
        self.hear(ForwardMsg(script_finished=ForwardMsg.FINISHED_EARLY_FOR_RERUN))
        self.hear(ForwardMsg(script_finished=ForwardMsg.FINISHED_SUCCESSFULLY))

    def close_session(self, session: str) -> None:
        self.closed.append(session)


@pytest.fixture
def runtime(monkeypatch) -> Runtime:
    server = Runtime()
    monkeypatch.setattr(lifespan.Runtime, "instance", lambda: server)
    return server


def test_every_section_of_every_page_is_opened_once(runtime):
    complete(lifespan.read_every_page())
    assert runtime.asked == [
        ("", []),
        ("a", []),
        ("a", ["One"]),
        ("a", ["Two"]),
        ("b", []),
        ("c", []),
        ("c", ["Three"]),
    ]
    assert runtime.closed == ["session"]
