"""Measured rows that nobody measured, and workers that answer with them."""

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from kernels.measure.jobs import GemmJob
from kernels.measure.rows import Machine, Row, Timing
from kernels.typed import to_data
from kernels.worker.jobs import Final, Ticket
from kernels.worker.queue import WorkerQueue
from kernels.worker.worker import Limits
from tests.kernels.measure.made_up import changed
from tests.kernels.worker.stand_in import row as interpreted_row
from tests.kernels.worker.stand_in import stand_in_process

TOP = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0


def timing(us: float, op: str = "") -> Timing:
    return Timing(median_us=us, p20_us=0.98 * us, p80_us=1.05 * us, runs=20, op=op)


def gpu_row(job: GemmJob, **changes: object) -> Row:
    """A row as an H200 gives it, with changes as `changed` takes them."""
    versions = {"torch": "2.11.0", "triton": "3.6.0"}
    usual = {
        "machine": Machine(name="NVIDIA H200", capability=(9, 0), versions=versions),
        "ours": replace(timing(100.0), clock_mhz=1350.0, power_w=690.0),
        "quantize": timing(50.0),
        "bf16": timing(200.0),
        "torch": timing(90.0),
        "note": "",
    }
    return changed(interpreted_row(job), **(usual | changes))


def record(folder: Path, rows: Sequence[Row]) -> None:
    """Write a recorded file."""
    lines = [json.dumps(to_data(row)) for row in rows]
    (folder / "h200.jsonl").write_text("\n".join(lines) + "\n")


def stand_in_queue(*arguments: str) -> WorkerQueue:
    """A queue whose one worker is the stand-in of tests/kernels/worker."""
    return WorkerQueue(
        [lambda: stand_in_process(*arguments)], limits=Limits(start_s=30, job_s=60, stop_s=10, tick_s=0.02)
    )


def wait_for_ends(queue: WorkerQueue, tickets: Iterable[Ticket]) -> None:
    """Wait until these jobs have ended, and leave it to the page to ask."""
    deadline = time.monotonic() + PATIENCE_S
    while not all(isinstance(queue.state(ticket), Final) for ticket in tickets):
        assert time.monotonic() < deadline, "it never ended"
        time.sleep(0.01)


def run_until(at, holds) -> None:
    """Rerun a page, as its panel does, until `holds(at)`."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds(at):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
        at.run()
