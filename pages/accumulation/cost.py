"""Section "Promotion's price": promoting more often, its benefit and its cost on a GPU."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import streamlit as st

from fp8core.accumulators import ACCUMULATORS
from fp8core.accumulators.error_over_k import promotions_per_flop
from fp8core.experiments.dot_terms import TERM_NOTES, TermKind
from fp8core.tiles import WHOLE, Extent
from kernels.gemm.numerics import Summation
from kernels.measure.jobs import Cache
from kernels.measure.rows import Peer, Provenance, Row
from pages.accumulation.charts.curves import cost_chart
from pages.accumulation.data import errors_by_interval, lengths
from pages.accumulation.facts import CHAIN, LONGEST_K, PROMOTED, percent
from pages.kit.charts.words import short
from pages.kit.computing.compute import Call, computed
from pages.kit.controls import Controls
from pages.kit.gemm import results as gemm_results
from pages.kit.gemm.results import Recorded
from pages.kit.inert import plain
from pages.kit.origins import VERSIONS
from pages.kit.shared_controls import SEED
from pages.kit.tables import markdown_table
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room

OPERANDS = "e4m3"
KINDS = (TermKind.SAME_SIGN, TermKind.ZERO_MEAN)
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
    know = here().know
    longest, seed = controls.draw(LONGEST_K, here().control), controls.draw(SEED)
    calls = [Call(errors_by_interval, (CHAIN, kind.value, OPERANDS, longest, seed)) for kind in KINDS]
    answer = computed("accumulation_cost", longest, calls, label="Promoting at every interval")
    if answer is not None:
        titles = (TERM_NOTES[kind].title for kind in KINDS)
        _draw_benefit(dict(zip(titles, answer.parts, strict=True)), answer.arguments)
    st.header("What it took on a GPU")
    gemm_results.draw_bad_lines()
    if table := pair_table(gemm_results.every_recorded()):
        st.markdown(table)
        know.markdown(MEASURED)
    else:
        st.info(NO_PAIR)
    know.markdown(PROMOTION)
    know.markdown(DIRECTIONS)
    know.caption(DIRECTIONS_SOURCE)


def _draw_benefit(errors: Mapping[str, Sequence[float]], longest: int) -> None:
    intervals, usual = lengths(longest), ACCUMULATORS[PROMOTED].promotion
    of_one_sign = dict(zip(intervals, errors[TERM_NOTES[KINDS[0]].title], strict=True))
    never = of_one_sign[longest]
    draw_notice(
        f"Promoted every {usual} products, sums of {longest:,} numbers of one sign are "
        f"**{short(never / of_one_sign[usual], 2)} times as exact** as in one chain."
    )
    draw_chart(
        cost_chart(intervals, errors, room(), page_ink()),
        key="accumulation_cost",
        alt=f"rms error of sums of {longest:,} products over the promotion interval, for both kinds of "
        "numbers: "
        + "; ".join(
            f"{kind} every {every} {percent(error)}"
            for kind, each in errors.items()
            for every, error in zip(intervals, each, strict=True)
        ),
    )
    here().know.markdown(
        f"{ACCUMULATORS[CHAIN].title}, {OPERANDS} operands, K = {longest:,}; errors of the model. Numbers of "
        f"one sign: one chain is off by {percent(never)}. Promoted every {usual} products, as "
        f"DeepSeek-V3 does, it is off by {percent(of_one_sign[usual])}, for "
        f"{short(1000 * promotions_per_flop(usual), 2)} additions in 1000 FLOP."
    )


def pairs(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Pairs of GPU rows that differ in promotion only, fast and promoted, hot ones first."""
    by_run: dict[Hashable, dict[Extent, Row]] = {}
    for row in sorted(rows, key=lambda row: row.date):
        if row.provenance is not Provenance.GPU or row.ours is None or row.plan is None:
            continue
        run = (
            row.machine.name,
            *(row.machine.versions.get(name) for name in VERSIONS),
            replace(row.job, accumulation=Summation.RECIPE),
            *(row.plan.arithmetic, row.plan.scale_at, row.plan.refolded),
        )
        by_run.setdefault(run, {})[row.plan.promotion] = row
    every_pair = [
        (by_promotion[WHOLE], row)
        for by_promotion in by_run.values()
        for promotion, row in by_promotion.items()
        if WHOLE in by_promotion and promotion is not WHOLE
    ]
    return sorted(every_pair, key=lambda pair: pair[0].job.cache is Cache.COLD)


@lru_cache(maxsize=1)
def pair_table(recorded: Recorded) -> str:
    lines = []
    for fast, promoted in pairs(recorded.records.rows):
        times = short(promoted.us(Peer.OURS) / fast.us(Peer.OURS), 3)
        days = " and ".join(dict.fromkeys((fast.date, promoted.date)))
        versions = (f"{name} {fast.machine.versions.get(name, 'unknown')}" for name in VERSIONS)
        where = plain(", ".join((fast.machine.name, days, *versions)))
        cell = f"every {promoted.plan.promotion} products: {_cell(promoted)}"
        lines.append((fast.job.title, _cell(fast), cell, f"{times} times as long", where))
    return markdown_table(("GEMM", "fast", "promoted", "takes", "measured on"), lines, "<") if lines else ""


def _cell(row: Row) -> str:
    return f"{short(row.ours.median_us)} µs, error {percent(row.errors.kernel_rel_err)}"
