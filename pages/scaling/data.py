"""The numbers and pictures of the page "Scaling", kept between runs by their arguments alone."""

import math

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from fp8core.experiments.scale_sweep import ScaleSweep, sweep_scale
from fp8core.formats import FORMATS
from fp8core.inputs import RECORDED, InputKind, draw, stretch
from fp8core.linear import LayerTensor
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.scaling.charts.scene import BIN, STEP, Edges, Numbers, WindowScene
from pages.scaling.charts.window import window_chart

KEPT, BYTES = 64, "4MB"
"""Results kept of each computation: how many, and their size."""
COLUMNS = 128
BEYOND_ENDS = 5
AXIS_ROOM, LABEL_ROOM = (5, 6), 0.9
"""Octaves beyond the window at both ends, and beyond the last label."""
Window = tuple[str, str, str, int, int, int]
"""Format, kind of numbers, tensor, seed, magnitude and count: all that the section "One scale" depends on."""


def lines(kind: str, tensor: str, shape: tuple[int, int], seed: int) -> NDArray[np.float32]:
    """float32[rows, columns] of a law, or elements of a recorded tensor as they lie in memory."""
    if InputKind(kind) in RECORDED:
        return stretch(InputKind(kind), LayerTensor(tensor), shape[0] * shape[1], seed).reshape(shape)
    return draw(InputKind(kind), shape, seed)


def numbers(kind: str, tensor: str, seed: int, magnitude: int, count: int) -> NDArray[np.float64]:
    """float64[count]: the numbers of the section "One scale"."""
    x = lines(kind, tensor, (count // COLUMNS, COLUMNS), seed)
    return np.ldexp(x.ravel().astype(np.float64), magnitude)


@st.cache_data(max_entries=KEPT, max_size=BYTES, show_spinner=False)
def sweep(window: Window) -> tuple[ScaleSweep, ScaleSweep]:
    """Every scale on the slider, and the amax scale by itself."""
    name, *drawn = window
    x, format_ = numbers(*drawn), FORMATS[name]
    amax_scale = np.abs(x).max() / format_.max
    exact = math.log2(amax_scale)
    low, high = math.floor(min(exact, 0)) - BEYOND_ENDS, math.ceil(max(exact, 0)) + BEYOND_ENDS
    steps = np.arange(low, high + STEP, STEP)
    return sweep_scale(x, format_, np.exp2(steps)), sweep_scale(x, format_, amax_scale)


def positions(every: ScaleSweep) -> NDArray[np.float64]:
    """log2 of the slider's scales, exact: log2 of 2**-0.25 is not."""
    return np.round(np.log2(every.scale) / STEP) * STEP


def presets(window: Window) -> dict[str, float]:
    """log2 of the scales with a button: none, amax (the next step of the slider that holds it), the best."""
    every, amax = sweep(window)
    return {
        "No scale": 0.0,
        "amax scale": math.ceil(math.log2(amax.scale[0]) / STEP) * STEP,
        "Best SQNR": float(positions(every)[every.best]),
    }


def on_slider(window: Window, log2_scale: float) -> float:
    """The slider's nearest position."""
    scales = positions(sweep(window)[0])
    return float(scales[np.argmin(np.abs(scales - log2_scale))])


def columns(sweep: ScaleSweep, log2_scales: NDArray[np.float64]) -> Numbers:
    """The columns of the chart: a value for each scale."""
    return {
        "s": log2_scales,
        "sqnr": np.minimum(sweep.sqnr_db, 999.0),
        "saturated": sweep.saturated_share,
        "dead": sweep.dead_share,
        "saturation": sweep.saturation,
        "deadzone": sweep.deadzone,
        "grid": sweep.grid,
    }


def window_scene(window: Window, start: float) -> WindowScene:
    """The picture's data; the cursor starts at log2 scale `start`."""
    name, *drawn = window
    format_, every_amax = FORMATS[name], sweep(window)
    size = np.abs(numbers(*drawn))
    log2 = np.log2(size[size > 0])
    first = math.floor(log2.min() / BIN)
    counts = np.bincount(np.floor(log2 / BIN).astype(int) - first)
    full = np.flatnonzero(counts)
    amax_scale = math.log2(every_amax[1].scale[0])
    zero, beyond = math.log2(format_.min_subnormal / 2), math.log2(format_.max)
    shifts = (min(amax_scale, 0.0), max(amax_scale, 0.0))
    return WindowScene(
        format_name=name,
        edges=Edges(
            low=math.floor(min(zero - AXIS_ROOM[0], np.quantile(log2, 0.02) - shifts[1])),
            zero=zero,
            normal=math.log2(format_.min_normal),
            beyond=beyond,
            high=math.ceil(max(beyond + AXIS_ROOM[1], log2.max() - shifts[0] + 1)) + LABEL_ROOM,
        ),
        bins={"left": (first + full) * BIN, "share": counts[full] / size.size},
        curve=columns(every_amax[0], positions(every_amax[0])),
        amax=columns(every_amax[1], np.array([amax_scale])),
        start=start,
    )


def window_spec(window: Window, start: float, theme: str) -> Filled:
    return window_chart(window_scene(window, start), INKS[theme])
