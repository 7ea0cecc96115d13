"""The error of D: its size and causes, a map of its patches, and the elements that are most wrong.

A patch's color is the largest error in it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
from numpy.typing import NDArray

from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import dressed, tips
from pages.kit.charts.template import Filled, number, several, template
from pages.kit.charts.words import short, span

_WIDE = "width >= 600"
_TOP, _FOOT = 28, 24  # pixels above and below the square
_SIDE = f"({_WIDE} ? height - {_TOP + _FOOT} : min(height - {_TOP + _FOOT}, width - 160))"
_LEFT = f"({_WIDE} ? 236 : 20)"
_FIGURES = f"({_WIDE} ? 0 : {_LEFT} + {_SIDE} + 16)"
_WORST = f"{_LEFT} + {_SIDE} + 44"
_BAR = f"({_WIDE} ? 150 : width - {_FIGURES} - 8)"
# Of the sum of one element: its left, its words' first line, its top and its bottom.
_SUM_LEFT = f"({_WIDE} ? {_WORST} : 0)"
_SUM_WORDS = f"({_WIDE} ? {_TOP + 8} : {_TOP} + {_SIDE} + 22)"
_SUM_TOP = f"({_SUM_WORDS} + ({_WIDE} ? 58 : 30))"
_SUM_LOW = f"({_WIDE} ? {_TOP} + {_SIDE} - 26 : height - 24)"

_CURSOR = alt.ExprRef("clicks ? 'pointer' : 'default'")

# Worst elements with words beside the map.
_LISTED = 5
# The words on a click stand below the worst elements; a flat picture lists fewer of these.
_PICK = f"min({_TOP + 42 + 21 * _LISTED}, {_TOP} + {_SIDE} - 4)"

PICK = "element"  # the selection of a clicked element

Bands = Sequence[Sequence[float]]
Point = tuple[int, int, float, float]  # m, n, the truth, the result


@dataclass(frozen=True, kw_only=True)
class SumCurve:
    """The sum of one element (m, n) along K: float64[points] at `k`, exact and of the quantized numbers."""

    element: tuple[int, int]
    k: NDArray[np.int64]
    exact: NDArray[np.float64]
    rounded: NDArray[np.float64]
    gpu: str


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
    curve: SumCurve | None = None,
    refusal: str = "",
) -> Filled:
    """Patches of D[M, N] = `shape`, the worst elements, and the figures; `m` and `n` name the axes.

    A figure is its text, its words, and a share of the largest cause: the error first, then its causes. A
    `curve` takes the place of the words on the worst elements; a `refusal` says why a click draws none.
    """
    rows, columns = shape
    errors = np.array(bands, np.float64)
    down, right = cut(rows, errors.shape[0]), cut(columns, errors.shape[1])
    finite = errors[np.isfinite(errors)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    words = _sum_words(curve) | {
        "worst": f"Farthest off, of {rows * columns:,}",
        "m": f"M = {m}",
        "n": f"N = {n}",
        "pick": refusal or "Click the map: the sum of that element",
        "legend": f"largest error of a patch: {short(low, 2)} (faint) to {short(high, 2)} (strong)"
        " × rms of D",
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
            "sum": {"k": curve.k, "exact": curve.exact, "rounded": curve.rounded} if curve else {"k": []},
            "chosen": {"m": [curve.element[0] + 0.5], "n": [curve.element[1] + 0.5]} if curve else {"m": []},
        },
        listed=0 if curve else 1,
        clicks=0 if refusal else 1,
        along=[0, int(curve.k[-1]) if curve else 1],
        sums=_reach(curve),
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
        # The element in the middle of the patch.
        "row": [(rows.start + rows.stop) // 2 for rows, _ in patches],
        "column": [(columns.start + columns.stop) // 2 for _, columns in patches],
    }


def _reach(curve: SumCurve | None) -> list[float]:
    if curve is None:
        return [0.0, 1.0]
    both = [0.0, *curve.exact, *curve.rounded]
    return [min(both), max(both)] if max(both) > min(both) else [-1.0, 1.0]


def _sum_words(curve: SumCurve | None) -> dict[str, str]:
    if curve is None:
        return {}
    m, n = curve.element
    return {
        "element": f"D[{m}, {n}], its sum along K",
        "reference": f"Reference: {_off(float(curve.exact[-1]), float(curve.rounded[-1]))}",
        "gpu": curve.gpu,
        "first": "k = 0",
        "last": f"{int(curve.k[-1]) - 1:,}",
    }


def _points(worst: Sequence[Point]) -> dict[str, object]:
    i, j, truths, results = zip(*worst, strict=True) if worst else ((), (), (), ())
    return {
        "m": [row + 0.5 for row in i],
        "n": [column + 0.5 for column in j],
        "row": list(i),
        "column": list(j),
        "order": list(range(len(worst))),
        "element": [f"D[{row}, {column}]" for row, column in zip(i, j, strict=True)],
        "words": list(map(_off, truths, results)),
        "truth": list(map(_number, truths)),
        "result": list(map(_number, results)),
    }


def _off(truth: float, result: float) -> str:
    """An element's result beside the truth, such as ``−53, exact −69.9: 24% too small``."""
    if not (math.isfinite(truth) and math.isfinite(result)):
        return "not a number"
    share = result / truth - 1 if truth else 0.0
    size = f": {abs(share):.0%} too {'small' if share < 0 else 'large'}" if truth else ""
    return f"{short(result, 3)}, exact {short(truth, 3)}" + size


