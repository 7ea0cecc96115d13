"""The data and pictures of the section "The scale's own format"."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from fp8core.errors import sqnr_db
from fp8core.formats import FORMATS, Format
from fp8core.inputs import log_uniform_blocks
from fp8core.quantize import values_under
from fp8core.scales import E8M0_EVEN, E8M0_FLOOR, E8M0_ROUND_UP, FP32_SCALE, ScaleRule, saturated_share
from fp8core.tiles import TileGrid
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Columns, Filled, arrow
from pages.kit.charts.words import power_of_two, short
from pages.scaling.charts.rules import AROUND, RuleRow, RulesScene, rules_chart
from pages.scaling.controls import LOG_UNIFORM
from pages.scaling.data import BYTES, KEPT, lines
from pages.scaling.words import EVEN, EXACT, FLOOR, UP, percent

RULES: dict[str, ScaleRule] = {
    EXACT: FP32_SCALE,
    FLOOR: E8M0_FLOOR,
    EVEN: E8M0_EVEN,
    UP: E8M0_ROUND_UP,
}
BLOCKS = 2048
AT_ONCE = 8192
BINS = 72
SLIDER = (1.0, 4.0, 1 / 32)
ROOM = 1.04
Blocks = tuple[str, int, str, str, int]
"""Element format, elements a block, kind of numbers, tensor, seed: all that the section depends on."""


@dataclass(frozen=True, kw_only=True)
class Landing:
    """One rule over all blocks: amax / scale of each, the share beyond Qmax, and SQNR of all blocks."""

    lands: NDArray[np.float64]
    saturated: float
    closed_form: float
    sqnr_db: float


@st.cache_data(max_entries=KEPT, max_size=BYTES, show_spinner=False)
def landings(blocks: Blocks) -> dict[str, Landing]:
    """Every rule on one set of blocks."""
    name, size, kind, tensor, seed = blocks
    element = FORMATS[name]
    x = (
        log_uniform_blocks(BLOCKS, size, seed)
        if kind == LOG_UNIFORM
        else lines(kind, tensor, (BLOCKS, size), seed)
    )
    amax = np.abs(x).max(axis=1, keepdims=True)
    energy = _energy(x)
    found = {}
    for title, rule in RULES.items():
        scale = rule.scale(amax, element)
        lands = (amax.astype(np.float64) / scale).ravel()
        found[title] = Landing(
            lands=lands,
            saturated=float(np.mean(_beyond(lands, element.max))),
            closed_form=saturated_share(rule, element),
            sqnr_db=sqnr_db(math.sqrt(_squared_error(x, scale, element) / energy)),
        )
    return found


def _squared_error(x: NDArray[np.float32], scale: NDArray[np.float32], element: Format) -> float:
    """The squared error of all blocks [blocks, size] with these scales [blocks, 1].

    It takes some blocks at a time: then nothing leaves the processor's cache.
    """
    squared, rows = 0.0, max(AT_ONCE // x.shape[1], 1)
    for start in range(0, len(x), rows):
        part = x[start : start + rows]
        grid = TileGrid.over(part.shape, (1, part.shape[1]))
        error = values_under(scale[start : start + rows], part, grid, element)
        error -= part
        squared += float(np.vdot(error, error))
    return squared


def _energy(x: NDArray[np.float32]) -> float:
    exact = x.astype(np.float64)
    return float(np.vdot(exact, exact))


def _beyond(lands: NDArray[np.float64], largest: float) -> NDArray[np.bool_]:
    """True where amax / scale is beyond Qmax by more than the rounding of an fp32 scale."""
    return lands > largest * (1 + np.finfo(np.float32).eps)


def rules_scene(blocks: Blocks, start: float) -> RulesScene:
    """The picture's data; the slider stands at `start`."""
    name = blocks[0]
    element = FORMATS[name]
    low, high = element.max / 2 / ROOM, 2.0 ** (element.e_max + 1) * ROOM
    edges = _edges(element.max, low, high)
    return RulesScene(
        rows=[
            RuleRow(
                title=f"{title}: {percent(found.saturated)} clipped, {found.sqnr_db:.1f} dB",
                bins=_bins(found.lands, edges, element.max),
                moves=_moves(title, name),
            )
            for title, found in landings(blocks).items()
        ],
        largest=element.max,
        domain=(low, high),
        slider=SLIDER,
        start=start,
    )


def _edges(largest: float, low: float, high: float) -> NDArray[np.float64]:
    """Bin edges even in log2. One edge is just above the largest value, so that no bin is half beyond."""
    width = math.log2(high / low) / BINS
    below = math.ceil(math.log2(largest / low) / width)
    above = math.ceil(math.log2(high / largest) / width)
    return largest * (1 + np.finfo(np.float32).eps) * np.exp2(width * np.arange(-below, above + 1))


def _bins(lands: NDArray[np.float64], edges: NDArray[np.float64], largest: float) -> Columns:
    counts, _ = np.histogram(lands, edges)
    full = np.flatnonzero(counts)
    x0, x1 = edges[full], edges[full + 1]
    return {"x0": x0, "x1": x1, "share": counts[full] / lands.size, "beyond": x0 >= largest}


@lru_cache(maxsize=128)
def _moves(title: str, name: str) -> bytes:
    """What the slider's block does under one rule, for each of its positions."""
    low, high, step = SLIDER
    amax = np.arange(low, high + step / 2, step)
    scale = RULES[title].scale(amax.astype(np.float32), FORMATS[name]).astype(np.float64)
    return arrow({"amax": amax, "lands": amax / scale, "text": list(map(_scale_text, scale.tolist()))})


def _scale_text(scale: float) -> str:
    fraction, exponent = math.frexp(scale)
    return power_of_two(exponent - 1) if fraction == 0.5 else short(scale, 4)


def rules_spec(blocks: Blocks, start: float, theme: str, room: int) -> Filled:
    """The picture of the four rules in `room` pixels of height, its slider included."""
    return rules_chart(rules_scene(blocks, start), INKS[theme], (room - AROUND) // len(RULES))
