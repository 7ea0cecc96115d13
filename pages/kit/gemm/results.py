"""Results of GEMMs, measured here or recorded on a GPU, and their download."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from fp8core.tiles import WHOLE
from kernels.gemm.numerics import Summation
from kernels.measure.jobs import GemmJob
from kernels.measure.records import BadLine, Records, read_records
from kernels.measure.rows import Peer, Provenance, Row
from kernels.paths import RECORDS
from kernels.typed import to_data
from pages.kit.inert import plain
from pages.kit.origins import reread, versions_words

_LEFT_OUT = "These lines of the recorded files cannot be read and are left out; all others are shown"
_BAD_SHOWN = 3
_JOBS_KEPT = 1024


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
    return reread(_recorded, RECORDS)


def draw_bad_lines() -> None:
    draw_left_out(every_recorded().records.bad)


def draw_left_out(bad: Sequence[BadLine]) -> None:
    if bad:
        lines = [f"- {plain(str(line))}." for line in bad[:_BAD_SHOWN]]
        lines += [f"- And {len(bad) - _BAD_SHOWN} more."] if len(bad) > _BAD_SHOWN else []
        st.warning("\n".join([f"{_LEFT_OUT}:\n", *lines]), icon=":material/rule:")


def _recorded(folder: Path) -> Recorded:
    records = read_records(folder)
    return Recorded(records=records, results=tuple(Result(row, Origin.RECORDED) for row in records.rows))


@lru_cache(maxsize=_JOBS_KEPT)
def same_gemm(job: GemmJob) -> GemmJob:
    """The job without fields that its speed does not depend on, such as seed and runs."""
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
    """Summation of a job; RECIPE also where it names the recipe's own."""
    is_fast = job.recipe_data.spec(job.matmul_data).accumulator.promotion is WHOLE
    as_in_recipe = Summation.FAST if is_fast else Summation.PROMOTED
    return Summation.RECIPE if job.accumulation is as_in_recipe else job.accumulation


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
        "out": row.job.spec.out.name,
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
