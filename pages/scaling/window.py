"""Section "One scale": numbers against a format's window, and a scale to drag in the browser."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from fp8core.experiments.scale_sweep import ScaleSweep, sweep_scale
from fp8core.formats import FORMATS
from fp8core.inputs import INPUT_NOTES, RECORDED, InputKind, draw, stretch
from fp8core.linear import OPERANDS, LayerTensor
from pages.kit.chart_slider import Hand, chart_with_slider, with_slider
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import RAIL
from pages.kit.charts.template import Filled
from pages.kit.charts.words import percent_text, short
from pages.kit.controls import Controls
from pages.kit.shared_controls import INPUT_TITLES, SEED, format_options, is_narrow
from pages.kit.view import draw_notice, here, page_ink
from pages.kit.widgets import Choice, Number, Select, Settings
from pages.scaling.charts.window import ALONG_CURVE, BIN, DECIBELS, NUMBERS, PICK, STEP, window_chart

RESULTS, BYTES = 64, "4MB"  # limits of each cache: results, and their size
WIDEST = 256.0  # octaves, for a format that ends near 2**128
FORMAT = Select(
    key="scaling_format",
    label="Format",
    options=format_options(is_narrow),
    default="e4m3",
    help="fp8: e4m3, e5m2. fp6: e3m2, e2m3. fp4: e2m1. fp16 for comparison.",
)
KIND = Select(
    key="scaling_input",
    label="Numbers",
    options=INPUT_TITLES,
    default=InputKind.GRADIENT_LIKE.value,
    help="The distribution of the numbers.",
)
LOG2_SCALE = Number(
    key="scaling_log2", label="log2 of the scale", low=-WIDEST, high=WIDEST, default=0.0, step=STEP
)
ROLE = Choice(
    key="scaling_tensor",
    label="Which tensor",
    options={tensor.value: tensor.value for tensor in OPERANDS},
    default=LayerTensor.DY.value,
    help="A recorded layer has three: activations x, weights w and gradients dy.",
)
CONTROLS = (FORMAT, KIND, LOG2_SCALE)

SHAPE = (32, 128)
BEYOND_ENDS = 5
# Octaves beyond the window at both ends, and beyond the last label.
AXIS_ROOM, LABEL_ROOM = (5, 6), 0.9
# The distance to the best SQNR that counts as near, and the share of lost numbers that is worth a word.
NEAR_DB, MANY = 3.0, 0.1
SOURCE = "Source: Micikevicius et al., FP8 Formats for Deep Learning, arXiv 2209.05433."
Window = tuple[str, str, str, int]  # format, kind of numbers, tensor and seed


def show(controls: Controls) -> None:
    view = here()
    name, kind = controls.draw(FORMAT), controls.draw(KIND)
    window = (name, kind, draw_role(controls, kind), controls.draw(SEED))
    every, _ = sweep(window)
    at, by_scale = on_slider(window, controls.value(LOG2_SCALE)), notices(window)
    draw_notice(by_scale[at])
    for label, log2_scale in presets(window).items():
        view.control.button(label, on_click=controls.preset, kwargs={LOG2_SCALE.key: log2_scale})
    chart_with_slider(
        controls,
        LOG2_SCALE,
        name="scaling_window",
        inputs=(window, page_ink()),
        at=at,
        spec_at=lambda start: window_spec(window, start, page_ink()),
        alt_at=lambda start: _alt(name, every, _index(every, start)),
        is_fitted=True,
        hand=Hand(
            label="Size of the largest number, divided by the scale",
            grips=((NUMBERS, RAIL), (DECIBELS, ALONG_CURVE)),
            notices=by_scale,
        ),
    )
    view.know.markdown(_range_of(name))
    view.know.markdown(_rules(name, kind))
    view.know.caption(SOURCE)


def draw_role(controls: Controls, kind: str) -> str:
    """Draw the choice of a tensor where the numbers are a recorded layer's."""
    is_recorded = kind in {recorded.value for recorded in RECORDED}
    return controls.draw(ROLE) if is_recorded else controls.value(ROLE)


