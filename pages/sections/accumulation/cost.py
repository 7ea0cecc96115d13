"""Section "Promotion's price": the benefit of promoting more often, and its cost on a GPU."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

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
from pages.kit import results as gemm_results
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.results import TOLD
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.sections.accumulation.charts.cost import Price, Spec, cost_chart
from pages.sections.accumulation.controls import LONGEST_K
from pages.sections.accumulation.data import KEPT, errors, lengths
from pages.sections.accumulation.words import percent

UNIT, OPERANDS = "hopper_fast", "e4m3"
COMPARED = (TermKind.SAME_SIGN, TermKind.ZERO_MEAN)


@st.cache_data(max_entries=KEPT, show_spinner=False)
def prices(longest: int, seed: int) -> tuple[Price, ...]:
    """Every interval that the step allows, for both kinds of numbers, at K = `longest`."""
    step = ACCUMULATORS[UNIT].fused_products
    return tuple(
        Price(
            numbers=TERM_NOTES[kind].title,
            every=every,
            rms=errors(UNIT, every, kind.value, OPERANDS, longest, seed)[-1].rms,
            additions=1000 * promotions_per_flop(every),
        )
        for kind in COMPARED
        for every in lengths(longest)
        if every % step == 0
    )


@st.cache_data(max_entries=KEPT, show_spinner=False)
def cost_spec(longest: int, seed: int, theme: str) -> Spec:
    """The chart of all intervals."""
    return cost_chart(prices(longest, seed), INKS[theme])


def show(controls: Controls) -> None:
    """Draw the benefit of promotion, then its cost."""
    seed = controls.draw(SEED, st.sidebar)
    longest = controls.draw(LONGEST_K, st.sidebar)
    st.markdown(
        "**Promotion** takes a partial sum out of the tensor core after a fixed number of products, adds it "
        "to an fp32 register, and starts the chain again from 0. c stays small, so the cut stays low."
    )
    found = prices(longest, seed)
    st.markdown(notice(found, longest))
    draw_chart(
        cost_spec(longest, seed, theme()),
        key="accumulation_cost",
        alt=f"rms error of sums of {longest:,} products over the promotion interval, for both kinds of "
        "numbers: " + "; ".join(f"{p.numbers} every {p.every} {percent(p.rms)}" for p in found),
    )
    st.caption(
        f"{ACCUMULATORS[UNIT].title}, {OPERANDS} operands, K = {longest:,}; errors of the model. A promotion "
        "is one fp32 addition per output, outside the tensor core: one for 2 · interval FLOP."
    )
    _recorded()


def notice(found: Sequence[Price], longest: int) -> str:
    """The gain from the interval of Hopper's promoted unit on numbers of one sign, and its cost."""
    same = {p.every: p for p in found if p.numbers == TERM_NOTES[COMPARED[0]].title}
    usual = same[ACCUMULATORS["hopper_promoted"].promotion]
    never = same[longest]
    often = same[min(same)]
    return (
        f"**Notice:** numbers of one sign, K = {longest:,}: one chain is off by {percent(never.rms)}. "
        f"Promoted every {usual.every} products, as DeepSeek-V3 does, it is off by {percent(usual.rms)}, for "
        f"{short(usual.additions, 2)} additions in 1000 FLOP. Every {often.every} gives {percent(often.rms)} "
        f"for {short(often.additions, 3)}."
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
    found = pairs(gemm_results.every_row())
    if not found:
        st.info(
            "No GEMM is recorded both with fast and with promoted accumulation on one GPU, so there is no "
            "time to show here. On a GPU, Live GEMM measures it: run a per-tensor or rowwise recipe with "
            "“Accumulation” set to Fast, then to Promoted."
        )
        return
    lines = ["| GEMM | fast | promoted | takes | measured on |", "|:--|:--|:--|:--|:--|"]
    lines += [
        f"| {pair.fast.job.title} | {_cell(pair.fast)} | every {pair.every} products: "
        f"{_cell(pair.promoted)} | {short(pair.times, 3)} times as long | {plain(pair.where)} |"
        for pair in found
    ]
    st.markdown("\n".join(lines))
    st.caption(
        "Both columns: the recorded median of the GEMM alone, and the kernel's error against the exact "
        "product. The two differ in promotion only. “Cold L2”: the GPU's cache was emptied first."
    )


def _cell(row: Row) -> str:
    return f"{short(row.gemm.median_us)} µs, error {percent(row.kernel_rel_err)}"
