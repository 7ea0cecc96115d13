"""Results, measured here or recorded on a GPU: the ones of a GEMM, and a table to compare and download."""

import csv
import io
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from fp8core.inputs import INPUT_NOTES
from fp8core.tiles import WHOLE
from kernels.gemm.numerics import Summation
from kernels.gemm.simple.dot_scaled import NOTE
from kernels.measure.jobs import CHECKED, Cache, GemmJob, Into
from kernels.measure.records import BadLine, Records, read_records
from kernels.measure.rows import Ceilings, Peer, Provenance, Row
from kernels.paths import RECORDS
from kernels.typed import to_data
from pages.kit.inert import plain
from pages.kit.origins import Stamp, stamps, versions_words
from pages.kit.tables import arrow_table, draw_rows

CACHE = {Cache.HOT: "hot", Cache.COLD: "cold"}
INTO = {Into.NEW: "new", Into.ACCUMULATE: "added into"}
_LEFT_OUT = "These lines of the recorded files cannot be read and are left out; all others are shown"
_BAD_SHOWN = 3
_FOLDERS_KEPT = 2
_JOBS_KEPT = 1024
_READING = threading.Lock()  # sessions that come first at the same time read the files once


class Origin(Enum):
    HERE = "here"
    RECORDED = "recorded"


@dataclass(frozen=True)
class Result:
    row: Row
    origin: Origin

    @property
    def where(self) -> str:
        if self.is_interpreted:
            return "Triton's interpreter on this CPU"
        name, first = self.row.machine.name, ", first answer" if self.row.is_first else ""
        return f"Recorded on {name}" if self.origin is Origin.RECORDED else f"GPU: {name}{first}"

    @property
    def when(self) -> str:
        return ", ".join([self.row.date, *versions_words(self.row.machine.versions)])

    @property
    def is_interpreted(self) -> bool:
        return self.row.provenance is Provenance.INTERPRETER


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded:
    records: Records
    results: tuple[Result, ...]


def every_recorded() -> Recorded:
    with _READING:
        return _read(str(RECORDS), stamps(str(RECORDS)))


def every_ceilings() -> tuple[Ceilings, ...]:
    return every_recorded().records.ceilings


def draw_bad_lines() -> None:
    draw_left_out(every_recorded().records.bad)


def draw_left_out(bad: Sequence[BadLine]) -> None:
    if bad:
        lines = [f"- {plain(str(line))}." for line in bad[:_BAD_SHOWN]]
        lines += [f"- And {len(bad) - _BAD_SHOWN} more."] if len(bad) > _BAD_SHOWN else []
        st.warning("\n".join([f"{_LEFT_OUT}:\n", *lines]), icon=":material/rule:")


def recorded(job: GemmJob) -> list[Result]:
    """The recorded rows of the job's recipe and matmul; nearest to the job first, then the newest."""
    rows = [
        result
        for result in every_recorded().results
        if _is_of(result.row, job) and result.row.provenance is Provenance.GPU
    ]
    rows.reverse()  # of one day, the row that was added last
    rows.sort(key=lambda result: result.row.date, reverse=True)
    return sorted(rows, key=lambda result: _distance(result.row.job, job))


def _is_of(row: Row, job: GemmJob) -> bool:
    return (row.job.recipe, row.job.own, row.job.matmul) == (job.recipe, job.own, job.matmul)


@lru_cache(maxsize=_FOLDERS_KEPT)
def _read(folder: str, stamps: tuple[Stamp, ...]) -> Recorded:
    records = read_records(Path(folder))
    return Recorded(records=records, results=tuple(Result(row, Origin.RECORDED) for row in records.rows))


def is_answer(row: Row, job: GemmJob) -> bool:
    return as_asked(row.job) == as_asked(job)


@lru_cache(maxsize=_JOBS_KEPT)
def as_asked(job: GemmJob) -> GemmJob:
    """The job as the page's controls describe it: without seed, timing and other fields they do not set."""
    return replace(same_gemm(job), cache=Cache.HOT, into=Into.NEW)


@lru_cache(maxsize=_JOBS_KEPT)
def same_gemm(job: GemmJob) -> GemmJob:
    """The job without the fields that its speed does not depend on, such as its seed and number of runs."""
    default = GemmJob(recipe=job.recipe, matmul=job.matmul, m=job.m, n=job.n, k=job.k, own=job.own)
    return replace(
        job,
        seed=default.seed,
        runs=default.runs,
        turn_ms=default.turn_ms,
        settle_ms=default.settle_ms,
        accumulation=accumulation(job),
    )