def numbers(kind: str, tensor: str, shape: tuple[int, int], seed: int) -> NDArray[np.float32]:
    """float32[rows, columns] of a law, or of a recorded tensor in its order in memory."""
    if InputKind(kind) in RECORDED:
        return stretch(InputKind(kind), LayerTensor(tensor), shape[0] * shape[1], seed).reshape(shape)
    return draw(InputKind(kind), shape, seed)


def percent(share: float) -> str:
    """A percentage, such as ``12.3%``. A share above 0 never reads as 0, nor one below 1 as all."""
    if 0 < share < 5e-5:
        return "under 0.01%"
    return "over 99.9%" if 1 - 5e-4 < share < 1 else percent_text(share)


def _values(window: Window) -> NDArray[np.float64]:
    _, kind, tensor, seed = window
    return numbers(kind, tensor, SHAPE, seed).ravel().astype(np.float64)


@st.cache_data(max_entries=RESULTS, max_size=BYTES, show_spinner=False)
def sweep(window: Window) -> tuple[ScaleSweep, ScaleSweep]:
    """The sweep over the slider's scales, and that of the amax scale."""
    x, format_ = _values(window), FORMATS[window[0]]
    amax_scale = np.abs(x).max() / format_.max
    exact = math.log2(amax_scale)
    low, high = math.floor(min(exact, 0)) - BEYOND_ENDS, math.ceil(max(exact, 0)) + BEYOND_ENDS
    steps = np.arange(low, high + STEP, STEP)
    return sweep_scale(x, format_, np.exp2(steps)), sweep_scale(x, format_, amax_scale)


def positions(every: ScaleSweep) -> NDArray[np.float64]:
    """log2 of the slider's scales, on its steps: log2(2**-0.25) is not exact."""
    return np.round(np.log2(every.scale) / STEP) * STEP


def presets(window: Window) -> dict[str, float]:
    """log2 of the scales with a button."""
    every, amax = sweep(window)
    return {
        "No scale": 0.0,
        "amax scale": math.ceil(math.log2(amax.scale[0]) / STEP) * STEP,
        "Best SQNR": float(positions(every)[every.best]),
    }


def on_slider(window: Window, log2_scale: float) -> float:
    every = sweep(window)[0]
    return float(positions(every)[_index(every, log2_scale)])


def _index(every: ScaleSweep, log2_scale: float) -> int:
    return int(np.argmin(np.abs(np.log2(every.scale) - log2_scale)))


def window_spec(window: Window, start: float, ink: Ink) -> Filled:
    name, format_, (every, amax) = window[0], FORMATS[window[0]], sweep(window)
    size = np.abs(_values(window))
    log2 = np.log2(size[size > 0])
    first = math.floor(log2.min() / BIN)
    counts = np.bincount(np.floor(log2 / BIN).astype(int) - first)
    full = np.flatnonzero(counts)
    amax_scale = math.log2(amax.scale[0])
    zero, beyond = math.log2(format_.min_subnormal / 2), math.log2(format_.max)
    smallest, largest = np.quantile(log2, 0.02) - max(amax_scale, 0.0), log2.max() - min(amax_scale, 0.0)
    left = math.floor(min(zero - AXIS_ROOM[0], smallest))
    right = math.ceil(max(beyond + AXIS_ROOM[1], largest + 1)) + LABEL_ROOM
    chart = window_chart(
        name,
        edges=[left, zero, math.log2(format_.min_normal), beyond, right],
        bins={"left": (first + full) * BIN, "share": counts[full] / size.size},
        curve=_columns(every, positions(every)),
        amax=_columns(amax, np.array([amax_scale])),
        largest=log2.max(),
        ink=ink,
    )
    return with_slider(chart, PICK, start)


def _columns(sweep: ScaleSweep, log2_scales: NDArray[np.float64]) -> dict[str, NDArray]:
    return {
        "s": log2_scales,
        "sqnr": np.minimum(sweep.sqnr_db, 999.0),
        "saturated": sweep.saturated_share,
        "dead": sweep.dead_share,
    }


def _largest(name: str) -> str:
    return f"{FORMATS[name].max:,.6g}"


