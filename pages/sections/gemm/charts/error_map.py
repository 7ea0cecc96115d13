"""The places of errors in D: a patch's color is the largest error in it."""

import math
from collections.abc import Sequence

import altair as alt
import numpy as np

from pages.kit.charts.template import Filled, several, template, text
from pages.kit.charts.words import span

HEIGHT = 440
LEGEND = ("largest error", "÷ rms of D")
_RING = "#d55e00"

Bands = Sequence[Sequence[float]]
Point = tuple[int, int, float, float]
"""m, n, the truth, the result."""


def error_map(bands: Bands, shape: tuple[int, int], worst: Sequence[Point], *, m: str, n: str) -> Filled:
    """Patches of D[M, N] = `shape`, and rings on the worst elements; `m` and `n` name the axes."""
    rows, columns = shape
    errors = np.array(bands, np.float64)
    down, across = cut(rows, errors.shape[0]), cut(columns, errors.shape[1])
    finite = errors[np.isfinite(errors)]
    return _chart().filled(
        {"patches": _patches(errors, down, across), "worst": _points(worst)},
        m=m,
        n=n,
        rows=[0, rows],
        columns=[0, columns],
        errors=[float(finite.min()), float(finite.max())] if finite.size else [0.0, 1.0],
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
        "place": [f"D[{i}, {j}]" for i, j, _, _ in worst],
        "truth": [_number(truth) for _, _, truth, _ in worst],
        "result": [_number(result) for _, _, _, result in worst],
    }


@template
def _chart() -> alt.LayerChart:
    m, n = text("m", "m (tokens)"), text("n", "n (tokens)")
    columns, rows = several("columns", [0, 1]), several("rows", [0, 1])
    heat = (
        alt.Chart(alt.NamedData("patches"))
        .mark_rect(stroke=None)
        .encode(
            x=alt.X("n0:Q", title=n, scale=alt.Scale(domain=columns, nice=False)),
            x2="n1",
            y=alt.Y("m0:Q", title=m, scale=alt.Scale(domain=rows, reverse=True, nice=False)),
            y2="m1",
            color=alt.Color(
                "error:Q",
                title=list(LEGEND),
                scale=alt.Scale(domain=several("errors", [0.0, 1.0])),
                legend=alt.Legend(
                    orient="bottom", gradientLength=110, format=".1%", tickCount=2, titleLimit=320
                ),
            ),
            tooltip=[
                alt.Tooltip("rows:N", title=m),
                alt.Tooltip("columns:N", title=n),
                alt.Tooltip("error:Q", title="largest error here", format=".3%"),
            ],
        )
    )
    rings = (
        alt.Chart(alt.NamedData("worst"))
        .mark_point(shape="circle", size=90, color=_RING, strokeWidth=2, filled=False)
        .encode(
            x="n:Q",
            y="m:Q",
            tooltip=[
                alt.Tooltip("place:N", title="element"),
                alt.Tooltip("truth:Q", title="truth", format=".6g"),
                alt.Tooltip("result:Q", title="result", format=".6g"),
            ],
        )
    )
    return alt.layer(heat, rings).properties(height=HEIGHT)


def _number(value: float) -> float | None:
    """A number that the browser can write; None for NaN and infinity."""
    return value if math.isfinite(value) else None


def cut(size: int, bands: int) -> list[range]:
    """`size` elements in `bands` stretches of equal length, the last ones shorter or empty."""
    each = -(-size // bands) if bands else 0
    return [range(min(i * each, size), min((i + 1) * each, size)) for i in range(bands)]
