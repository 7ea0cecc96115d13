"""Stochastic rounding and rounding to nearest: lines over the blur, x, the steps, K."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.experiments.dot_noise import DotErrors
from fp8core.experiments.rounding_sweep import Sweep
from fp8core.experiments.weight_updates import Freeze
from pages.kit.charts.curves import Series, line, pointer
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import tips
from pages.kit.charts.template import Columns, Filled, several, template, text

NEAREST, STOCHASTIC, EXACT = "to nearest", "stochastic", "not rounded"
HEIGHT = 300
_DASHES = {NEAREST: [7, 3], STOCHASTIC: [1, 0], EXACT: [2, 3]}


@dataclass(frozen=True, kw_only=True)
class Path:
    """A weight at `step`, evenly spread from the first to the last.

    `mean` and `deviation` are over all stochastic runs; `runs` float64[a few, steps] are the first ones.
    Nearest stops at `freeze`. `update` is the first step, `drift` the same step rounded, on average.
    """

    step: NDArray[np.int64]
    exact: NDArray[np.float64]
    nearest: NDArray[np.float64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    runs: NDArray[np.float64]
    freeze: Freeze | None
    update: float
    drift: float


def blur_chart(nearest: Sequence[float], noisy: Sequence[float], sigma: int, ink: Ink) -> Filled:
    blurs = list(range(len(nearest)))
    return _blur(ink).filled(
        {
            "lines": _columns("blur", {NEAREST: (blurs, nearest), STOCHASTIC: (blurs, noisy)}),
            "shown": {"blur": [sigma]},
        },
        blurs=blurs,
        ends=[blurs[0], blurs[-1]],
        errors=[0.0, max(*nearest, *noisy)],
    )


def mean_chart(s: Sweep, values: NDArray[np.float64], name: str, ink: Ink) -> Filled:
    """The mean of round(x) over x, the scatter around it, and nearest's stairs."""
    ends = [float(values[0]), float(values[-1])]
    middles = (values[1:] + values[:-1]) / 2
    stairs_x = np.concatenate([values[:1], np.repeat(middles, 2), values[-1:]])
    lines = {EXACT: (ends, ends), NEAREST: (stairs_x, np.repeat(values, 2)), STOCHASTIC: (s.x, s.mean)}
    sides = {"nearest": s.nearest, "chance": s.chance}
    return _mean(ink).filled(
        {
            "band": {"x": s.x, "low": s.mean - s.deviation, "high": s.mean + s.deviation},
            "lines": _columns("x", lines),
            "figures": {"x": s.x, **sides, "mean": s.mean, "sd": s.deviation},
        },
        title=f"x (ticks: the values of {name})",
        values=values.tolist(),
        ends=ends,
    )


def weight_chart(path: Path, ink: Ink) -> Filled:
    at = path.step
    series = {EXACT: path.exact, STOCHASTIC: path.mean, NEAREST: path.nearest}
    every = np.concatenate([*series.values(), path.runs.ravel()])
    sides = {"exact": path.exact, "nearest": path.nearest, "mean": path.mean, "sd": path.deviation}
    return _weight(ink).filled(
        {
            "runs": _columns("step", {str(number): (at, run) for number, run in enumerate(path.runs)}),
            "lines": _columns("step", {name: (at, values) for name, values in series.items()}),
            "figures": {"step": at, **sides},
        },
        steps=[int(at[0]), int(at[-1])],
        weights=[float(every.min()), float(every.max())],
    )


def dot_chart(
    errors: DotErrors, domain: tuple[float, float], title: str, ink: Ink, floor: float | None = None
) -> Filled:
    """The relative error over K; `floor` is nearest's bias, which no K lowers."""
    terms = errors.terms.tolist()
    lines = {STOCHASTIC: (terms, errors.stochastic), NEAREST: (terms, errors.nearest)}
    datasets = {"lines": _columns("terms", lines)}
    if floor is not None:
        datasets["floor"] = {"y": [floor], "what": ["nearest's bias"]}
    return _dot(ink, has_floor=floor is not None).filled(
        datasets, ends=[terms[0], terms[-1]], ticks=terms[::2], errors=list(domain), title=title
    )


