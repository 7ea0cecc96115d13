"""Results: rows measured here in this session, and rows recorded on a GPU."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import streamlit as st

from kernels.ceilings import Ceilings
from kernels.records import recorded_ceilings, recorded_rows
from kernels.rows import GemmJob, Provenance, Row

RECORDS = Path(__file__).resolve().parents[2] / "assets" / "bench"

TOLD = ("torch", "triton")
"""The packages whose versions a speed depends on."""


class Origin(Enum):
    """Whether a row was measured here or read from a file."""

    HERE = "here"
    RECORDED = "recorded"


@dataclass(frozen=True)
class Result:
    """A row, and where this page has it from."""

    row: Row
    origin: Origin

    @property
    def where(self) -> str:
        """What ran it, in words."""
        if self.is_interpreted:
            return "Triton's interpreter on this CPU"
        name = self.row.machine.name
        return f"Recorded on {name}" if self.origin is Origin.RECORDED else f"GPU: {name}"

    @property
    def when(self) -> str:
        """The day, and the versions that speed depends on."""
        versions = self.row.machine.versions
        return ", ".join([self.row.date, *(f"{name} {versions[name]}" for name in TOLD if name in versions)])

    @property
    def is_interpreted(self) -> bool:
        return self.row.provenance is Provenance.INTERPRETER


def every_row() -> tuple[Row, ...]:
    """Every recorded row, of any recipe."""
    stamps = tuple((path.name, path.stat().st_mtime_ns) for path in sorted(RECORDS.glob("*.jsonl")))
    return _rows(str(RECORDS), stamps)


def every_ceilings() -> tuple[Ceilings, ...]:
    """Every recorded measurement of what a GPU reaches; a GPU's newest one last."""
    stamps = tuple((path.name, path.stat().st_mtime_ns) for path in sorted(RECORDS.glob("*/*.jsonl")))
    return _ceilings(str(RECORDS), stamps)


def recorded(job: GemmJob) -> list[Result]:
    """The recorded rows of the job's recipe and matmul; nearest to the job first, then the newest."""
    rows = [
        row
        for row in every_row()
        if (row.job.recipe, row.job.matmul) == (job.recipe, job.matmul) and row.provenance is Provenance.GPU
    ]
    rows.reverse()  # of one day, the row that was added last
    rows.sort(key=lambda row: row.date, reverse=True)
    return [Result(row, Origin.RECORDED) for row in sorted(rows, key=lambda row: _distance(row.job, job))]


@st.cache_resource(show_spinner=False, max_entries=2)
def _rows(folder: str, stamps: tuple[tuple[str, int], ...]) -> tuple[Row, ...]:
    """Every recorded row; `stamps` changes when a file does."""
    return recorded_rows(Path(folder))


@st.cache_resource(show_spinner=False, max_entries=2)
def _ceilings(folder: str, stamps: tuple[tuple[str, int], ...]) -> tuple[Ceilings, ...]:
    return recorded_ceilings(Path(folder))


def _distance(other: GemmJob, job: GemmJob) -> tuple[bool, bool, bool, bool, int]:
    same_shape = (other.m, other.n, other.k) == (job.m, job.n, job.k)
    return (
        not same_shape,
        other.input is not job.input,
        other.accumulation is not job.accumulation,
        (other.cache, other.into) != (job.cache, job.into),
        abs(other.flop - job.flop),
    )


def to_show(job: GemmJob, here: Sequence[Result], records: Sequence[Result]) -> list[Result]:
    """What to show in full unasked: the run of this very job or else the newest of its recipe and matmul; a
    recorded row too where that one is missing or interpreted.
    """
    alike = [r for r in here if (r.row.job.recipe, r.row.job.matmul) == (job.recipe, job.matmul)]
    shown = ([r for r in alike if r.row.job == job] or alike)[:1]
    if all(result.is_interpreted for result in shown):
        shown += records[:1]
    return shown
