"""Accuracy against tile size: SQNR, the error of the small elements, the bits; one axis below all panels."""

from collections.abc import Mapping, Sequence

import altair as alt

from pages.compare_recipes.charts.curves import SizeCurve, small_error
from pages.kit.charts.curves import Series, curves
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import END, inside_axis, panel_title, panels, tips
from pages.kit.charts.template import Filled, by_column, several, template
from pages.kit.charts.tile_marks import Row

POINTS = "points"
PANELS = (
    ("sqnr", "SQNR of all elements, in dB: higher is better", 150),
    ("small", "Error of the smaller half of the elements, ‖e‖ / ‖x‖: lower is better", 150),
    ("bits", "Price: bits per element, scales included", 90),
)
_LEAST = 1e-4
ROOM = 0.15  # share of the lines' width for the labels: "100%" beside a mark on a telephone


def size_chart(curves: Mapping[str, SizeCurve], ink: Ink) -> Filled:
    """Three panels, a line a curve; a bar reaches from the worst draw to the best."""
    rows = points(curves)
    highest = max(row["sqnr_high"] for row in rows)
    lowest = min(row["sqnr_low"] for row in rows)
    errors = [row[name] for row in rows for name in ("small_low", "small_high")]
    return _template(tuple(curves), ink).filled(
        {POINTS: by_column(rows)},
        span=_span([row["at"] for row in rows]),
        sqnr=[min(lowest - 1, 0.0) if lowest < 5 else lowest - 2, highest + 1],
        small=[min(errors) / 1.3, max(errors) * 1.3],
        bits=[min(row["bits"] for row in rows) - 0.3, max(row["bits"] for row in rows) + 0.3],
    )


def _span(extents: Sequence[float]) -> list[float]:
    """The ends of the axis, with room for labels at the left and a mark at the right."""
    low, high = min(extents), max(extents)
    return [low / (high / low) ** ROOM, high * (high / low) ** END]


def points(curves: Mapping[str, SizeCurve]) -> list[Row]:
    rows = []
    for name, curve in curves.items():
        for every, small in zip(curve.every, curve.small, strict=True):
            measures = {
                "sqnr": (every.mean, every.low, every.high),
                "small": [max(error, _LEAST) for error in small_error(small)],
                "bits": [every.bits] * 3,
            }
            row = {"who": name, "at": every.at}
            for measure, values in measures.items():
                row |= zip((measure, f"{measure}_low", f"{measure}_high"), values, strict=True)
            rows.append(row)
    return rows


@template
def _template(names: tuple[str, ...], ink: Ink) -> alt.VConcatChart:
    charts = [
        _panel(name, title, height, names, name == PANELS[-1][0], ink) for name, title, height in PANELS
    ]
    return panels(charts, ink, spacing=8)


def _panel(
    name: str, title: str, height: int, names: tuple[str, ...], is_last: bool, ink: Ink
) -> alt.LayerChart:
    is_error = name == "small"
    sample = {"sqnr": [0.0, 40.0], "small": [0.01, 1.0], "bits": [4.0, 9.0]}[name]
    kind = {"type": "log"} if is_error else {"type": "linear", "zero": False}
    scale = alt.Scale(domain=several(name, sample), nice=False, **kind)
    ticks = {"format": "~%", "values": _TICKS} if is_error else {"format": "~g", "tickCount": 5}
    y = alt.Y(f"{name}:Q", scale=scale, axis=inside_axis(**ticks, labelOverlap="greedy"))
    series = _series(names, ink)
    base = alt.Chart(alt.NamedData(POINTS)).encode(x=_extents(is_last))
    lines, dots = curves(base.encode(y=y), series, _tooltip(), width=2, size=60)
    ends = base.mark_rule(strokeWidth=4, opacity=0.5).encode(
        y=alt.Y(f"{name}_low:Q", scale=scale), y2=f"{name}_high:Q", color=series.color()
    )
    return alt.layer(lines, ends, dots, height=height, width="container", title=panel_title(title, ink))


def _extents(is_last: bool) -> alt.X:
    return alt.X(
        "at:Q",
        scale=alt.Scale(type="log", base=2, nice=False, domain=several("span", [8.0, 512.0])),
        axis=alt.Axis(
            title="k: elements along the summed dim" if is_last else None,
            labels=is_last,
            values=[1 << power for power in range(15)],
            format=",d",
            grid=False,
            labelOverlap="greedy",
        ),
    )


def _series(names: tuple[str, ...], ink: Ink) -> Series:
    symbols = {"symbolSize": 90, "symbolOpacity": 1, "symbolStrokeWidth": 0}
    return Series(
        names=names,
        colors=[*ink.series[:2], *ink.series[:2]],
        shapes=["circle", "circle", "square", "square"],
        dashes=[[1, 0], [1, 0], [6, 3], [6, 3]],
        legend=alt.Legend(orient="top", columns=4, labelLimit=200, **symbols),
    )


def _tooltip() -> list[alt.Tooltip]:
    return tips(
        ("who:N", "scales, tiles"),
        ("at:Q", "k", ",d"),
        ("sqnr:Q", "SQNR (dB), mean", ".2f"),
        ("sqnr_low:Q", "worst draw", ".2f"),
        ("sqnr_high:Q", "best draw", ".2f"),
        ("small:Q", "Error of the smaller half", ".2~p"),
        ("bits:Q", "bits per element", ".3~f"),
    )


_TICKS = [float(f"{digit}e{power}") for power in range(-4, 2) for digit in (1, 2, 3, 5, 7)]
