"""The worker's side: load torch and a kernel, then read a job, run it, report on it, until stdin closes.

Jobs run on the GPU if there is one, else in Triton's interpreter. A job's output goes to stderr: stdout
carries messages only. The process ends when its stdin closes, even in the middle of a job: it never outlives
the app.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from queue import Empty, SimpleQueue
from subprocess import SubprocessError
from typing import Any, TextIO

from kernels.check import run as check
from kernels.check.report import CheckJob
from kernels.device import Device, DeviceKind, Unsupported, choose_backend, current_device
from kernels.faults import BREAKAGE, BROKEN_IMPORTS, named, triton_errors
from kernels.measure.jobs import GemmJob, StoppedEarly
from kernels.worker.jobs import Job, Result, kind_of
from kernels.worker.messages import (
    Began,
    Do,
    Finished,
    Halted,
    Message,
    Progress,
    Ready,
    Refused,
    Stop,
    WarmUp,
    decode,
    encode,
)

PROGRESS_EVERY_S = 0.05
IDLE_S = 3.0
"""Seconds without a job after which a worker warms up: that takes 20 s, and it stops for a job only at some
points.
"""
_NOT_BUILT = (AttributeError, ImportError, NameError, OSError, SubprocessError, SyntaxError)
"""Errors of a kernel that cannot be imported or compiled, beside Triton's own. The GPU is well then, and a
fresh worker would fail alike.
"""

Say = Callable[[Message], None]


@dataclass(frozen=True)
class Engine:
    """Runs the jobs: `measure(job, progress=..., stopped=...)` returns the result.

    - measure: gets the partial result of a job that gave way as `so_far`. It raises ValueError or
      MemoryError for an impossible job, StoppedEarly for a stopped one. Anything else ends the worker.
    - expect: runs in a thread beside a job, for those that will probably come next.
    - warm_up: takes `stopped`; True once it has done all.
    """

    measure: Callable[..., Result]
    gpu: Device | None = None
    expect: Callable[[tuple[Job, ...]], None] = lambda coming: None
    warm_up: Callable[[Callable[[], bool]], bool] = lambda stopped: True


def main(load: Callable[[], Engine], idle_s: float = IDLE_S) -> None:
    stream = claim_stdout()
    serve(load, sys.stdin, lambda message: print(encode(message), end="", file=stream, flush=True), idle_s)


def claim_stdout() -> TextIO:
    """A stream to the old stdout; stdout itself becomes stderr, for C code and child processes too."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return stream


def serve(load: Callable[[], Engine], lines: Iterable[str], say: Say, idle_s: float = IDLE_S) -> None:
    inbox: SimpleQueue[Do | WarmUp] = SimpleQueue()
    stops: set[int] = set()
    threading.Thread(target=_listen, args=(lines, inbox, stops), daemon=True).start()
    engine = load()
    say(Ready(engine.gpu))
    is_cold = False
    while True:
        try:
            message = inbox.get(timeout=idle_s if is_cold else None)
        except Empty:
            is_cold = not engine.warm_up(lambda: not inbox.empty())
            continue
        match message:
            case Do() as do:
                say(Began(do.run))
                threading.Thread(target=engine.expect, args=(do.coming,), daemon=True).start()
                say(_end(engine, do, stops, say))
            case WarmUp():
                is_cold = True


def _listen(lines: Iterable[str], inbox: SimpleQueue[Do | WarmUp], stops: set[int]) -> None:
    for line in lines:
        match decode(line):
            case Stop(run):
                stops.add(run)
            case Do() | WarmUp() as message:
                inbox.put(message)
    os._exit(0)


def _end(engine: Engine, do: Do, stops: set[int], say: Say) -> Message:
    """Run one job and return the message that ends it.

    Progress is said at most every PROGRESS_EVERY_S, except with a partial result or before any part is done.
    """
    next_s = 0.0

    def progress(fraction: float, note: str, partial: Result | None = None) -> None:
        nonlocal next_s
        now = time.monotonic()
        if now >= next_s or partial is not None or fraction <= 0:
            next_s = now + PROGRESS_EVERY_S
            say(Progress(do.run, min(1.0, max(0.0, float(fraction))), note, partial))

    try:
        options: dict[str, Any] = {} if do.so_far is None else {"so_far": do.so_far}
        if do.simple_first:
            options["simple_first"] = True
        row = engine.measure(do.job, progress=progress, stopped=lambda: do.run in stops, **options)
        return Finished(do.run, row)
    except StoppedEarly:
        return Halted(do.run)
    except ValueError as error:
        return Refused(do.run, str(error))
    except MemoryError as error:
        what = str(error) or f"{do.job.size} does not fit into this machine's memory"
        return Refused(do.run, f"{what.rstrip('.')}. {do.job.size_advice} and run it again.")


def load() -> Engine:
    """Import torch, Triton and a kernel. If one does not load, every job but a check is refused."""
    try:
        choose_backend()
        import_module("kernels.quantize.kernel")
        import_module("kernels.measure.machine")
        device = current_device()
    except Unsupported as error:
        return _without(error.reason)
    except BROKEN_IMPORTS as error:
        return _without(
            f"torch or Triton cannot be imported ({named(error)}), and a fresh worker does not change "
            "that. Install both anew, pip install -r requirements.txt, and start the app again. A sanity "
            "check says more."
        )

    def measure(job: Job, **options: object) -> Result:
        try:
            return import_module(kind_of(job).measured_by).measure(job, **options)
        except (*_NOT_BUILT, *triton_errors()) as error:
            raise Unsupported(
                f"A kernel cannot be imported or compiled here ({named(error)}), and a fresh worker does "
                "not change that. Run a sanity check: it says what is broken and what to install."
            ) from error

    def expect(coming: tuple[Job, ...]) -> None:
        for job in coming:
            if isinstance(job, GemmJob):
                import_module("kernels.measure.operands").Operands.expect(job, device)

    def warm_up(stopped: Callable[[], bool]) -> bool:
        try:
            import_module("kernels.train.run").warm_up(stopped)
        except StoppedEarly:
            return False
        except (MemoryError, *BREAKAGE, *triton_errors()):
            pass  # A job raises it again.
        return True

    return Engine(measure, device if device.kind is DeviceKind.GPU else None, expect, warm_up)


def _without(sentence: str) -> Engine:
    def measure(job: Job, **options: Any) -> Result:
        if not isinstance(job, CheckJob):
            raise Unsupported(sentence)
        return check.measure(job, **options)

    return Engine(measure)
