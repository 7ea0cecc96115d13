"""The places of errors in D: a patch's color is the largest error in it."""

import math
from collections.abc import Sequence

import altair as alt

from pages.kit.charts.words import span

HEIGHT = 440
_RING = "#d55e00"

Bands = Sequence[Sequence[float]]
Point = tuple[int, int, float, float]
"""m, n, the truth, the result."""


def error_map(
    bands: Bands, shape: tuple[int, int], worst: Sequence[Point], *, m: str, n: str, legend: Sequence[str]
) -> alt.LayerChart:
    """Patches of D[M, N] = `shape`, rings on the worst elements; `m`, `n`, `legend` name axes and color."""
    rows, columns = shape
    patches = [
        {"m0": down.start, "m1": down.stop, "n0": across.start, "n1": across.stop}
        | {"rows": span(down), "columns": span(across), "error": _number(error)}
        for down, line in zip(cut(rows, len(bands)), bands, strict=True)
        for across, error in zip(cut(columns, len(line)), line, strict=True)
    ]
    x = alt.X("n0:Q", title=n, scale=alt.Scale(domain=[0, columns], nice=False))
    y = alt.Y("m0:Q", title=m, scale=alt.Scale(domain=[0, rows], reverse=True, nice=False))
    heat = (
        alt.Chart(alt.Data(values=patches))
        .mark_rect(stroke=None)
        .encode(
            x=x,
            x2="n1",
            y=y,
            y2="m1",
            color=alt.Color(
                "error:Q",
                title=list(legend),
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
    points = [
        {
            "m": i + 0.5,
            "n": j + 0.5,
            "place": f"D[{i}, {j}]",
            "truth": _number(truth),
            "result": _number(result),
        }
        for i, j, truth, result in worst
    ]
    rings = (
        alt.Chart(alt.Data(values=points))
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
    """A number for JSON, which has no NaN and no infinity."""
    return value if math.isfinite(value) else None


def cut(size: int, bands: int) -> list[range]:
    """`size` elements in `bands` stretches of equal length, the last ones shorter or empty."""
    each = -(-size // bands) if bands else 0
    return [range(min(i * each, size), min((i + 1) * each, size)) for i in range(bands)]