@template
def _chart(ink: Ink) -> alt.LayerChart:
    chart = alt.layer(*_map(ink), *_edges(ink), *_words(ink), *_listed(ink), *_figures(ink), *_sums(ink))
    chart = chart.resolve_scale(x="independent", y="independent")
    chart = chart.add_params(*(alt.param(name=name, value=number(name, 1)) for name in ("listed", "clicks")))
    return dressed(chart.properties(height=number("height", 300)), ink)


def _map(ink: Ink) -> list[alt.Chart]:
    left, right = alt.ExprRef(_LEFT), alt.ExprRef(f"{_LEFT} + {_SIDE}")
    across = alt.Scale(domain=several("columns", [0, 1]), range=[left, right], nice=False)
    bottom = alt.ExprRef(f"{_TOP} + {_SIDE}")
    down = alt.Scale(domain=several("rows", [0, 1]), range=[_TOP, bottom], nice=False)
    colors = alt.Scale(domain=several("errors", [0.0, 1.0]), range=[ink.panel, ink.mid])
    patches = alt.Chart(alt.NamedData("patches")).mark_rect(stroke=None, cursor=_CURSOR)
    pick = alt.selection_point(
        name=PICK, on="click", toggle="true", clear=False, empty=False, fields=["row", "column"]
    )
    ring, mark = alt.Chart(alt.NamedData("chosen")), {"shape": "circle"}
    rings = alt.Chart(alt.NamedData("worst")).mark_point(
        shape="circle", size=90, color=ink.lost, strokeWidth=2, filled=False, cursor=_CURSOR
    )
    n0, n = (alt.X(f"{field}:Q", scale=across, axis=None) for field in ("n0", "n"))
    m0, m = (alt.Y(f"{field}:Q", scale=down, axis=None) for field in ("m0", "m"))
    return [
        patches.encode(
            x=n0,
            x2="n1",
            y=m0,
            y2="m1",
            color=alt.Color("error:Q", legend=None, scale=colors),
            tooltip=tips(("rows:N", "m"), ("columns:N", "n"), ("error:Q", "largest error here", ".3%")),
        ).add_params(pick),
        rings.encode(
            x=n,
            y=m,
            tooltip=tips(
                ("element:N", "element"), ("truth:Q", "truth", ".6g"), ("result:Q", "result", ".6g")
            ),
        ),
        *(
            ring.mark_point(size=300, strokeWidth=wide, color=color, **mark).encode(x=n, y=m)
            for wide, color in ((6, ink.page), (2.5, ink.text))
        ),
    ]


def _at(x: str, y: str) -> dict[str, object]:
    return {"x": alt.value(alt.ExprRef(x)), "y": alt.value(alt.ExprRef(y))}


_IF_WIDE = alt.ExprRef(f"{_WIDE} ? 1 : 0")
_IF_LISTED = alt.ExprRef(f"{_WIDE} ? listed : 0")


def _edges(ink: Ink) -> list[alt.Chart]:
    lines = alt.Chart(alt.Data(values=[{}]))
    n = lines.mark_rule(color=ink.n, strokeWidth=2)
    m = lines.mark_rule(color=ink.m, strokeWidth=2)
    return [
        n.encode(**_at(_LEFT, f"{_TOP - 6}"), x2=alt.value(alt.ExprRef(f"{_LEFT} + {_SIDE}"))),
        m.encode(**_at(f"{_LEFT} - 6", f"{_TOP}"), y2=alt.value(alt.ExprRef(f"{_TOP} + {_SIDE}"))),
    ]


