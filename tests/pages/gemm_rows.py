"""Measured rows that nobody measured, and workers that answer with them."""

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from kernels.bench.job import GemmJob
from kernels.bench.machine import Machine, Timing
from kernels.bench.row import Provenance, Row
from kernels.typed import to_data
from kernels.worker.queue import WorkerQueue
from kernels.worker.states import Final, Ticket
from kernels.worker.supervisor import Limits
from tests.kernels.worker.stand_in import row as interpreted_row
from tests.kernels.worker.stand_in import stand_in_process

TOP = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0


def timing(us: float) -> Timing:
    return Timing(median_us=us, p20_us=0.98 * us, p80_us=1.05 * us, runs=20)


def gpu_row(job: GemmJob, **changes: object) -> Row:
    """A row as an H200 gives it."""
    row = replace(
        interpreted_row(job),
        provenance=Provenance.GPU,
        machine=Machine(
            name="NVIDIA H200",
            capability=(9, 0),
            versions={"torch": "2.11.0", "triton": "3.6.0"},
            clock_mhz=1350.0,
            power_w=690.0,
        ),
        gemm=timing(100.0),
        quantize=timing(50.0),
        bf16=timing(200.0),
        torch_scaled=timing(90.0),
        peer_note="",
    )
    return replace(row, **changes)


def record(folder: Path, rows: Sequence[Row]) -> None:
    """Write a recorded file."""
    lines = [json.dumps(to_data(row)) for row in rows]
    (folder / "h200.jsonl").write_text("\n".join(lines) + "\n")


def stand_in_queue(*arguments: str) -> WorkerQueue:
    """A queue whose one worker is the stand-in of tests/kernels/worker."""
    return WorkerQueue(
        [lambda: stand_in_process(*arguments)],
        limits=Limits(start_s=30, job_s=60, stop_s=10, tick_s=0.02),
    )


def wait_for_ends(queue: WorkerQueue, tickets: Iterable[Ticket]) -> None:
    """Wait until these jobs have ended, and leave it to the page to ask."""
    deadline = time.monotonic() + PATIENCE_S
    while not all(isinstance(queue.state(ticket), Final) for ticket in tickets):
        assert time.monotonic() < deadline, "it never ended"
        time.sleep(0.01)


def run_until(at, holds, *, patience_s: float = PATIENCE_S) -> None:
    """Rerun a page, as its panel does, until `holds(at)`."""
    deadline = time.monotonic() + patience_s
    while not holds(at):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
        at.run()
