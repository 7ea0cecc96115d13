"""Record of what pages send to a browser: charts, stages, and the Notice at each position of a hand."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import product
from typing import Any

import pyarrow as pa
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Node

from kernels.paths import TOP
from pages.kit.computing import compute
from pages.kit.server.heads import START

_PATIENCE_S = 120
_INPUTS, _SLID = ("range", "radio"), "slid_"
Record = dict[str, Any]
_CARD: Record = {"card": True}
# Data of a stage without which it leaves out what only Python answers.
_ASKS = ("brush", "mark")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A page at an address, whose picture is kept.

    `hand`: key of the control that a hand or slider sets. `switches`: options of further controls by key, in
    all combinations. `is_alone`: the stages answer without Python, and the Notice stays.
    """

    page: str
    address: Mapping[str, str] = field(default_factory=dict)
    hand: str = ""
    switches: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_alone: bool = False


HANDS = (
    Subject(
        page=START,
        hand="start_pull",
        switches={
            "start_scales": ("none", "one", "rows"),
            "start_format": ("per_tensor_e4m3", "per_tensor", "mxfp4"),
        },
    ),
    Subject(page="why_fp8", hand="why_tokens"),
    Subject(page="formats"),
    Subject(page="formats", address={"formats": "gradients"}, hand="loss_scale"),
    Subject(page="scaling", hand="scaling_log2"),
    Subject(page="scaling", address={"scaling": "rules"}, hand="scaling_one"),
    Subject(page="tile_layouts", address={"matmul": "wgrad"}, hand="turn"),
    Subject(page="stochastic_rounding", is_alone=True),
    Subject(page="rotations", hand="rotations_magnitude"),
    Subject(page="accumulation", hand="step"),
)
"""Pictures that are kept with what their hands do; of all other pages, the picture that they open with."""


def subjects() -> list[Subject]:
    pages = [link.proto.page or START for link in _opened(Subject(page=START)).sidebar.get("page_link")]
    return [one for page in pages for one in [s for s in HANDS if s.page == page] or [Subject(page=page)]]


def record(subject: Subject, modules: dict[str, Record]) -> Record:
    """A picture's question, views and words for JSON; `modules` gets the stages' code.

    A view belongs to one combination of switches. `dark` lists differences of the dark theme.
    """
    at = _opened(subject)
    combinations = list(product(*subject.switches.values()))
    views, dark = (
        list(_views(_opened(subject, theme), subject, combinations, modules)) for theme in ("light", "dark")
    )
    return {
        "page": subject.page,
        "address": dict(subject.address),
        "question": at.title[0].value,
        "switches": [_switch(at, key, values) for key, values in subject.switches.items()],
        "first": combinations.index(tuple(at.session_state[key] for key in subject.switches)),
        "views": views,
        "dark": list(_changes(views, dark)),
    }


def _opened(subject: Subject, theme: str = "light") -> AppTest:
    # A page waits for what it computes in the pool: its first run is its last.
    compute.PATIENCE_S = float(_PATIENCE_S)
    at = AppTest.from_file(str(TOP / "app.py"), default_timeout=_PATIENCE_S)
    at.context = {"theme": theme}
    if subject.page != START:
        at.switch_page(f"pages/{subject.page}.py")
    for key, value in subject.address.items():
        at.query_params[key] = value
    return _run(at)


def _run(at: AppTest) -> AppTest:
    at.run()
    if at.exception:
        raise RuntimeError(at.exception[0].value)
    return at


def _views(
    at: AppTest, subject: Subject, combinations: Sequence[tuple[str, ...]], modules: dict[str, Record]
) -> Iterator[Record]:
    for values in combinations:
        for key, value in zip(subject.switches, values, strict=True):
            at.session_state[key] = value
        _run(at)
        parts = list(_parts(_container(at, "view_stage"), modules))
        if not subject.hand and not subject.is_alone:
            # Python would answer the hand. A picture that is nothing without it is its card.
            charts = [part for part in parts if "module" not in part]
            parts = charts if charts or not parts else [_CARD]
        for data in (part.get("data", {}) for part in parts):
            for name in _ASKS:
                data.pop(name, None)
        view = {"finding": _finding(at), "parts": parts}
        if subject.hand and at.context["theme"] == "light":
            view |= _answers(at, subject.hand, view["parts"])
        yield view


