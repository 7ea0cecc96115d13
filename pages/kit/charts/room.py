"""A chart in its place: its views are as high as the screen has room for, a laptop's or a projector's.

Its words keep their size. So a view with a name beside each row stays high enough for the names. A picture
whose marks have places of their own, without an axis at the side, stays as it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Spec = dict[str, Any]

ROOM = 590  # pixels of a chart that fit below a page's question and its control on a laptop
BESIDE_ROOM = 505  # the same beside a step of a lesson, on a screen of 720 pixels
# Pixels of a chart, before its place is enlarged, that fit on a projector of 1280 by 720
PROJECTED_ROOM = 370

# Of its height, what a view keeps at least; the second one with names beside its rows
_FLATTEST, _FLATTEST_ROWS = 0.4, 0.9
_MOST = 2.0  # times its height, at most, that a low chart grows
_LEAST = 40  # pixels: no view becomes flatter, and one that is flat already keeps its height
_FLAT = 60
_LONG_LEGEND = 3  # names: more of them stand beside the picture, one below the other
_AROUND = 75  # pixels of a view's title, axis and distance to the next


def in_room(spec: Mapping[str, Any], room: float = ROOM, *, is_narrow: bool = False) -> Mapping[str, Any]:
    """The spec with views as high as `room` allows; it shares all else with the original.

    A higher chart becomes flatter. A lower one with axes in numbers grows, to twice its height at most. A
    narrow page, as beside a lesson, has no room for a long legend at a picture's side. Its height is the
    legend's as well, so it stays.
    """
    views = list(_views(spec))
    alone = "vconcat" not in spec
    drawn = sum(map(_height, views))
    left = room - _AROUND * sum(_height(view) > _FLAT for view in views)
    if drawn <= left:
        axes = {kind for view in views for kind in _axes(view)}
        grows = drawn and axes and not axes & {"nominal", "ordinal"}
        share = min(left / drawn, _MOST) if grows else 1.0
        return spec if share <= 1 else type(spec)(_scaled(spec, share))
    if alone and len(_names(spec)) > _LONG_LEGEND:
        if is_narrow:
            return spec
        spec = type(spec)(_aside(spec))
    return type(spec)(_flat(spec, max(left / drawn, _FLATTEST), alone))


def _scaled(spec: Mapping[str, Any], share: float) -> Spec:
    made = dict(spec)
    for part in ("vconcat", "hconcat"):
        if part in spec:
            made[part] = [_scaled(view, share) for view in spec[part]]
    height = _height(spec)
    if height > _FLAT and _axes(spec):
        made["height"] = round(height * share)
    return made


def _views(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The views that stand below one another; of those side by side, the first."""
    if "vconcat" in spec:
        for part in spec["vconcat"]:
            yield from _views(part)
    elif "hconcat" in spec:
        yield from _views(spec["hconcat"][0])
    else:
        yield spec


def _flat(spec: Mapping[str, Any], share: float, alone: bool) -> Spec:
    made = dict(spec)
    for part in ("vconcat", "hconcat"):
        if part in spec:
            made[part] = [_flat(view, share, alone) for view in spec[part]]
    height, axes = _height(spec), _axes(spec)
    if height > _FLAT and (axes or not alone):
        least = _FLATTEST_ROWS if axes & {"nominal", "ordinal"} else 0.0
        made["height"] = max(_LEAST, round(height * max(share, least)))
    return made


def _aside(spec: Mapping[str, Any]) -> Spec:
    """The chart with its legends at the right: there is less room below than there is beside."""
    made = dict(spec)
    if "layer" in spec:
        made["layer"] = [_aside(view) for view in spec["layer"]]
    if "encoding" in spec:
        made["encoding"] = {name: _legend_aside(channel) for name, channel in spec["encoding"].items()}
    return made


def _legend_aside(channel: Any) -> Any:
    legend = channel.get("legend") if isinstance(channel, Mapping) else None
    if not isinstance(legend, Mapping):
        return channel
    return {**channel, "legend": {**legend, "orient": "right", "columns": 1}}


def _names(view: Mapping[str, Any]) -> Sequence[str]:
    channels = [c for one in _marks(view) for c in one.get("encoding", {}).values()]
    scales = [
        c.get("scale") for c in channels if isinstance(c, Mapping) and isinstance(c.get("legend"), Mapping)
    ]
    return max(((scale or {}).get("domain", ()) for scale in scales), key=len, default=())


def _marks(view: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [view, *view.get("layer", ())]


def _height(view: Mapping[str, Any]) -> float:
    height = view.get("height")
    return float(height) if isinstance(height, int | float) else 0.0


def _axes(view: Mapping[str, Any]) -> set[str]:
    channels = [one.get("encoding", {}).get("y") or {} for one in _marks(view)]
    return {y["type"] for y in channels if "type" in y and y.get("axis", {}) is not None}
