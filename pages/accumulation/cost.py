"""Section "Promotion's price": the benefit of promoting more often, and its cost on a GPU."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import streamlit as st

from fp8core.accumulators import ACCUMULATORS
from fp8core.accumulators.error_over_k import promotions_per_flop
from fp8core.experiments.dot_terms import TERM_NOTES, TermKind
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, MatmulSpec
from fp8core.tiles import WHOLE, Extent
from kernels.bench.job import Cache
from kernels.bench.row import Provenance, Row
from kernels.device import HOPPER, Unsupported
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_built_in
from pages.accumulation.charts.curves import Price, cost_chart
from pages.accumulation.data import errors_by_interval, lengths
from pages.accumulation.facts import LONGEST_K, percent
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.gemm import results as gemm_results
from pages.kit.gemm.results import Recorded
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.origins import VERSIONS
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.view import here

UNIT, OPERANDS = "hopper_fast", "e4m3"
COMPARED = (TermKind.SAME_SIGN, TermKind.ZERO_MEAN)
PROMOTION = (
    "**Promotion** takes a partial sum out of the tensor core after a fixed number of products, adds it to "
    "an fp32 register, and starts the chain again from 0. c stays small, so the cut stays low. A promotion "
    "is one fp32 addition per output, outside the tensor core: one for 2 · interval FLOP."
)
DIRECTIONS = (
    "**Forward and backward.** Recipes of torch and Transformer Engine often sum fast in the forward pass, "
    "and promote in the two backward matmuls: an error of y is one among many, while an error of a gradient "
    "goes on to every layer before it and into the weights. DeepSeek-V3 promotes everywhere."
)
DIRECTIONS_SOURCE = (
    "Recipes whose codes the FP8 tensor core of Hopper adds. All others are multiplied in bf16 there. "
    "Sources: torchao float8, use_fast_accum, which is true for the output only; Transformer Engine, "
    "split accumulators of Dgrad and Wgrad; DeepSeek-V3, arXiv 2412.19437, section 3.3.2."
)
NO_PAIR = (
    "No GEMM is recorded both with fast and with promoted accumulation on one GPU, so there is no time to "
    "show here. On a GPU, Live GEMM measures it: run a per-tensor or rowwise recipe with “Accumulation” set "
    "to Fast, then to Promoted."
)
MEASURED = (
    "The table of measured times: both columns are the recorded median of the GEMM alone, and the kernel's "
    "error against the exact product. The two differ in promotion only. “Cold L2”: the GPU's cache was "
    "emptied first."
)


def show(controls: Controls) -> None:
    """Draw the benefit of promotion; below, its cost."""
    know = here().know
    longest, seed = controls.draw(LONGEST_K, here().control), controls.draw(SEED)
    calls = [Call(errors_by_interval, (UNIT, kind.value, OPERANDS, longest, seed)) for kind in COMPARED]
    shown = computed("accumulation_cost", longest, calls, doing="Promoting at every interval")
    if shown is not None:
        _benefit(prices(shown.parts, shown.asked), shown.asked)
    st.header("What it took on a GPU")
    gemm_results.draw_bad_lines()
    if table := pair_table(gemm_results.every_recorded()):
        st.markdown(table)
        know.markdown(MEASURED)
    else:
        st.info(NO_PAIR)
    for text in (PROMOTION, DIRECTIONS, directions_table()):
        know.markdown(text)
    know.caption(DIRECTIONS_SOURCE)


def prices(rms: Sequence[Sequence[float]], longest: int) -> tuple[Price, ...]:
    """Every interval at K = `longest`, for both kinds of numbers, from the rms errors of each kind."""
    return tuple(
        Price(
            numbers=TERM_NOTES[kind].title,
            every=every,
            rms=error,
            additions=1000 * promotions_per_flop(every),
        )
        for kind, errors in zip(COMPARED, rms, strict=True)
        for every, error in zip(lengths(longest), errors, strict=True)
    )


def _benefit(every: Sequence[Price], longest: int) -> None:
    same = {p.every: p for p in every if p.numbers == TERM_NOTES[COMPARED[0]].title}
    usual, often, never = same[ACCUMULATORS["hopper_promoted"].promotion], same[min(same)], same[longest]
    draw_notice(
        f"Promoted every {usual.every} products, sums of {longest:,} numbers of one sign are "
        f"**{short(never.rms / usual.rms, 2)} times as exact** as in one chain."
    )
    draw_chart(
        cost_chart(every, room(), INKS[theme()]),
        key="accumulation_cost",
        is_rigid=True,
        alt=f"rms error of sums of {longest:,} products over the promotion interval, for both kinds of "
        "numbers: " + "; ".join(f"{p.numbers} every {p.every} {percent(p.rms)}" for p in every),
    )
    here().know.markdown(
        f"{ACCUMULATORS[UNIT].title}, {OPERANDS} operands, K = {longest:,}; errors of the model. Numbers of "
        f"one sign: one chain is off by {percent(never.rms)}. Promoted every {usual.every} products, as "
        f"DeepSeek-V3 does, it is off by {percent(usual.rms)}, for {short(usual.additions, 2)} additions in "
        f"1000 FLOP. Every {often.every} gives {percent(often.rms)} for {short(often.additions, 3)}."
    )


@dataclass(frozen=True)
class Pair:
    """One GEMM on one GPU, timed with one sum in the tensor core (fast) and with promotion."""

    fast: Row
    promoted: Row
    every: int

    @property
    def times(self) -> float:
        """The promoted time over the fast one."""
        return self.promoted.gemm.median_us / self.fast.gemm.median_us

    @property
    def where(self) -> str:
        """The GPU, the versions and the day of each measurement."""
        days = dict.fromkeys((self.fast.date, self.promoted.date))
        versions = (f"{name} {self.fast.machine.versions.get(name, 'unknown')}" for name in VERSIONS)
        return ", ".join((self.fast.machine.name, " and ".join(days), *versions))


def pairs(rows: Sequence[Row]) -> list[Pair]:
    """Timed rows of a GPU that differ in promotion only, the newest of each; hot ones first.

    Recipe and summation decide kernel and promotion, so the plan of each row's job is made again.
    """
    timed: dict[Hashable, dict[Extent, Row]] = {}
    for row in sorted(rows, key=lambda row: row.date):
        if row.provenance is not Provenance.GPU or row.gemm is None:
            continue
        job, machine = row.job, row.machine
        plan = plan_built_in(
            job.recipe_data.spec(job.matmul_data),
            (job.m, job.n, job.k),
            replace(HOPPER, name=machine.name, capability=machine.capability),
            job.accumulation,
        )
        if not isinstance(plan, Unsupported):
            versions = tuple(machine.versions.get(name) for name in VERSIONS)
            alike = replace(job, accumulation=Summation.RECIPE), replace(plan.meaning, promotion=WHOLE)
            timed.setdefault((machine.name, versions, *alike), {})[plan.meaning.promotion] = row
    every_pair = [
        Pair(by_promotion[WHOLE], row, every)
        for by_promotion in timed.values()
        for every, row in by_promotion.items()
        if WHOLE in by_promotion and every is not WHOLE
    ]
    return sorted(every_pair, key=lambda pair: pair.fast.job.cache is Cache.COLD)


@lru_cache(maxsize=1)
def pair_table(recorded: Recorded) -> str:
    """A line for each pair of recorded rows, "" without one: made once, until a file changes."""
    lines = ["| GEMM | fast | promoted | takes | measured on |", "|:--|:--|:--|:--|:--|"]
    lines += [
        f"| {pair.fast.job.title} | {_cell(pair.fast)} | every {pair.every} products: "
        f"{_cell(pair.promoted)} | {short(pair.times, 3)} times as long | {plain(pair.where)} |"
        for pair in pairs(recorded.records.rows)
    ]
    return "\n".join(lines) if len(lines) > 2 else ""


def _cell(row: Row) -> str:
    return f"{short(row.gemm.median_us)} µs, error {percent(row.kernel_rel_err)}"


@lru_cache(maxsize=1)
def directions_table() -> str:
    """A line for each way to add in the three matmuls, with the recipes that add so on Hopper."""
    ways: dict[tuple[str, ...], list[str]] = {}
    for recipe in RECIPES.values():
        specs = [recipe.spec(matmul) for matmul in MATMULS.values()]
        if any(spec.accumulator.out == ACCUMULATORS[UNIT].out for spec in specs):
            ways.setdefault(tuple(map(_way, specs)), []).append(f"“{recipe.title}”")
    heads = " | ".join(matmul.title for matmul in MATMULS.values())
    lines = [f"| {heads} | recipes |", "|:--" * (len(MATMULS) + 1) + "|"]
    lines += [f"| {' | '.join(way)} | {', '.join(titles)} |" for way, titles in ways.items()]
    return "\n".join(lines)


def _way(spec: MatmulSpec) -> str:
    if not spec.quantized:
        return "bf16"
    every = spec.accumulator.promotion
    return "one chain" if every is WHOLE else f"promoted every {every}"
