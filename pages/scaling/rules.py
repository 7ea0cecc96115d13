"""Section "The scale's own format": four rules for a scale, and the largest number of a block."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from fp8core.errors import sqnr_db
from fp8core.formats import FORMATS, Format
from fp8core.inputs import InputKind, log_uniform_blocks
from fp8core.quantize import values_under
from fp8core.scales import E8M0_EVEN, E8M0_FLOOR, E8M0_ROUND_UP, FP32_SCALE, ScaleRule, saturated_share
from fp8core.tiles import TileGrid
from pages.kit.chart_slider import Hand, chart_with_slider, with_slider
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Columns, Filled, arrow
from pages.kit.charts.words import power_of_two, short
from pages.kit.controls import Controls
from pages.kit.scale_rules import recipe_rules, scale_rules
from pages.kit.shared_controls import INPUT_TITLES, SEED, format_options, is_element
from pages.kit.tables import markdown_table
from pages.kit.view import draw_notice, here, page_ink, room
from pages.kit.widgets import Choice, Number, Select, Settings
from pages.scaling.charts.rules import AROUND, BLOCK, RAILS, SLIDER, row_name, rules_chart
from pages.scaling.window import BYTES, RESULTS, ROLE, draw_role, numbers, percent

LOG_UNIFORM = "log_uniform"
ELEMENT = Select(
    key="scaling_element",
    label="Element format",
    options=format_options(is_element),
    default="e4m3",
)
BLOCK_SIZE = Choice(
    key="scaling_block",
    label="Elements that share a scale",
    options={size: str(size) for size in (16, 32, 64, 128)},
    default=32,
)
BLOCK_KIND = Select(
    key="scaling_blocks",
    label="Numbers",
    options={LOG_UNIFORM: "amax uniform in log2"} | INPUT_TITLES,
    default=InputKind.GAUSSIAN.value,
    help="The distribution of the numbers in the blocks.",
)
LEAST, MOST, STEP = SLIDER
BLOCK_AMAX = Number(
    key="scaling_one", label="amax of one block", low=LEAST, high=MOST, default=1.9375, step=STEP
)

CONTROLS = (ELEMENT, BLOCK_SIZE, BLOCK_KIND, BLOCK_AMAX)

FLOOR, EVEN, UP, EXACT = "e8m0, floor", "e8m0, even", "e8m0, round up", "fp32"
RULES: dict[str, ScaleRule] = {EXACT: FP32_SCALE, FLOOR: E8M0_FLOOR, EVEN: E8M0_EVEN, UP: E8M0_ROUND_UP}
# Blocks, and the numbers of one quantization, which fit into the processor's cache.
BLOCKS, AT_ONCE = 2048, 8192
BINS, ROOM = 72, 1.04
SOURCES = (
    "Sources: OCP Microscaling Formats 1.0, section 6.3 (floor); arXiv 2506.08027, section 3 (round up)."
)
# Element format, elements a block, kind of numbers, tensor, seed: all that the section depends on.
Blocks = tuple[str, int, str, str, int]


def show(controls: Controls) -> None:
    view = here()
    name = controls.draw(ELEMENT, view.control)
    size, kind = controls.draw(BLOCK_SIZE), controls.draw(BLOCK_KIND)
    blocks = (name, size, kind, draw_role(controls, kind), controls.draw(SEED))
    by_rule = landings(blocks)
    share = percent(by_rule[FLOOR].saturated)
    draw_notice(f"Floor clips the largest number of **{share} of these blocks.** Rounding up clips none.")
    shares = ", ".join(f"{title} {percent(one.saturated)}" for title, one in by_rule.items())
    chart_with_slider(
        controls,
        BLOCK_AMAX,
        name="scaling_rules",
        inputs=(blocks, page_ink()),
        at=LEAST + round((controls.value(BLOCK_AMAX) - LEAST) / STEP) * STEP,
        spec_at=lambda start: rules_spec(blocks, start, page_ink(), room()),
        alt_at=lambda _: (
            f"A histogram of amax / scale for each of {len(by_rule)} scale rules, beside the largest value "
            f"of {name}. Share of blocks beyond it: {shares}."
        ),
        hand=Hand(
            label="amax of one block, under the rule floor",
            grips=tuple((row_name(row), name) for row, name in RAILS.items()),
        ),
    )
    most = f"{FORMATS[name].max:,.6g}"
    view.know.markdown(
        "A block of numbers shares one scale, and the scale is stored too. In fp32 it can be "
        f"amax / {most}. **e8m0** has 8 bits and holds powers of two only, so amax / scale misses "
        f"{most}: it lands below (part of the range stays unused) or above (the block's largest number is "
        "clipped)."
    )
    view.know.markdown(
        f"Bars: {BLOCKS:,} blocks of {size} numbers. Points: one block. The handle moves its amax from "
        "one power of two to the next; beyond, all lands in the same places, under twice the scale."
    )
    view.know.markdown(_table(by_rule))
    share = saturated_share(E8M0_FLOOR, FORMATS[name])
    view.know.markdown(
        "Floor keeps amax / scale in one binade, from $2^{e_{max}}$ up to $2^{e_{max} + 1}$. Where "
        r"$\log_2 amax$ is uniform, so is its place there, and the part above $Q_{max}$, the largest value, "
        rf"is $1 + e_{{max}} - \log_2 Q_{{max}}$ = {share:.4f}. Even rounds amax to the element's mantissa "
        "first."
    )
    view.know.markdown(scale_rules())
    view.know.markdown(f"**Rules of recipes that go further**\n\n{recipe_rules()}")
    view.know.caption(SOURCES)


@dataclass(frozen=True, kw_only=True)
class Landing:
    """One rule over all blocks: amax / scale of each, the share beyond Qmax, the SQNR."""

    lands: NDArray[np.float64]
    saturated: float
    sqnr_db: float


@st.cache_data(max_entries=RESULTS, max_size=BYTES, show_spinner=False)
def landings(blocks: Blocks) -> dict[str, Landing]:
    name, size, kind, tensor, seed = blocks
    element = FORMATS[name]
    is_uniform, shape = kind == LOG_UNIFORM, (BLOCKS, size)
    x = log_uniform_blocks(*shape, seed) if is_uniform else numbers(kind, tensor, shape, seed)
    amax = np.abs(x).max(axis=1, keepdims=True)
    exact = x.astype(np.float64)
    energy = float(np.vdot(exact, exact))
    by_rule = {}
    for title, rule in RULES.items():
        scale = rule.scale(amax, element)
        lands = (amax.astype(np.float64) / scale).ravel()
        by_rule[title] = Landing(
            lands=lands,
            # An fp32 scale may round amax / scale up by one last bit.
            saturated=float(np.mean(lands > element.max * (1 + np.finfo(np.float32).eps))),
            sqnr_db=sqnr_db(math.sqrt(_squared_error(x, scale, element) / energy)),
        )
    return by_rule


def _squared_error(x: NDArray[np.float32], scale: NDArray[np.float32], element: Format) -> float:
    total, rows = 0.0, max(AT_ONCE // x.shape[1], 1)
    for start in range(0, len(x), rows):
        part = x[start : start + rows]
        grid = TileGrid.over(part.shape, (1, part.shape[1]))
        error = values_under(scale[start : start + rows], part, grid, element)
        error -= part
        total += float(np.vdot(error, error))
    return total


def rules_spec(blocks: Blocks, start: float, ink: Ink, room: int) -> Filled:
    name, element = blocks[0], FORMATS[blocks[0]]
    low, high = element.max / 2 / ROOM, 2.0 ** (element.e_max + 1) * ROOM
    edges = _edges(element.max, low, high)
    rows = {
        f"{title}: {percent(one.saturated)} clipped, {one.sqnr_db:.1f} dB": (
            _bins(one.lands, edges, element.max),
            _moves(title, name),
        )
        for title, one in landings(blocks).items()
    }
    chart = rules_chart(rows, element.max, (low, high), ink, (room - AROUND) // len(RULES))
    return with_slider(chart, BLOCK, start)


def _edges(largest: float, low: float, high: float) -> NDArray[np.float64]:
    """Bin edges even in log2; one lies just above the largest value, so that no bin is half beyond."""
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
    amax = np.arange(LEAST, MOST + STEP / 2, STEP)
    scale = RULES[title].scale(amax.astype(np.float32), FORMATS[name]).astype(np.float64)
    return arrow({"amax": amax, "lands": amax / scale, "text": list(map(_scale_text, scale.tolist()))})


def _scale_text(scale: float) -> str:
    fraction, exponent = math.frexp(scale)
    return power_of_two(exponent - 1) if fraction == 0.5 else short(scale, 4)


def _table(by_rule: Mapping[str, Landing]) -> str:
    lines = [(title, percent(one.saturated), f"{one.sqnr_db:.2f}") for title, one in by_rule.items()]
    return markdown_table(("Scale", "amax beyond the largest value", "SQNR (dB)"), lines)


def _floor_saturated(settings: Settings) -> float:
    blocks = tuple(settings[one.key] for one in (ELEMENT, BLOCK_SIZE, BLOCK_KIND, ROLE, SEED))
    return landings(blocks)[FLOOR].saturated


FACTS = {"floor_saturated": _floor_saturated}