@lru_cache(maxsize=RESULTS)
def notices(window: Window) -> dict[float, str]:
    every, amax = sweep(window)
    return {
        float(at): _notice(window[0], every, index, float(amax.sqnr_db[0]))
        for index, at in enumerate(positions(every))
    }


def _notice(name: str, sweep: ScaleSweep, at: int, amax_db: float) -> str:
    zeros, overflow = sweep.dead_share[at], sweep.saturated_share[at]
    if zeros > MANY:
        hint = f"Press “amax scale”: the signal is {amax_db:.0f} dB above the error."
        if sweep.sqnr_db[sweep.best] - sweep.sqnr_db[at] < NEAR_DB:
            hint = "SQNR hardly shows it."
        return f"**{percent(zeros)} of the numbers become 0.** {hint}"
    if overflow > 0:
        return (
            f"**{percent(overflow)} of the numbers saturate**: they are larger than {_largest(name)} scales."
        )
    first, last = sweep.near_best(NEAR_DB)
    factor = short(sweep.scale[last] / sweep.scale[first], 2)
    least = "at least " if first == 0 or last == sweep.scale.size - 1 else ""
    return (
        f"SQNR stays within {NEAR_DB:g} dB of its best while the scale changes "
        f"**by a factor of {least}{factor}.**"
    )


def _alt(name: str, sweep: ScaleSweep, at: int) -> str:
    return (
        f"Histogram of the size of numbers divided by the scale, over the range of {name}: "
        f"{percent(sweep.dead_share[at])} lie where they become 0, {percent(sweep.saturated_share[at])} "
        f"where they saturate. Below, SQNR over the scale: {sweep.sqnr_db[at]:.1f} dB here, "
        f"{sweep.sqnr_db[sweep.best]:.1f} dB at best."
    )


def _range_of(name: str) -> str:
    format_ = FORMATS[name]
    return (
        f"A number in {name} has {format_.bits} bits. Its largest value is {_largest(name)}, its smallest "
        f"above zero {short(format_.min_subnormal)}. A larger number **saturates** (is clipped to the "
        "largest value); a number of at most half the smallest **becomes 0**. So a tensor x is stored as x "
        "/ scale, rounded. Its scale is stored too, to multiply it back."
    )


def _rules(name: str, kind: str) -> str:
    format_ = FORMATS[name]
    first_beyond = float(format_.max + format_.ulp(format_.max) / 2)
    return (
        f"- **Numbers**: {INPUT_NOTES[InputKind(kind)].rule}.\n"
        "- **Stored**: code = round(x / scale) to nearest, a tie to the even last bit. So |x| / scale up to "
        f"{short(first_beyond, 6)} rounds to the largest value, and at most "
        f"{short(format_.min_subnormal / 2)} becomes 0. Scales are exact here, not rounded to a format.\n"
        f"- **amax scale**: max |x| / {_largest(name)}. Its button takes the next position of the slider "
        "that still holds amax; the diamond is exact.\n"
        f"- **Subnormal**: below {short(format_.min_normal)}, where the step between values no longer "
        "shrinks with the number.\n"
        "- **SQNR** = −10 log10(‖error‖² / ‖x‖²)."
    )


def _window(settings: Settings) -> Window:
    return tuple(settings[control.key] for control in (FORMAT, KIND, ROLE, SEED))


def _at(column: str) -> Callable[[Settings], float]:
    def value(settings: Settings) -> float:
        every = sweep(_window(settings))[0]
        return getattr(every, column)[_index(every, settings[LOG2_SCALE.key])]

    return value


def _plateau(settings: Settings) -> float:
    every = sweep(_window(settings))[0]
    first, last = every.near_best(NEAR_DB)
    return every.scale[last] / every.scale[first]


FACTS = {
    "zeros_share": _at("dead_share"),
    "sqnr_db": _at("sqnr_db"),
    "amax_sqnr_db": lambda settings: sweep(_window(settings))[1].sqnr_db[0],
    "plateau_factor": _plateau,
    "near_db": lambda _: NEAR_DB,
    "largest": lambda settings: FORMATS[settings[FORMAT.key]].max,
    "smallest": lambda settings: FORMATS[settings[FORMAT.key]].min_subnormal,
}
