"""A first reader without a browser, who opens every section of every page when the server starts.

Some things are made once and kept: the template of each kind of chart, tables, what the default settings
give. A class that opens the app at the same moment would wait for all of them. The environment's
FP8_EXPLORER_FIRST_READER=no leaves the reader out.
"""

import asyncio
import os
from collections.abc import Mapping

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ButtonGroup_pb2 import ButtonGroup
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime

FIRST_READER = "FP8_EXPLORER_FIRST_READER"
PATIENCE_S = 60.0
MAIN = 0  # the place of the page's own part; the sidebar has another


class _Reader:
    """The browser's side of a session: it keeps the pages that there are, and the choice of sections."""

    client_context = None

    def __init__(self) -> None:
        self.answered = asyncio.Event()
        self.pages: list[str] = []
        self.sections: ButtonGroup | None = None

    def write_forward_msg(self, message: ForwardMsg) -> None:
        match message.WhichOneof("type"):
            case "navigation":
                self.pages = [
                    page.page_script_hash for page in message.navigation.app_pages if not page.is_hidden
                ]
            case "delta" if message.metadata.delta_path[0] == MAIN and self.sections is None:
                element = message.delta.new_element
                if element.WhichOneof("type") == "button_group" and element.button_group.required:
                    self.sections = element.button_group
            case "script_finished" if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                self.answered.set()


async def read_every_page() -> None:
    runtime, reader = Runtime.instance(), _Reader()
    session = runtime.connect_session(client=reader, user_info={})

    async def run(page: str, section: str | None = None) -> None:
        message = BackMsg()
        message.rerun_script.page_script_hash = page
        message.rerun_script.context_info.color_scheme = "light"
        if section is not None and reader.sections is not None:
            chosen = message.rerun_script.widget_states.widgets.add(id=reader.sections.id)
            chosen.string_array_value.data.append(section)
        reader.answered.clear()
        runtime.handle_backmsg(session, message)
        await asyncio.wait_for(reader.answered.wait(), PATIENCE_S)

    try:
        await run("")
        for page in reader.pages:
            reader.sections = None
            await run(page)
            for option in reader.sections.options if reader.sections is not None else ():
                await run(page, option.content)
    finally:
        runtime.close_session(session)


def is_wanted(environment: Mapping[str, str] = os.environ) -> bool:
    return environment.get(FIRST_READER) != "no"