def _words(ink: Ink) -> list[alt.Chart]:
    def words(what: str, x: str, y: str, **style: object) -> alt.Chart:
        mark = {"fontSize": 13, "align": "left", "color": ink.soft, **style}
        row = alt.Chart(alt.NamedData("words")).transform_filter(f"datum.what === '{what}'")
        return row.mark_text(**mark).encode(**_at(x, y), text="text:N")

    bold = {"fontWeight": "bold"}
    pick = {"opacity": alt.ExprRef("listed"), "lineBreak": "\n"}
    return [
        words("n", _LEFT, f"{_TOP - 18}", color=ink.n, **bold),
        words("m", f"{_LEFT} - 18", f"{_TOP} + {_SIDE}", color=ink.m, angle=270, **bold),
        words("legend", _LEFT, f"{_TOP} + {_SIDE} + 18", opacity=_IF_WIDE),
        words("worst", f"{_WIDE} ? {_WORST} : 0", f"{_TOP + 8}", fontSize=15, opacity=_IF_LISTED),
        words("pick", _SUM_LEFT, f"{_WIDE} ? {_PICK} : {_SUM_WORDS}", **pick),
        words("element", _SUM_LEFT, _SUM_WORDS, color=ink.text, fontSize=15, **bold),
        words("reference", _SUM_LEFT, f"{_SUM_WORDS} + 20", color=ink.text),
        words("gpu", _SUM_LEFT, f"{_SUM_WORDS} + 38", opacity=_IF_WIDE),
        words("first", _SUM_LEFT, f"{_SUM_LOW} + 20"),
        words("last", "width - 8", f"{_SUM_LOW} + 20", align="right"),
    ]


def _listed(ink: Ink) -> list[alt.Chart]:
    worst = alt.Chart(alt.NamedData("worst"))
    return [
        worst.transform_filter(f"datum.order === {place} && {_TOP + 48 + 21 * place} < {_PICK}")
        .mark_text(align="left", fontSize=13, color=ink.text, opacity=_IF_LISTED, **style)
        .encode(**_at(f"{_WIDE} ? {_WORST}{right} : 0", f"{_TOP + 30 + 21 * place}"), text=field)
        for place in range(_LISTED)
        for field, right, style in (("element:N", "", {"fontWeight": "bold"}), ("words:N", " + 108", {}))
    ]


def _sums(ink: Ink) -> list[alt.Chart]:
    right = "width - 8"
    across, upward = (
        [alt.ExprRef(end) for end in ends] for ends in ((_SUM_LEFT, right), (_SUM_LOW, _SUM_TOP))
    )
    along = alt.Scale(domain=several("along", [0, 1]), range=across, nice=False)
    up = alt.Scale(domain=several("sums", [0.0, 1.0]), range=upward, nice=False)
    base = alt.Chart(alt.NamedData("sum"))
    x = alt.X("k:Q", scale=along, axis=None)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=up, axis=None)

    tooltip = tips(
        ("k:Q", "products added", ","),
        ("exact:Q", "exact", ".4g"),
        ("rounded:Q", "of quantized numbers", ".4g"),
    )
    once = base.transform_filter("datum.k === 0")
    line = once.mark_rule(color=ink.k, strokeWidth=1.75)
    arrow = once.mark_point(shape="triangle-right", filled=True, size=80, color=ink.k, opacity=1)
    return [
        base.mark_area(color=ink.lost_area).encode(x=x, y=y("exact"), y2="rounded"),
        base.mark_line(color=ink.mid, strokeWidth=2).encode(x=x, y=y("exact")),
        base.mark_line(color=ink.text, strokeWidth=2.5).encode(x=x, y=y("rounded")),
        base.mark_point(size=60, opacity=0).encode(x=x, y=y("rounded"), tooltip=tooltip),
        line.encode(**_at(_SUM_LEFT, f"{_SUM_LOW} + 4"), x2=alt.value(alt.ExprRef(right))),
        arrow.encode(**_at(right, f"{_SUM_LOW} + 4")),
        *_key(once, 56, "quantized", ink.text, ink),
        *_key(once, 152, "exact", ink.mid, ink),
    ]


def _key(base: alt.Chart, x: float, name: str, color: str, ink: Ink) -> list[alt.Chart]:
    """A line's color and its name below the axis of K."""
    left, y, end = f"{_SUM_LEFT} + {x}", f"{_SUM_LOW} + 20", alt.ExprRef(f"{_SUM_LEFT} + {x + 18}")
    rule = base.mark_rule(color=color, strokeWidth=2.5).encode(**_at(left, y), x2=alt.value(end))
    words = base.mark_text(text=name, fontSize=13, align="left", dx=24, color=ink.soft)
    return [rule, words.encode(**_at(left, y))]


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
    """A number for JSON; None for NaN and infinity."""
    return value if math.isfinite(value) else None


def cut(size: int, bands: int) -> list[range]:
    """`size` elements in ranges of equal length, the last ones shorter or empty."""
    each = -(-size // bands) if bands else 0
    return [range(min(i * each, size), min((i + 1) * each, size)) for i in range(bands)]
