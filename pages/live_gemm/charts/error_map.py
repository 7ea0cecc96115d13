"""The error of D: its size and what it comes from, where it lies, and the elements that are most wrong.

A patch's color is the largest error in it. The picture is a square beside its figures.
"""

import math
from collections.abc import Sequence

import altair as alt
import numpy as np

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template
from pages.kit.charts.words import span

_WIDE = "width >= 600"
# Pixels above and below the square.
_TOP, _FOOT = 28, 24
_SIDE = f"({_WIDE} ? height - {_TOP + _FOOT} : min(height - {_TOP + _FOOT}, width - 160))"
_LEFT = f"({_WIDE} ? 236 : 20)"
_FIGURES = f"({_WIDE} ? 0 : {_LEFT} + {_SIDE} + 16)"
_WORST = f"{_LEFT} + {_SIDE} + 44"
_BAR = f"({_WIDE} ? 150 : width - {_FIGURES} - 8)"

Bands = Sequence[Sequence[float]]
# m, n, the truth, the result.
Point = tuple[int, int, float, float]


def error_map(
    bands: Bands,
    shape: tuple[int, int],
    worst: Sequence[Point],
    figures: Sequence[tuple[str, str, float]],
    room: float,
    ink: Ink,
    *,
    m: str,
    n: str,
) -> Filled:
    """Patches of D[M, N] = `shape`, the worst elements, and the figures; `m` and `n` name the axes.

    A figure is its text, its words, and a share of the largest cause. First is the error, then its causes.
    """
    rows, columns = shape
    errors = np.array(bands, np.float64)
    down, right = cut(rows, errors.shape[0]), cut(columns, errors.shape[1])
    finite = errors[np.isfinite(errors)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    words = {
        "worst": f"Farthest off, of {rows * columns:,}",
        "m": f"M = {m}",
        "n": f"N = {n}",
        "legend": f"largest error of a patch: {low:.2g} (faint) to {high:.2g} (strong) × rms of D",
    }
    return _chart(ink).filled(
        {
            "patches": _patches(errors, down, right),
            "worst": _points(worst),
            "figures": {
                "row": list(range(len(figures))),
                **dict(zip(("figure", "words", "share"), zip(*figures, strict=True), strict=True)),
            },
            "words": {"what": [*words], "text": [*words.values()]},
        },
        rows=[0, rows],
        columns=[0, columns],
        errors=[low, high] if high > low else [low, low + 1.0],
        height=room,
    )


def _patches(errors: np.ndarray, down: Sequence[range], across: Sequence[range]) -> dict[str, object]:
    patches = [(rows, columns) for rows in down for columns in across]
    return {
        "m0": [rows.start for rows, _ in patches],
        "m1": [rows.stop for rows, _ in patches],
        "n0": [columns.start for _, columns in patches],
        "n1": [columns.stop for _, columns in patches],
        "rows": [span(rows) for rows, _ in patches],
        "columns": [span(columns) for _, columns in patches],
        "error": [_number(error) for error in errors.ravel().tolist()],
    }


def _points(worst: Sequence[Point]) -> dict[str, object]:
    return {
        "m": [i + 0.5 for i, _, _, _ in worst],
        "n": [j + 0.5 for _, j, _, _ in worst],
        "order": list(range(len(worst))),
        "element": [f"D[{i}, {j}]" for i, j, _, _ in worst],
        "words": [_off(truth, result) for _, _, truth, result in worst],
        "truth": [_number(truth) for _, _, truth, _ in worst],
        "result": [_number(result) for _, _, _, result in worst],
    }


def _off(truth: float, result: float) -> str:
    """An element's result beside the truth, such as ``−53, exact −69.9: 24% too small``."""
    if not (math.isfinite(truth) and math.isfinite(result)):
        return "not a number"
    share = result / truth - 1 if truth else 0.0
    size = f": {abs(share):.0%} too {'small' if share < 0 else 'large'}" if truth else ""
    return f"{result:.3g}, exact {truth:.3g}".replace("-", "−") + size


@template
def _chart(ink: Ink) -> alt.LayerChart:
    chart = alt.layer(*_map(ink), *_edges(ink), *_words(ink), *_listed(ink), *_figures(ink))
    return dressed(chart.properties(height=number("height", 300)), ink)


def _map(ink: Ink) -> list[alt.Chart]:
    left, right = alt.ExprRef(_LEFT), alt.ExprRef(f"{_LEFT} + {_SIDE}")
    across = alt.Scale(domain=several("columns", [0, 1]), range=[left, right], nice=False)
    bottom = alt.ExprRef(f"{_TOP} + {_SIDE}")
    down = alt.Scale(domain=several("rows", [0, 1]), range=[_TOP, bottom], nice=False)
    colors = alt.Scale(domain=several("errors", [0.0, 1.0]), range=[ink.panel, ink.mid])
    patches = alt.Chart(alt.NamedData("patches")).mark_rect(stroke=None)
    rings = alt.Chart(alt.NamedData("worst")).mark_point(
        shape="circle", size=90, color=ink.lost, strokeWidth=2, filled=False
    )
    return [
        patches.encode(
            x=alt.X("n0:Q", scale=across, axis=None),
            x2="n1",
            y=alt.Y("m0:Q", scale=down, axis=None),
            y2="m1",
            color=alt.Color("error:Q", legend=None, scale=colors),
            tooltip=[
                alt.Tooltip("rows:N", title="m"),
                alt.Tooltip("columns:N", title="n"),
                alt.Tooltip("error:Q", title="largest error here", format=".3%"),
            ],
        ),
        rings.encode(
            x=alt.X("n:Q", scale=across),
            y=alt.Y("m:Q", scale=down),
            tooltip=[
                alt.Tooltip("element:N", title="element"),
                alt.Tooltip("truth:Q", title="truth", format=".6g"),
                alt.Tooltip("result:Q", title="result", format=".6g"),
            ],
        ),
    ]


def _at(x: str, y: str) -> dict[str, object]:
    return {"x": alt.value(alt.ExprRef(x)), "y": alt.value(alt.ExprRef(y))}


_IF_WIDE = alt.ExprRef(f"{_WIDE} ? 1 : 0")


def _edges(ink: Ink) -> list[alt.Chart]:
    lines = alt.Chart(alt.Data(values=[{}]))
    n = lines.mark_rule(color=ink.n, strokeWidth=2, aria=False)
    m = lines.mark_rule(color=ink.m, strokeWidth=2, aria=False)
    return [
        n.encode(**_at(_LEFT, f"{_TOP - 6}"), x2=alt.value(alt.ExprRef(f"{_LEFT} + {_SIDE}"))),
        m.encode(**_at(f"{_LEFT} - 6", f"{_TOP}"), y2=alt.value(alt.ExprRef(f"{_TOP} + {_SIDE}"))),
    ]


def _words(ink: Ink) -> list[alt.Chart]:
    def words(what: str, x: str, y: str, **style: object) -> alt.Chart:
        mark = {"fontSize": 13, "align": "left", "color": ink.soft, **style}
        chosen = alt.Chart(alt.NamedData("words")).transform_filter(f"datum.what === '{what}'")
        return chosen.mark_text(**mark).encode(**_at(x, y), text="text:N")

    bold = {"fontWeight": "bold"}
    return [
        words("n", _LEFT, f"{_TOP - 12}", color=ink.n, **bold),
        words("m", f"{_LEFT} - 12", f"{_TOP} + {_SIDE}", color=ink.m, angle=270, **bold),
        words("legend", _LEFT, f"{_TOP} + {_SIDE} + 18", opacity=_IF_WIDE),
        words("worst", f"{_WIDE} ? {_WORST} : 0", f"{_TOP + 8}", fontSize=15, opacity=_IF_WIDE),
    ]


def _listed(ink: Ink) -> list[alt.Chart]:
    worst = alt.Chart(alt.NamedData("worst"))
    return [
        worst.transform_filter(f"datum.order === {place}")
        .mark_text(align="left", fontSize=13, color=ink.text, opacity=_IF_WIDE, **style)
        .encode(**_at(f"{_WIDE} ? {_WORST}{right} : 0", f"{_TOP + 30 + 21 * place}"), text=field)
        for place in range(5)
        for field, right, style in (("element:N", "", {"fontWeight": "bold"}), ("words:N", " + 108", {}))
    ]


def _figures(ink: Ink) -> list[alt.Chart]:
    figures, layers = alt.Chart(alt.NamedData("figures")), []
    for place, top in enumerate((34, 92, 150)):
        one = figures.transform_filter(f"datum.row === {place}")
        if place:
            bar = one.mark_rect(color=ink.dot).encode(
                x=alt.value(alt.ExprRef(_FIGURES)),
                x2=alt.value(alt.ExprRef(f"{_FIGURES} + max(2, {_BAR} * datum.share)")),
                y=alt.value(top - 10),
                y2=alt.value(top),
            )
            layers.append(bar)
        size = 15 if place else 34
        figure = one.mark_text(align="left", fontSize=size, fontWeight="bold", color=ink.text)
        words = one.mark_text(align="left", fontSize=13 if place else 15, color=ink.soft)
        below = top + (18 if place else 0)
        layers += [
            figure.encode(**_at(_FIGURES, f"{below}"), text="figure:N"),
            words.encode(**_at(_FIGURES, f"{below + (18 if place else 34)}"), text="words:N"),
        ]
    return layers


def _number(value: float) -> float | None:
    """A number that the browser can write; None for NaN and infinity."""
    return value if math.isfinite(value) else None


def cut(size: int, bands: int) -> list[range]:
    """`size` elements in `bands` stretches of equal length, the last ones shorter or empty."""
    each = -(-size // bands) if bands else 0
    return [range(min(i * each, size), min((i + 1) * each, size)) for i in range(bands)]
