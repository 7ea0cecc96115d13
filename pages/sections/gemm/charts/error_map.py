"""The error of D: its size and what it comes from, where it lies, and the elements that are most wrong.

A patch's color is the largest error in it. The picture is a square beside its figures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template
from pages.kit.charts.words import span

_WIDE = "width >= 600"
_TOP, _FOOT = 28, 24
"""Pixels above and below the square."""
_SIDE = f"({_WIDE} ? height - {_TOP + _FOOT} : min(height - {_TOP + _FOOT}, width - 160))"
_LEFT = f"({_WIDE} ? 236 : 20)"
_FIGURES = f"({_WIDE} ? 0 : {_LEFT} + {_SIDE} + 16)"
_WORST = f"{_LEFT} + {_SIDE} + 44"
_BAR = f"({_WIDE} ? 150 : width - {_FIGURES} - 8)"

Bands = Sequence[Sequence[float]]
Point = tuple[int, int, float, float]
"""m, n, the truth, the result."""


@dataclass(frozen=True, kw_only=True)
class Errors:
    """The error of D and of its two causes, in words and as shares of the larger cause."""

    whole: str
    quantization: str
    kernel: str
    quantization_share: float
    kernel_share: float


def error_map(
    bands: Bands,
    shape: tuple[int, int],
    worst: Sequence[Point],
    errors: Errors,
    room: float,
    ink: Ink,
    *,
    m: str,
    n: str,
) -> Filled:
    """Patches of D[M, N] = `shape`, the worst elements, and the figures; `m` and `n` name the axes."""
    rows, columns = shape
    found = np.array(bands, np.float64)
    down, right = cut(rows, found.shape[0]), cut(columns, found.shape[1])
    finite = found[np.isfinite(found)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    figures = [
        (0, errors.whole, "error of D", 0.0),
        (1, errors.quantization, "by quantization", errors.quantization_share),
        (2, errors.kernel, "by the kernel", errors.kernel_share),
    ]
    said = [
        ("worst", f"The worst of {rows * columns:,}"),
        ("m", f"M = {m}"),
        ("n", f"N = {n}"),
        ("legend", f"largest error of a patch: {low:.2g} (faint) to {high:.2g} (strong) × rms of D"),
    ]
    return _chart(ink).filled(
        {
            "patches": _patches(found, down, right),
            "worst": _points(worst),
            "figures": {
                "place": [place for place, *_ in figures],
                "figure": [figure for _, figure, _, _ in figures],
                "told": [told for _, _, told, _ in figures],
                "share": [share for *_, share in figures],
            },
            "words": {"what": [what for what, _ in said], "text": [text for _, text in said]},
        },
        rows=[0, rows],
        columns=[0, columns],
        errors=[low, high] if high > low else [low, low + 1.0],
        height=room,
    )


def _patches(errors: np.ndarray, down: Sequence[range], across: Sequence[range]) -> dict[str, object]:
    def along_m(values: list[object]) -> np.ndarray:
        return np.repeat(values, len(across))

    def along_n(values: list[object]) -> np.ndarray:
        return np.tile(values, len(down))

    return {
        "m0": along_m([band.start for band in down]),
        "m1": along_m([band.stop for band in down]),
        "n0": along_n([band.start for band in across]),
        "n1": along_n([band.stop for band in across]),
        "rows": along_m([span(band) for band in down]),
        "columns": along_n([span(band) for band in across]),
        "error": [_number(error) for error in errors.ravel().tolist()],
    }


def _points(worst: Sequence[Point]) -> dict[str, object]:
    return {
        "m": [i + 0.5 for i, _, _, _ in worst],
        "n": [j + 0.5 for _, j, _, _ in worst],
        "order": list(range(len(worst))),
        "place": [f"D[{i}, {j}]" for i, j, _, _ in worst],
        "told": [_told(truth, result) for _, _, truth, result in worst],
        "truth": [_number(truth) for _, _, truth, _ in worst],
        "result": [_number(result) for _, _, _, result in worst],
    }


def _told(truth: float, result: float) -> str:
    """An element's result beside the truth, such as ``−53, exact −69.9: 24% too small``."""
    if not (math.isfinite(truth) and math.isfinite(result)):
        return "not a number"
    share = result / truth - 1 if truth else 0.0
    size = f": {abs(share):.0%} too {'small' if share < 0 else 'large'}" if truth else ""
    return f"{result:.3g}, exact {truth:.3g}".replace("-", "−") + size


