"""A worker whose jobs misbehave on order: the job's seed says how. The tests run it as a program."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from pathlib import Path

from kernels.check.report import CheckJob, Report
from kernels.layer.timeline.row import Timeline, TimelineJob, Way
from kernels.measure.jobs import GemmJob, StoppedEarly
from kernels.measure.random_shapes import AnyShapeDraw, AnyShapeJob
from kernels.measure.rows import Errors, Machine, Peer, Row, Timing, Worst
from kernels.probe.sweep import ROWS, ProbeJob, ProbeRow
from kernels.worker.child import Engine, main
from kernels.worker.jobs import Job, Result
from kernels.worker.worker import WorkerProcess
from tests.kernels.check.reports import REPORT
from tests.kernels.layer.timeline.steps import layer_row
from tests.kernels.measure.made_up import DRAWN, changed
from tests.kernels.worker.gates import Gate, folder_in, is_open

STAND_IN = Path(__file__).resolve()
TOP = STAND_IN.parents[3]


class Act(IntEnum):
    """What a job does; the job's seed."""

    FINE = 0
    KILLED = 1
    SEGFAULT = 2
    HANG = 3
    FLOOD = 4
    GARBAGE = 5
    OUT_OF_MEMORY = 6
    RAISE = 8
    SLOW = 9
    POLL_STOPPED = 11
    NOT_A_NUMBER = 12
    TWO_ANSWERS = 13
    HELD = 14


SLOW_SECONDS = 0.6
HELD_AT = 0.5
LINES_BEFORE_HELD = 2
_warmed: list[bool] = []
RESUMED = "taken up after its first answer"


def stand_in_process(*arguments: str) -> WorkerProcess:
    """A worker that runs this file."""
    return WorkerProcess([sys.executable, str(STAND_IN), *arguments], env={"PYTHONPATH": str(TOP)})


def job(act: Act, m: int = 64) -> GemmJob:
    """A job that does `act`; jobs of different m are different jobs."""
    return GemmJob(recipe="mxfp8", matmul="fprop", m=m, n=64, k=64, seed=int(act))


def row(of: GemmJob) -> Row:
    """A result, with the process that made it as its machine's version."""
    times = {
        Peer.OURS: Timing(median_us=20.0, p20_us=19.0, p80_us=22.0, runs=of.runs),
        Peer.QUANTIZE: Timing(median_us=8.0, p20_us=7.0, p80_us=9.0, runs=of.runs),
    }
    return Row(
        job=of,
        machine=Machine(name="stand-in", capability=None, versions={"pid": str(os.getpid())}),
        date="2026-11-20",
        times=times,
        note="the stand-in has no peers",
        kernel="stand_in_kernel",
        bytes=20480,
        errors=Errors(
            rel_err=float("nan") if of.seed == Act.NOT_A_NUMBER else 0.0375,
            quantization_rel_err=0.0374,
            kernel_rel_err=0.0017,
            error_map=((0.1, 0.2), (0.05, 0.15)),
            worst=(Worst(m=3, n=5, truth=1.25, result=1.5),),
            rows=of.m,
        ),
    )


def swept(of: ProbeJob) -> ProbeRow:
    """A sweep whose device is the model, but for one bit of the longest K where the seed is odd."""
    wrong = of.seed % 2
    return ProbeRow(
        job=of,
        machine=Machine(name="stand-in", capability=(9, 0), versions={"pid": str(os.getpid())}),
        date="2026-11-20",
        outputs=len(of.lengths) * ROWS[0] * ROWS[1],
        mismatches=wrong,
        first_difference=f"K = {of.lengths[-1]:,}, [0, 0]: model 1.0, device 2.0" if wrong else "",
    )


def held(gate: Gate, stopped: Callable[[], bool]) -> None:
    """Wait until a gate is open. Raises StoppedEarly where the job is to stop before that."""
    folder = folder_in(sys.argv)
    while not is_open(folder, gate):
        if stopped():
            raise StoppedEarly
        time.sleep(0.01)


