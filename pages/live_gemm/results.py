"""Results of a GEMM for the page: those to show, and a table of all."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import streamlit as st

from fp8core.inputs import INPUT_NOTES
from kernels.gemm.simple.dot_scaled import NOTE
from kernels.measure.jobs import CHECKED, Cache, GemmJob, Into
from kernels.measure.rows import Peer, Provenance, Row
from pages.kit.gemm.results import Result, accumulation, every_recorded, same_gemm
from pages.kit.tables import draw_rows

CACHE = {Cache.HOT: "hot", Cache.COLD: "cold"}
INTO = {Into.NEW: "new", Into.ACCUMULATE: "added into"}


def recorded(job: GemmJob) -> list[Result]:
    """The recorded rows of the job's recipe and matmul, nearest first, then newest."""
    key = job.recipe, job.own, job.matmul
    rows = [
        one
        for one in every_recorded().results
        if one.row.provenance is Provenance.GPU
        and (one.row.job.recipe, one.row.job.own, one.row.job.matmul) == key
    ]
    rows.reverse()  # the last row of a day comes first
    rows.sort(key=lambda result: result.row.date, reverse=True)
    return sorted(rows, key=lambda result: _distance(result.row.job, job))


def is_answer(row: Row, job: GemmJob) -> bool:
    return _by_controls(row.job) == _by_controls(job)


@lru_cache(maxsize=1024)
def _by_controls(job: GemmJob) -> GemmJob:
    """The job without all that the page's controls do not set."""
    return replace(same_gemm(job), cache=Cache.HOT, into=Into.NEW)


def to_show(job: GemmJob, here: Sequence[Result], records: Sequence[Result]) -> list[Result]:
    """The results on show: the newest run of this very job, or else of its GEMM.

    A recorded row of the GEMM joins an interpreted run, or takes the place of none.
    """
    of_gemm = [result for result in here if is_answer(result.row, job)]
    newest = ([result for result in of_gemm if result.row.job == job] or of_gemm)[:1]
    if all(result.is_interpreted for result in newest):
        newest += [result for result in records if is_answer(result.row, job)][:1]
    return newest


def usual(job: GemmJob, records: Sequence[Result]) -> list[Result]:
    """The recorded result of the usual shape, else the nearest one."""
    usual_job = replace(job, **dict(zip("mnk", CHECKED, strict=True)))
    return [one for one in records if is_answer(one.row, usual_job)][:1] or list(records[:1])


def _distance(other: GemmJob, job: GemmJob) -> tuple[float, bool, bool, bool]:
    """The doublings between M, N and K, then the settings that differ."""
    sizes = zip((other.m, other.n, other.k), (job.m, job.n, job.k), strict=True)
    return (
        sum(abs(math.log2(max(theirs, 1) / max(ours, 1))) for theirs, ours in sizes),
        other.input is not job.input,
        accumulation(other) is not accumulation(job),
        (other.cache, other.into) != (job.cache, job.into),
    )


_COLUMNS = {
    "rel_err": st.column_config.NumberColumn(format="%.2e"),
    "SQNR": st.column_config.NumberColumn(format="%.1f dB"),
    "time": st.column_config.NumberColumn(format="%.1f µs"),
    "TFLOP/s": st.column_config.NumberColumn(format="%.0f"),
    "× bf16": st.column_config.NumberColumn(format="%.2f", help="The matmul alone"),
    "× bf16, all": st.column_config.NumberColumn(format="%.2f", help="With quantizing A and B"),
    "× torch": st.column_config.NumberColumn(format="%.2f", help="torch's scaled op, the matmul alone"),
    "× simple": st.column_config.NumberColumn(
        format="%.2f", help="The simple kernel, the matmul alone; empty where it is the one that ran"
    ),
    "× dot_scaled": st.column_config.NumberColumn(format="%.2f", help=f"The matmul alone. {NOTE}"),
    "L2": st.column_config.TextColumn(
        help="hot: launches back to back, buffers rotated; cold: the L2 flushed before each launch"
    ),
}


def draw_table(results: Sequence[Result], *, key: str) -> list[Result]:
    mode = {"on_select": "rerun", "selection_mode": "single-row"}
    choice = draw_rows([_line(result) for result in results], key=key, column_config=_COLUMNS, **mode)
    return [results[row] for row in choice.selection.rows if row < len(results)]


def _line(result: Result) -> dict[str, Any]:
    row, job = result.row, result.row.job
    return {
        "run on": result.where,
        "recipe": job.recipe_data.title,
        "matmul": job.matmul_data.title,
        "M × N × K": f"{job.m} × {job.n} × {job.k}",
        "rel_err": row.errors.rel_err,
        "SQNR": row.errors.sqnr_db,
        "time": row.ours.median_us if row.ours else None,
        "TFLOP/s": row.tflop_s,
        "× bf16": row.over(Peer.BF16),
        "× bf16, all": row.over_bf16_with_quantize,
        "× torch": row.over(Peer.TORCH),
        "× simple": row.over(Peer.SIMPLE),
        "× dot_scaled": row.over(Peer.DOT_SCALED),
        "input": INPUT_NOTES[job.input].title,
        "seed": job.seed,
        "accumulation": job.accumulation.words,
        "L2": CACHE[job.cache],
        "D": INTO[job.into],
        "date": row.date,
    }