@template
def _chart(ink: Ink) -> alt.LayerChart:
    across = alt.Scale(
        domain=several("columns", [0, 1]),
        range=[alt.ExprRef(_LEFT), alt.ExprRef(f"{_LEFT} + {_SIDE}")],
        nice=False,
    )
    down = alt.Scale(
        domain=several("rows", [0, 1]), range=[_TOP, alt.ExprRef(f"{_TOP} + {_SIDE}")], nice=False
    )
    heat = (
        alt.Chart(alt.NamedData("patches"))
        .mark_rect(stroke=None)
        .encode(
            x=alt.X("n0:Q", scale=across, axis=None),
            x2="n1",
            y=alt.Y("m0:Q", scale=down, axis=None),
            y2="m1",
            color=alt.Color(
                "error:Q",
                legend=None,
                scale=alt.Scale(domain=several("errors", [0.0, 1.0]), range=[ink.panel, ink.mid]),
            ),
            tooltip=[
                alt.Tooltip("rows:N", title="m"),
                alt.Tooltip("columns:N", title="n"),
                alt.Tooltip("error:Q", title="largest error here", format=".3%"),
            ],
        )
    )
    tooltip = [
        alt.Tooltip("place:N", title="element"),
        alt.Tooltip("truth:Q", title="truth", format=".6g"),
        alt.Tooltip("result:Q", title="result", format=".6g"),
    ]
    worst = alt.Chart(alt.NamedData("worst"))
    rings = worst.mark_point(shape="circle", size=90, color=ink.lost, strokeWidth=2, filled=False).encode(
        x=alt.X("n:Q", scale=across), y=alt.Y("m:Q", scale=down), tooltip=tooltip
    )
    wide = alt.ExprRef(f"{_WIDE} ? 1 : 0")

    def at(x: str, y: str) -> dict[str, object]:
        return {"x": alt.value(alt.ExprRef(x)), "y": alt.value(alt.ExprRef(y))}

    def words(what: str, x: str, y: str, **style: object) -> alt.Chart:
        mark = {"fontSize": 13, "align": "left", "color": ink.soft, **style}
        chosen = alt.Chart(alt.NamedData("words")).transform_filter(f"datum.what === '{what}'")
        return chosen.mark_text(**mark).encode(**at(x, y), text="text:N")

    listed = [
        worst.transform_filter(f"datum.order === {place}")
        .mark_text(align="left", fontSize=13, color=ink.text, opacity=wide, **style)
        .encode(**at(f"{_WIDE} ? {_WORST}{right} : 0", f"{_TOP} + {34 + 24 * place}"), text=field)
        for place in range(5)
        for field, right, style in (("place:N", "", {"fontWeight": "bold"}), ("told:N", " + 108", {}))
    ]
    figures = alt.Chart(alt.NamedData("figures"))
    shown = []
    for place, top in enumerate((34, 86, 144)):
        one = figures.transform_filter(f"datum.place === {place}")
        size = 34 if place == 0 else 15
        if place:
            bar = one.mark_rect(color=ink.dot).encode(
                x=alt.value(alt.ExprRef(_FIGURES)),
                x2=alt.value(alt.ExprRef(f"{_FIGURES} + max(2, {_BAR} * datum.share)")),
                y=alt.value(top - 10),
                y2=alt.value(top),
            )
            shown.append(bar)
        figure = one.mark_text(align="left", fontSize=size, fontWeight="bold", color=ink.text)
        told = one.mark_text(align="left", fontSize=15 if place == 0 else 13, color=ink.soft)
        below = top + (18 if place else 0)
        shown += [
            figure.encode(**at(_FIGURES, f"{below}"), text="figure:N"),
            told.encode(**at(_FIGURES, f"{below + 18}"), text="told:N"),
        ]
    lines = alt.Chart(alt.Data(values=[{}]))
    edges = [
        lines.mark_rule(color=ink.n, strokeWidth=2, aria=False).encode(
            **at(_LEFT, f"{_TOP - 6}"), x2=alt.value(alt.ExprRef(f"{_LEFT} + {_SIDE}"))
        ),
        lines.mark_rule(color=ink.m, strokeWidth=2, aria=False).encode(
            **at(f"{_LEFT} - 6", f"{_TOP}"), y2=alt.value(alt.ExprRef(f"{_TOP} + {_SIDE}"))
        ),
    ]
    chart = alt.layer(
        heat,
        rings,
        *edges,
        words("n", _LEFT, f"{_TOP - 12}", color=ink.n, fontWeight="bold"),
        words("m", f"{_LEFT} - 12", f"{_TOP} + {_SIDE}", color=ink.m, fontWeight="bold", angle=270),
        words("legend", _LEFT, f"{_TOP} + {_SIDE} + 18", opacity=wide),
        words("worst", f"{_WIDE} ? {_WORST} : 0", f"{_TOP + 8}", fontSize=15, opacity=wide),
        *listed,
        *shown,
    )
    return dressed(chart.properties(height=number("height", 300)), ink)


def _number(value: float) -> float | None:
    """A number that the browser can write; None for NaN and infinity."""
    return value if math.isfinite(value) else None


def cut(size: int, bands: int) -> list[range]:
    """`size` elements in `bands` stretches of equal length, the last ones shorter or empty."""
    each = -(-size // bands) if bands else 0
    return [range(min(i * each, size), min((i + 1) * each, size)) for i in range(bands)]
