"""Section "Promotion's price": the benefit of promoting more often, and its cost on a GPU."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import streamlit as st

from fp8core.accumulators import ACCUMULATORS
from fp8core.accumulators.error_over_k import promotions_per_flop
from fp8core.experiments.dot_terms import TERM_NOTES, TermKind
from fp8core.tiles import WHOLE, Extent
from kernels.bench.job import Cache
from kernels.bench.row import Provenance, Row
from kernels.device import HOPPER, Unsupported
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import GemmPlan, plan_built_in
from pages.accumulation.charts.cost import Price, cost_chart
from pages.accumulation.controls import LONGEST_K
from pages.accumulation.directions import draw_directions
from pages.accumulation.sweeps import errors_by_interval, lengths
from pages.accumulation.words import percent
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.gemm import results as gemm_results
from pages.kit.gemm.results import TOLD, Recorded
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.view import here

UNIT, OPERANDS = "hopper_fast", "e4m3"
COMPARED = (TermKind.SAME_SIGN, TermKind.ZERO_MEAN)


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


def show(controls: Controls) -> None:
    """Draw the benefit of promotion; below, its cost."""
    know = here().know
    longest, seed = controls.draw(LONGEST_K, here().control), controls.draw(SEED)
    calls = [Call(errors_by_interval, (UNIT, kind.value, OPERANDS, longest, seed)) for kind in COMPARED]
    shown = computed("accumulation_cost", longest, calls, doing="Promoting at every interval")
    if shown is not None:
        _benefit(prices(shown.parts, shown.asked), shown.asked)
    _recorded()
    know.markdown(
        "**Promotion** takes a partial sum out of the tensor core after a fixed number of products, adds it "
        "to an fp32 register, and starts the chain again from 0. c stays small, so the cut stays low. A "
        "promotion is one fp32 addition per output, outside the tensor core: one for 2 · interval FLOP."
    )
    draw_directions(know)


def _benefit(found: Sequence[Price], longest: int) -> None:
    draw_notice(notice(found, longest))
    draw_chart(
        cost_chart(found, room(), INKS[theme()]),
        key="accumulation_cost",
        is_rigid=True,
        alt=f"rms error of sums of {longest:,} products over the promotion interval, for both kinds of "
        "numbers: " + "; ".join(f"{p.numbers} every {p.every} {percent(p.rms)}" for p in found),
    )
    here().know.markdown(
        f"{ACCUMULATORS[UNIT].title}, {OPERANDS} operands, K = {longest:,}; errors of the model. "
        f"{in_figures(found)}"
    )


def notice(found: Sequence[Price], longest: int) -> str:
    """The gain from the interval of Hopper's promoted unit on numbers of one sign."""
    same = {p.every: p for p in found if p.numbers == TERM_NOTES[COMPARED[0]].title}
    usual = same[ACCUMULATORS["hopper_promoted"].promotion]
    return (
        f"Promoted every {usual.every} products, sums of {longest:,} numbers of one sign are "
        f"**{short(same[longest].rms / usual.rms, 2)} times as exact** as in one chain."
    )


def in_figures(found: Sequence[Price]) -> str:
    """Errors and additions of three intervals on numbers of one sign."""
    same = {p.every: p for p in found if p.numbers == TERM_NOTES[COMPARED[0]].title}
    usual, often, never = same[ACCUMULATORS["hopper_promoted"].promotion], same[min(same)], same[max(same)]
    return (
        f"Numbers of one sign: one chain is off by {percent(never.rms)}. Promoted every {usual.every} "
        f"products, as DeepSeek-V3 does, it is off by {percent(usual.rms)}, for {short(usual.additions, 2)} "
        f"additions in 1000 FLOP. Every {often.every} gives {percent(often.rms)} for "
        f"{short(often.additions, 3)}."
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
        told = (f"{name} {self.fast.machine.versions.get(name, 'unknown')}" for name in TOLD)
        return ", ".join((self.fast.machine.name, " and ".join(days), *told))


def pairs(rows: Sequence[Row]) -> list[Pair]:
    """Timed rows of a GPU that differ in promotion only, the newest of each; hot ones first."""
    timed: dict[Hashable, dict[Extent, Row]] = {}
    for row in sorted(rows, key=lambda row: row.date):
        if row.provenance is Provenance.GPU and row.gemm is not None:
            ran = ran_as(row)
            if not isinstance(ran, Unsupported):
                versions = tuple(row.machine.versions.get(name) for name in TOLD)
                job = replace(row.job, accumulation=Summation.RECIPE)
                key = (row.machine.name, versions, job, replace(ran.meaning, promotion=WHOLE))
                timed.setdefault(key, {})[ran.meaning.promotion] = row
    found = [
        Pair(by_promotion[WHOLE], row, every)
        for by_promotion in timed.values()
        for every, row in by_promotion.items()
        if WHOLE in by_promotion and every is not WHOLE
    ]
    return sorted(found, key=lambda pair: pair.fast.job.cache is Cache.COLD)


def ran_as(row: Row) -> GemmPlan | Unsupported:
    """The meaning of the row's job on its GPU: recipe and summation decide kernel and promotion."""
    job, device = row.job, replace(HOPPER, name=row.machine.name, capability=row.machine.capability)
    return plan_built_in(
        job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), device, job.accumulation
    )


def _recorded() -> None:
    st.header("What it took on a GPU")
    gemm_results.draw_bad_lines()
    table = pair_table(gemm_results.every_recorded())
    if not table:
        st.info(
            "No GEMM is recorded both with fast and with promoted accumulation on one GPU, so there is no "
            "time to show here. On a GPU, Live GEMM measures it: run a per-tensor or rowwise recipe with "
            "“Accumulation” set to Fast, then to Promoted."
        )
        return
    st.markdown(table)
    here().know.markdown(
        "The table of measured times: both columns are the recorded median of the GEMM alone, and the "
        "kernel's error against the exact product. The two differ in promotion only. “Cold L2”: the GPU's "
        "cache was emptied first."
    )


@lru_cache(maxsize=1)
def pair_table(recorded: Recorded) -> str:
    """A line for each pair of recorded rows, "" without one: made once, until a file changes."""
    lines = ["| GEMM | fast | promoted | takes | measured on |", "|:--|:--|:--|:--|:--|"]
    found = [
        f"| {pair.fast.job.title} | {_cell(pair.fast)} | every {pair.every} products: "
        f"{_cell(pair.promoted)} | {short(pair.times, 3)} times as long | {plain(pair.where)} |"
        for pair in pairs(recorded.records.rows)
    ]
    return "\n".join(lines + found) if found else ""


def _cell(row: Row) -> str:
    return f"{short(row.gemm.median_us)} µs, error {percent(row.kernel_rel_err)}"
