"""Workers of a few lines of shell, which start in no time. GOOD refuses every job, with a sentence."""

import time
from pathlib import Path

from kernels.worker.jobs import Done
from kernels.worker.queue import WorkerQueue
from tests.kernels.worker.stand_in import row

READY = """echo '{"say": "ready"}'"""
TAKE = r"""read -r line; run=$(echo "$line" | sed 's/.*"run": \([0-9]*\).*/\1/')"""
BEGIN = """echo "{\\"say\\": \\"began\\", \\"run\\": $run}" """
REFUSE = """echo "{\\"say\\": \\"refused\\", \\"run\\": $run, \\"reason\\": \\"it came so far\\"}" """
GOOD = f'{READY}; while {TAKE} && [ -n "$run" ]; do {BEGIN}; {REFUSE}; done'
HANG = "sleep 600"


def until(file: Path) -> str:
    """Wait for a file."""
    return f"until [ -e '{file}' ]; do sleep 0.02; done"


def is_alive(pid: int) -> bool:
    """True for a process that has not ended; one that nobody has waited for yet has ended."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_gone(pid: int, within_s: float = 30.0) -> bool:
    """True once it has ended, if that is soon."""
    deadline = time.monotonic() + within_s
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


def answer(queue: WorkerQueue) -> None:
    """A worker does the next job."""
    run = queue.take(not_before=0.0)
    queue.report(run, 0.0, "starting")
    queue.finish(run, Done(row(run.job)))
