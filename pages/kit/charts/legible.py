"""Rules for every chart, so that its words can be read on a projector and on a telephone.

A chart is a dict of Vega-Lite. `legible` returns a copy: outer labels have room, legends take as many lines
as the width needs, long titles break, and decoration is hidden from screen readers.
"""

import json
from collections.abc import Mapping
from typing import Any

Spec = dict[str, Any]

SMALLEST = 11  # pixels: no text of a chart is smaller

# Pixels around a chart: the last label of an axis reaches beyond the axis by half its length
AROUND = {"left": 4, "right": 10, "top": 6}

FLUSH = 20  # pixels: labels so near the ends of a horizontal axis stay inside of it

NARROW = 420  # pixels: a chart that is narrower has no room beside its axis for a legend

_WIDTH = "containerSize()[0]"
_ANCHOR = {"anchor": {"signal": f"{_WIDTH} < {NARROW} ? 'end' : 'start'"}}
_LEGENDS = {"padding": 0, "layout": {"top": _ANCHOR, "bottom": _ANCHOR}}
_WORDS = {"labelFontSize": 13, "titleFontSize": 13}
_LETTER, _SYMBOL = 6.3, 30
_TITLE_LETTER, _LONG_TITLE = 7.5, 40
_PARTS = ("layer", "vconcat")
_DEFAULT_LIMIT = 160


def legible(spec: Mapping[str, Any]) -> Spec:
    """Return a copy of the spec by these rules; it shares its data."""
    config = {**spec.get("config", {})}
    config["legend"] = {**_LEGENDS, **_WORDS, **config.get("legend", {})}
    config["axis"] = {**_WORDS, **config.get("axis", {})}
    config["text"] = {"fontSize": 13, **config.get("text", {})}
    ready = {**_view(spec), "config": config}
    if "vconcat" not in spec:
        ready["padding"] = {**AROUND, **spec.get("padding", {})}
    return ready


def _view(view: Mapping[str, Any]) -> Spec:
    ready = dict(view)
    for part in _PARTS:
        if part in view:
            ready[part] = [_view(inner) for inner in view[part]]
    if "title" in view:
        ready["title"] = view_title(view["title"])
    encoding = view.get("encoding")
    if encoding:
        ready["encoding"] = {name: _channel(name, channel) for name, channel in encoding.items()}
    if "mark" in view:
        ready["mark"] = _mark(view["mark"], encoding or {})
    return ready


def _mark(mark: str | Mapping[str, Any], encoding: Mapping[str, Any]) -> Spec:
    """Hide a mark without a tooltip: the chart's description speaks for it."""
    ready = {"type": mark} if isinstance(mark, str) else dict(mark)
    if "tooltip" not in encoding:
        ready.setdefault("aria", False)
    return ready


def _channel(name: str, channel: Any) -> Any:
    if not isinstance(channel, Mapping):
        return channel
    ready = dict(channel)
    if isinstance(channel.get("condition"), Mapping):
        ready["condition"] = _channel(name, channel["condition"])
    axis = channel.get("axis", {})
    if name == "x" and axis is not None:
        if channel.get("type") == "quantitative":
            axis = ready["axis"] = {"labelFlush": FLUSH, **axis}
        if isinstance(axis, Mapping) and "title" in axis:
            ready["axis"] = {**axis, "title": axis_title(axis["title"])}
        if "title" in channel:
            ready["title"] = axis_title(channel["title"])
    legend = channel.get("legend")
    if isinstance(legend, Mapping) and legend.get("orient") in ("top", "bottom"):
        ready["legend"] = _legend(legend, channel)
    return ready


def _legend(legend: Mapping[str, Any], channel: Mapping[str, Any]) -> Spec:
    names = [name for name in channel.get("scale", {}).get("domain", ()) if isinstance(name, str)]
    names = [name for name in legend.get("values", names) if isinstance(name, str)]
    ready = dict(legend)
    longest = max(map(len, names), default=0) * _LETTER
    limit = max(longest, legend.get("labelLimit", _DEFAULT_LIMIT))
    ready["labelLimit"] = {"expr": f"min({limit:.0f}, {_WIDTH} - {_SYMBOL})"}
    columns = legend.get("columns", len(names))
    if names and columns != 1:
        ready["columns"] = {
            "expr": f"max(1, min({columns}, floor({_WIDTH} / {longest + _SYMBOL:.0f})))",
        }
    return ready


def axis_title(title: Any) -> Any:
    return _halves(title) if isinstance(title, str) and len(title) > _LONG_TITLE else title


def view_title(title: Any) -> Any:
    text = title.get("text") if isinstance(title, Mapping) else title
    if not isinstance(text, str) or " " not in text:
        return title
    style = dict(title) if isinstance(title, Mapping) else {}
    one, two = (json.dumps(words, ensure_ascii=False) for words in (text, _halves(text)))
    return {**style, "text": {"expr": f"{_WIDTH} < {len(text) * _TITLE_LETTER:.0f} ? {two} : {one}"}}


def _halves(text: str) -> list[str]:
    spaces = [at for at, letter in enumerate(text) if letter == " "]
    middle = min(spaces, key=lambda at: abs(2 * at - len(text)))
    return [text[:middle], text[middle + 1 :]]


# A chart in its place: its views are as high as the screen has room for, a laptop's or a projector's. Its
# words keep their size: a view with a name beside each row stays high enough for the names.
ROOM = 590  # pixels of a chart that fit below a page's question and its control on a laptop
PROJECTED_ROOM = 370  # the same on a projector of 1280 by 720, before its place is enlarged
# By whether the page is projected, and whether a step of a lesson stands beside it
ROOMS = {(False, False): ROOM, (False, True): 505, (True, False): PROJECTED_ROOM, (True, True): 420}

# Of its height, what a view keeps at least; the second one with names beside its rows
_FLATTEST, _FLATTEST_ROWS = 0.4, 0.9
_LEAST = 40  # pixels: no view becomes flatter, and one that is flat already keeps its height
_FLAT = 60
_NAMED = {"nominal", "ordinal"}
_AROUND = 75  # pixels of a view's title, axis and distance to the next


def in_room(spec: Mapping[str, Any], room: float = ROOM) -> Mapping[str, Any]:
    """Fit the heights of a spec's views into `room` pixels; all else is shared with the original.

    A higher chart becomes flatter. A lower one with numeric axes grows.
    """
    views = spec.get("vconcat", [spec])
    marks = [mark for view in views for mark in (view, *view.get("layer", ()))]
    channels = [mark.get("encoding", {}).get("y") or {} for mark in marks]
    axes = {y["type"] for y in channels if "type" in y and y.get("axis", {}) is not None}
    heights = [tall if isinstance(tall := view.get("height"), int | float) else 0 for view in views]
    if not axes or not any(heights):
        return spec
    share = (room - _AROUND * sum(height > _FLAT for height in heights)) / sum(heights)
    if share > 1 and axes & _NAMED:
        return spec
    share = max(share, _FLATTEST_ROWS if axes & _NAMED else _FLATTEST)
    fitted = [
        {**view, "height": max(_LEAST, round(height * share))} if height > _FLAT else view
        for view, height in zip(views, heights, strict=True)
    ]
    return type(spec)({**spec, "vconcat": fitted} if "vconcat" in spec else fitted[0])