def _columns(x: str, lines: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> Columns:
    sizes = [np.size(at) for at, _ in lines.values()]
    return {
        x: np.concatenate([np.asarray(at, np.float64) for at, _ in lines.values()]),
        "line": np.repeat(list(lines), sizes),
        "y": np.concatenate([np.asarray(y, np.float64) for _, y in lines.values()]),
    }


def _series(ink: Ink, *names: str) -> Series:
    colors = {NEAREST: ink.lost, STOCHASTIC: ink.text, EXACT: ink.mid}
    return Series(
        names=names,
        colors=[colors[name] for name in names],
        dashes=[_DASHES[name] for name in names],
        field="line",
        legend=alt.Legend(
            orient="top",
            labelColor=ink.text,
            labelFontSize=14,
            symbolType="stroke",
            symbolStrokeWidth=3,
            symbolSize=300,
        ),
    )


@template
def _blur(ink: Ink) -> alt.LayerChart:
    x = alt.X(
        "blur:Q",
        title="blur (pixels)",
        scale=alt.Scale(domain=several("ends", [0, 1]), nice=False),
        axis=alt.Axis(values=several("blurs", [0, 1]), format="d", grid=False),
    )
    errors = alt.Scale(domain=several("errors", [0.0, 1.0]))
    lines = alt.Chart(alt.NamedData("lines")).encode(
        x=x,
        y=alt.Y("y:Q", title="rms error (1 = white)", scale=errors),
        tooltip=tips(("line:N", "rounding"), ("blur:Q", "blur (pixels)"), ("y:Q", "rms error", ".3~g")),
    )
    rule = alt.Chart(alt.NamedData("shown")).mark_rule(color=ink.soft, strokeWidth=2).encode(x=x)
    roundings = line(lines, _series(ink, NEAREST, STOCHASTIC), point=alt.OverlayMarkDef(size=45))
    return alt.layer(rule, roundings).properties(width="container", height=HEIGHT - 30)


@template
def _mean(ink: Ink) -> alt.LayerChart:
    ticks = alt.Axis(values=several("values", [0.0, 1.0]), format=".5~g", gridColor=ink.line, gridOpacity=0.6)
    scale = alt.Scale(domain=several("ends", [0.0, 1.0]), nice=False, zero=False)
    x = alt.X("x:Q", title=text("title", "x (ticks: the values of e2m1)"), axis=ticks, scale=scale)
    y = {"title": "mean of round(x)", "axis": ticks, "scale": scale}
    band = (
        alt.Chart(alt.NamedData("band"))
        .mark_area(color=ink.text, opacity=0.12, clip=True)
        .encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q")
    )
    lines = alt.Chart(alt.NamedData("lines")).encode(x=x, y=alt.Y("y:Q", **y), order="x:Q")
    tooltip = [
        alt.Tooltip("x:Q", format=".5~g"),
        *tips(
            ("nearest:Q", "nearest", ".5~g"),
            ("chance:Q", "chance to go up", ".4~g"),
            ("mean:Q", "stochastic, mean", ".5~g"),
            ("sd:Q", "± standard deviation", ".3~g"),
        ),
    ]
    roundings = line(lines, _series(ink, STOCHASTIC, NEAREST, EXACT), clip=True)
    return (
        alt.layer(band, roundings, pointer(alt.Chart(alt.NamedData("figures")), x, tooltip, ink))
        .properties(width="container", height=HEIGHT + 80)
        .configure_view(stroke=None)
    )


@template
def _weight(ink: Ink) -> alt.LayerChart:
    steps = alt.Scale(domain=several("steps", [0, 1]), nice=False)
    weights = alt.Scale(domain=several("weights", [0.0, 1.0]), nice=True, zero=False)
    x = alt.X("step:Q", title="step", scale=steps, axis=alt.Axis(grid=False))
    y = alt.Y("y:Q", title="weight w", scale=weights, axis=alt.Axis(gridOpacity=0.5))
    runs = (
        alt.Chart(alt.NamedData("runs"))
        .mark_line(color=ink.text, strokeWidth=1, opacity=0.35, interpolate="step-after")
        .encode(x=x, y=y, detail="line:N")
    )
    lines = line(alt.Chart(alt.NamedData("lines")).encode(x=x, y=y), _series(ink, STOCHASTIC, NEAREST, EXACT))
    tooltip = [
        alt.Tooltip("step:Q", format=","),
        *tips(
            ("exact:Q", "not rounded", ".5~g"),
            ("nearest:Q", "to nearest", ".5~g"),
            ("mean:Q", "stochastic, mean", ".5~g"),
            ("sd:Q", "± between runs", ".3~g"),
        ),
    ]
    follow = pointer(alt.Chart(alt.NamedData("figures")), x, tooltip, ink)
    return alt.layer(runs, lines, follow).properties(width="container", height=HEIGHT + 40)


@template
def _dot(ink: Ink, *, has_floor: bool) -> alt.LayerChart:
    x = alt.X(
        "terms:Q",
        title="K, terms",
        scale=alt.Scale(type="log", base=2, domain=several("ends", [4, 8]), nice=False),
        axis=alt.Axis(values=several("ticks", [4, 8]), format=",d", grid=False),
    )
    y = alt.Y(
        "y:Q",
        title="relative error",
        scale=alt.Scale(type="log", domain=several("errors", [0.01, 1.0]), nice=False),
        axis=alt.Axis(format="~%", gridOpacity=0.5, tickCount=5),
    )
    lines = alt.Chart(alt.NamedData("lines")).encode(
        x=x,
        y=y,
        tooltip=tips(("line:N", "rounding"), ("terms:Q", "K", ","), ("y:Q", "relative error", ".3~%")),
    )
    layers = [line(lines, _series(ink, STOCHASTIC, NEAREST), point=alt.OverlayMarkDef(size=40))]
    if has_floor:
        mark = alt.Chart(alt.NamedData("floor")).encode(y=y)
        layers += [
            mark.mark_rule(color=ink.lost, strokeWidth=1, opacity=0.8),
            mark.mark_text(align="left", x=4, dy=-7, color=ink.lost, fontSize=12).encode(text="what:N"),
        ]
    title = alt.TitleParams(text("title", "Terms"), anchor="start", fontSize=15, color=ink.text)
    return alt.layer(*layers).properties(width="container", height=HEIGHT, title=title)
