"""The page that a browser holds: the messages of the server, put together as its JavaScript does it.

view = View()
view.hear(data)                 # the bytes of one message; what it means for a question
view.widgets["seed"].value      # every control on the page, by its key
view.is_pending                 # the page still shows a progress bar, a spinner or a skeleton
view.tree                       # all that is drawn, by its place
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.load.widgets import Widget, widget_of

Path = tuple[int, ...]
FINISHED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
PENDING = {"progress", "spinner", "skeleton"}
# Fields that differ between two sessions that see one page: names, and where a value came from
HELD_BY_SESSION = ("id", "form_id", "set_value", "value", "raw_value", "raw_values", "deferred_file_id")
# The style of a chart that a session has drawn for the nth time
COUNTED = re.compile(r"(\.st-key-\w+?)_\d+\b")
TIMED = re.compile(r"(?<=by this server in )[\d.]+ s\b")  # how long the server took for what it says


class News(Enum):
    BEGAN = "a run began"
    ENDED = "a run came to its end"
    NOTHING = "neither"


@dataclass(frozen=True)
class Drawn:
    """One element or block, the run that drew it, and the fragment in which it is."""

    delta: Any
    run: str
    fragment: str


@dataclass
class View:
    """One page as it is now. `query` is the address's."""

    query: str = ""
    tree: dict[Path, Drawn] = field(default_factory=dict)
    widgets: dict[str, Widget] = field(default_factory=dict)
    # The fragments that the page asks for by itself, and after how many seconds
    polls: dict[str, float] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)  # the hash of each page, by its address
    page_hash: str = ""  # the hash of this page; empty until the server has told it
    exceptions: list[str] = field(default_factory=list)
    _run: str = ""
    _fragments: tuple[str, ...] = ()
    _cache: dict[str, ForwardMsg] = field(default_factory=dict)

    def hear(self, data: bytes) -> News:
        said = ForwardMsg.FromString(data)
        kind = said.WhichOneof("type")
        if kind == "ref_hash":
            path, said = list(said.metadata.delta_path), self._cache[said.ref_hash]
            kind = said.WhichOneof("type")
        else:
            path = list(said.metadata.delta_path)
            if said.metadata.cacheable:
                self._cache[said.hash] = said
        match kind:
            case "new_session":
                self._run = said.metadata.run.script_run_id
                self._fragments = tuple(said.metadata.run.fragment_ids)
                if not self._fragments:
                    self.polls.clear()
                return News.BEGAN
            case "delta":
                self._draw(tuple(path), said.delta)
            case "page_info_changed":
                self.query = said.page_info_changed.query_string
            case "navigation":
                self.page_hash = said.navigation.page_script_hash
                self.pages = {page.url_pathname: page.page_script_hash for page in said.navigation.app_pages}
            case "auto_rerun":
                self.polls[said.auto_rerun.fragment_id] = said.auto_rerun.interval
            case "stop_auto_rerun":
                for fragment in said.stop_auto_rerun.fragment_ids:
                    self.polls.pop(fragment, None)
            case "script_finished":
                if said.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    self.exceptions.append("a script that does not compile")
                if said.script_finished in FINISHED:
                    self._tidy()
                    return News.ENDED
        return News.NOTHING

    def is_run_of(self, fragment: str) -> bool:
        """True if the run that goes on draws a fragment; the whole page is the fragment without a name."""
        return not self._fragments or fragment in self._fragments

    def _draw(self, path: Path, delta: Any) -> None:
        self.tree[path] = Drawn(delta, self._run, delta.fragment_id)
        if delta.WhichOneof("type") != "new_element":
            return
        kind = delta.new_element.WhichOneof("type")
        element = getattr(delta.new_element, kind)
        if kind == "exception":
            self.exceptions.append(f"{element.type}: {element.message}")
        widget = widget_of(kind, element, delta.fragment_id)
        if widget is not None:
            held = self.widgets.get(widget.key)
            is_set_anew = getattr(element, "set_value", False)
            if held is not None and held.id == widget.id and not is_set_anew:
                widget.value = held.value
            self.widgets[widget.key] = widget

    def _tidy(self) -> None:
        for path, drawn in list(self.tree.items()):
            in_run = drawn.fragment in self._fragments if self._fragments else True
            if in_run and drawn.run != self._run:
                del self.tree[path]
        alive = {element.id for _, element in self.elements() if hasattr(element, "id")}
        self.widgets = {key: widget for key, widget in self.widgets.items() if widget.id in alive}
        held = {id(drawn.delta) for drawn in self.tree.values()}
        self._cache = {hash_: said for hash_, said in self._cache.items() if id(said.delta) in held}

    def elements(self) -> Iterator[tuple[str, Any]]:
        for drawn in self.tree.values():
            if drawn.delta.WhichOneof("type") == "new_element":
                kind = drawn.delta.new_element.WhichOneof("type")
                yield kind, getattr(drawn.delta.new_element, kind)

    @property
    def is_pending(self) -> bool:
        kinds = {kind for kind, _ in self.elements()}
        is_transient = any(drawn.delta.WhichOneof("type") == "new_transient" for drawn in self.tree.values())
        return is_transient or bool(kinds & PENDING)

    @property
    def cached(self) -> list[str]:
        """What the server need not send again."""
        return list(self._cache)

    def button(self, key: str) -> Widget:
        for drawn in self.tree.values():
            element = drawn.delta.new_element.button
            if element.id.endswith(f"-{key}") and not element.disabled:
                return Widget(key, element.id, "button", element, drawn.fragment, None)
        raise KeyError(f"no button {key} on the page")

    @property
    def errors(self) -> list[str]:
        alerts = [element for kind, element in self.elements() if kind == "alert"]
        return [alert.body for alert in alerts if alert.format == Alert.ERROR]

    def states(self) -> list[WidgetState]:
        return [widget.state() for widget in self.widgets.values()]


def shown(delta: Any) -> Any:
    """A delta without the names that a session gives to its elements."""
    found = type(delta).FromString(delta.SerializeToString())
    found.fragment_id = ""
    if found.WhichOneof("type") == "new_element":
        found.new_element.has_one_shot_effect = False
        inner = getattr(found.new_element, found.new_element.WhichOneof("type"))
    elif found.WhichOneof("type") == "add_block":
        inner = found.add_block
    else:
        inner = found
    for name in HELD_BY_SESSION:
        if name in inner.DESCRIPTOR.fields_by_name:
            inner.ClearField(name)
    if found.new_element.WhichOneof("type") in ("html", "markdown"):
        inner.body = TIMED.sub("", COUNTED.sub(r"\1", inner.body))
    return found