def checked(of: CheckJob, progress, stopped, so_far: Report | None) -> Report:
    """A report that comes line by line."""
    report = replace(REPORT, job=of)
    for count in range(len(so_far.lines) if so_far else 0, len(report.lines)):
        partial = replace(report, lines=report.lines[:count], finished=False)
        progress(count / len(report.lines), report.lines[count].name, partial)
        if count == LINES_BEFORE_HELD:
            held(Gate.CHECK, stopped)
        if stopped():
            raise StoppedEarly
        time.sleep(SLOW_SECONDS / len(report.lines))
    return report


def drawn(of: AnyShapeJob, progress, stopped, so_far: AnyShapeDraw | None) -> AnyShapeDraw:
    """A draw in which torch is half as fast; all but the first of its GEMMs come when a gate is open."""
    draw = so_far or AnyShapeDraw(job=of, rows=())
    for number, gemm in enumerate(of.gemms):
        if number < draw.done:
            continue
        progress(number / of.count, gemm.size, draw if draw.done else None)
        if draw.done:
            held(Gate.JOB, stopped)
        times = {Peer.OURS: Timing(median_us=50.0, runs=5), Peer.BF16: Timing(median_us=100.0, runs=5)}
        more = replace(DRAWN, job=gemm, times=times)
        draw = replace(draw, rows=(*draw.rows, more))
    return draw


def timed(of: TimelineJob, progress, stopped, so_far: Timeline | None) -> Timeline:
    """A timeline whose ways come one by one; all but the first come when a gate is open."""
    timeline = so_far or Timeline(job=of, rows=())
    for number, way in enumerate(Way):
        if number < len(timeline.rows):
            continue
        progress(number / len(Way), way.title, timeline if timeline.rows else None)
        if timeline.rows:
            held(Gate.JOB, stopped)
        timeline = replace(timeline, rows=(*timeline.rows, layer_row(way, of)))
    return timeline


def measure(of: Job, *, progress, stopped, so_far: Result | None = None) -> Result:
    progress(0.25, "quantizing")
    if isinstance(of, ProbeJob):
        return swept(of)
    if isinstance(of, CheckJob):
        return checked(of, progress, stopped, so_far)
    if isinstance(of, AnyShapeJob):
        return drawn(of, progress, stopped, so_far)
    if isinstance(of, TimelineJob):
        return timed(of, progress, stopped, so_far)
    match Act(of.seed):
        case Act.KILLED:
            os.kill(os.getpid(), signal.SIGKILL)
        case Act.SEGFAULT:
            ctypes.string_at(0)
        case Act.HANG:
            time.sleep(600)
        case Act.FLOOD:
            os.write(2, b"x" * 4_000_000)
        case Act.GARBAGE:
            for descriptor in range(3, 20):
                try:
                    os.write(descriptor, b"\xff not a message\n")
                except OSError:
                    continue
            time.sleep(600)
        case Act.OUT_OF_MEMORY:
            raise MemoryError
        case Act.RAISE:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        case Act.SLOW:
            for step in range(30):
                time.sleep(SLOW_SECONDS / 30)
                progress(step / 30, "multiplying")
                if stopped():
                    raise StoppedEarly
        case Act.TWO_ANSWERS:
            if so_far is None:
                progress(0.25, "measuring with care", changed(row(of), is_first=True, kernel_rel_err=0.5))
            held(Gate.JOB, stopped)
            return replace(row(of), kernel=RESUMED if so_far else row(of).kernel)
        case Act.HELD:
            held(Gate.JOB, lambda: progress(HELD_AT, "multiplying") or stopped())
        case Act.POLL_STOPPED:
            while not stopped():
                time.sleep(0.01)
            raise StoppedEarly
    return row(of)


def warm_up(stopped: Callable[[], bool]) -> bool:
    """At first done where somebody asks, then at once; told."""
    if not _warmed:
        _warmed.append(True)
        sys.stderr.write("warming up\n")
        sys.stderr.flush()
        while not stopped():
            time.sleep(0.01)
        return False
    sys.stderr.write("warm at last\n")
    return True


def engine() -> Engine:
    return Engine(measure=measure, warm_up=warm_up)


if __name__ == "__main__":
    if "die" in sys.argv:
        sys.exit("no such library")
    if "sleep" in sys.argv:
        time.sleep(600)
    held(Gate.LOAD, lambda: False)
    main(engine, idle_s=0.1)