def accumulation(job: GemmJob) -> Summation:
    """The summation of a job, RECIPE also where the job names the one that its recipe sets."""
    is_fast = job.recipe_data.spec(job.matmul_data).accumulator.promotion is WHOLE
    as_in_recipe = Summation.FAST if is_fast else Summation.PROMOTED
    return Summation.RECIPE if job.accumulation is as_in_recipe else job.accumulation


def to_show(job: GemmJob, here: Sequence[Result], records: Sequence[Result]) -> list[Result]:
    """The results to show in full at once: the newest run of this very job, or else of its GEMM.

    Where that run is missing or interpreted, a recorded row of the GEMM comes too.
    """
    alike = [result for result in here if is_answer(result.row, job)]
    shown = ([result for result in alike if result.row.job == job] or alike)[:1]
    if all(result.is_interpreted for result in shown):
        shown += [result for result in records if is_answer(result.row, job)][:1]
    return shown


def usual(job: GemmJob, records: Sequence[Result]) -> list[Result]:
    """The recorded result of the usual shape, or else the nearest one; none where none is recorded."""
    m, n, k = CHECKED
    return [one for one in records if is_answer(one.row, replace(job, m=m, n=n, k=k))][:1] or list(
        records[:1]
    )


def _distance(other: GemmJob, job: GemmJob) -> tuple[float, bool, bool, bool]:
    """The distance of two jobs: the doublings between M, N and K first, then the settings that differ."""
    sizes = zip((other.m, other.n, other.k), (job.m, job.n, job.k), strict=True)
    return (
        sum(abs(math.log2(max(theirs, 1) / max(asked, 1))) for theirs, asked in sizes),
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
    picked = draw_rows(
        arrow_table([_line(result) for result in results]),
        on_select="rerun",
        selection_mode="single-row",
        key=key,
        column_config=_COLUMNS,
    )
    rows = [row for row in picked.selection.rows if row < len(results)]
    return [results[row] for row in rows]


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


_TIMES = {
    "gemm": Peer.OURS,
    "quantize": Peer.QUANTIZE,
    "bf16": Peer.BF16,
    "torch_scaled": Peer.TORCH,
    "simple": Peer.SIMPLE,
    "dot_scaled": Peer.DOT_SCALED,
}
_ERRORS = ("rel_err", "quantization_rel_err", "kernel_rel_err", "sqnr_db")
_NO_TIME = {"median_us": None, "p20_us": None, "p80_us": None, "op": "", "clock_mhz": None, "power_w": None}


def _record(result: Result) -> dict[str, Any]:
    row, machine = result.row, result.row.machine
    times = {
        name: to_data(row.times[peer]) if peer in row.times else _NO_TIME for name, peer in _TIMES.items()
    }
    peer = times["torch_scaled"] if row.peer is Peer.TORCH else times["bf16"]
    return {
        "origin": result.origin.value,
        "provenance": row.provenance.value,
        "machine": machine.name,
        **machine.versions,
        "clock_mhz": times["gemm"]["clock_mhz"],
        "power_w": times["gemm"]["power_w"],
        **to_data(row.job),
        **{f"{name}_{field}": time[field] for name, time in times.items() for field in list(_NO_TIME)[:3]},
        **{name: getattr(row, name) for name in ("date", "kernel", "why")},
        "out": row.job.out.name,
        **{name: getattr(row.errors, name) for name in _ERRORS},
        **{name: getattr(row, name) for name in ("bytes", "tflop_s", "gb_s")},
        "times_bf16": row.over(Peer.BF16),
        "times_bf16_with_quantize": row.over_bf16_with_quantize,
        **{f"times_{name}": row.over(_TIMES[name]) for name in ("torch_scaled", "simple", "dot_scaled")},
        "torch_op": times["torch_scaled"]["op"],
        "bf16_op": times["bf16"]["op"],
        "peer_note": row.note,
        "peer_clock_mhz": peer["clock_mhz"],
        "peer_power_w": peer["power_w"],
        "turns": row.job.runs if row.ours else None,
        "commit": row.commit,
    }


def draw_downloads(results: Sequence[Result]) -> None:
    st.download_button(
        "CSV",
        lambda: as_csv(results),
        "gemm.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
    )


def as_csv(results: Sequence[Result]) -> str:
    records = [_record(result) for result in results]
    text, names = io.StringIO(), dict.fromkeys(name for record in records for name in record)
    writer = csv.DictWriter(text, fieldnames=list(names))
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