def _answers(at: AppTest, hand: str, parts: Sequence[Record]) -> Record:
    """Positions of a slider, or of a stage's widget, and the finding at each."""
    start, findings = at.session_state[hand], []
    bind = next(_binds([part.get("spec") for part in parts]), {})
    if (positions := bind.get("options")) is None:
        slider = None if bind else _widget(at, hand).proto
        low, high, step = (bind.get(name, getattr(slider, name, 0)) for name in ("min", "max", "step"))
        positions = [type(start)(low + i * step) for i in range(round((high - low) / step) + 1)]
    for position in positions:
        at.session_state[hand] = position
        findings.append(_finding(_run(at)))
    at.session_state[hand] = start
    return {"positions": positions, "findings": findings}


def _binds(spec: Any) -> Iterator[Record]:
    if isinstance(spec, dict) and spec.get("name") == "fall":  # plays a motion, and no hand sets it
        return
    if isinstance(spec, dict) and spec.get("input") in _INPUTS:
        yield spec
    elif isinstance(spec, dict | list):
        for one in spec.values() if isinstance(spec, dict) else spec:
            yield from _binds(one)


def _switch(at: AppTest, key: str, values: Sequence[str]) -> Record:
    widget = _widget(at, key)
    return {"label": widget.label, "options": [widget.format_func(value) for value in values]}


def _widget(at: AppTest, key: str) -> Any:
    return next(one for one in _every(at.main) if getattr(one, "key", None) == key)


def _every(node: Node) -> Iterator[Any]:
    for child in getattr(node, "children", {}).values():
        yield child
        yield from _every(child)


def _key(node: Any) -> str:
    return getattr(node.proto, "id", "").split("-", 2)[-1]


def _container(at: AppTest, key: str) -> Any:
    return next(one for one in _every(at.main) if one.type == "flex_container" and _key(one) == key)


def _parts(node: Any, modules: dict[str, Record], share: float = 1.0, slid: str = "") -> Iterator[Record]:
    """Charts and stages in a container, with their share of its width.

    The site finds them by `key`, and the container of a chart's slider by `slid`.
    """
    for child in node.children.values():
        proto, place = child.proto, {"key": _key(child), "slid": slid, "share": share}
        if child.type == "vega_lite_chart":
            columns = {one.name: _columns(one.data.data) for one in proto.datasets}
            spec = {name: value for name, value in json.loads(proto.spec).items() if name != "$schema"}
            yield place | {"alt": proto.alt, "spec": spec, "columns": columns}
        elif child.type == "bidi_component":
            modules[proto.component_name] = {"css": proto.css_content, "js": proto.js_content}
            yield place | {"module": proto.component_name, "data": json.loads(proto.json)}
        elif child.type == "image":
            yield _CARD
        elif hasattr(child, "children"):
            inner = share * child.weight if child.type == "column" else share
            yield from _parts(child, modules, inner, _key(child) if _key(child).startswith(_SLID) else slid)


def _columns(buffer: bytes) -> Record:
    with pa.ipc.open_stream(buffer) as stream:
        return stream.read_all().to_pydict()


def _finding(at: AppTest) -> str:
    """The page's Notice as HTML, without sentences about a button."""
    texts = [one.value for one in _every(_container(at, "view_notice")) if one.type == "markdown"]
    text = escape(re.sub(r"\s*Press .*?\.(?=\s|$)", "", texts[0]) if texts else "", quote=False)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", text)


def _changes(light: Any, dark: Any, path: tuple[str | int, ...] = ()) -> Iterator[list[Any]]:
    """Differences of two records: path, and the dark one's value."""
    is_dict = isinstance(light, dict) and isinstance(dark, dict) and dark.keys() <= light.keys()
    if is_dict or (isinstance(light, list) and isinstance(dark, list) and len(light) == len(dark)):
        for key in dark if is_dict else range(len(dark)):
            yield from _changes(light[key], dark[key], (*path, key))
    elif light != dark:
        yield [list(path), dark]
