"""One check from start to end: the facts, the obstacles, then the steps, with the report so far."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kernels.check.compiling.ahead import Ahead
from kernels.check.facts import Facts
from kernels.check.job import CheckJob
from kernels.check.probe_machine import Machine, host
from kernels.check.report import FP8, Group, Line, Report, Verdict
from kernels.check.setup import abilities, setup_lines
from kernels.check.steps import Step, check_steps
from kernels.device import Unsupported
from kernels.faults import BREAKAGE, first_line, triton_errors

Progress = Callable[[float, str, Report], None]
Plan = Callable[[CheckJob, Facts, str], tuple[Step, ...]]
Helped = Callable[[Sequence[Step]], Ahead]
"""Gives those who compile some steps ahead."""

WAITING = "Not reached yet."
STOPPED = "Stopped before its turn."


class Stop(Exception):
    """Raised when the check was asked to stop."""


@dataclass
class _Course:
    """A check in progress. `lines` are in the order of the report; those to come are NOT_RUN.

    `fault` says how the GPU was lost, if it was.
    """

    job: CheckJob
    facts: Facts
    lines: dict[tuple[Group, str], Line]
    started: str
    began: float
    clock: Callable[[], float]
    fault: str = ""

    def report(self, *, finished: bool) -> Report:
        return Report(
            job=self.job,
            facts=self.facts,
            abilities=abilities(self.facts),
            lines=tuple(self.lines.values()),
            started=self.started,
            seconds=round(self.clock() - self.began, 3),
            finished=finished,
        )

    def add(self, *lines: Line) -> None:
        for line in lines:
            self.lines[line.group, line.name] = line

    def has(self, step: Step) -> bool:
        """True if each line of a step has its verdict."""
        return all(self.lines[step.group, name].detail != WAITING for name in step.names)

    def settle(self, step: Step, verdict: Verdict, detail: str) -> None:
        """Give this verdict to the lines of a step that are still missing."""
        for name in step.names:
            if self.lines[step.group, name].detail == WAITING:
                self.add(Line(name=name, group=step.group, verdict=verdict, detail=detail))


def run(
    job: CheckJob,
    machine: Machine | None = None,
    *,
    progress: Progress = lambda fraction, note, partial: None,
    stopped: Callable[[], bool] = lambda: False,
    plan: Plan = check_steps,
    clock: Callable[[], float] = time.monotonic,
    so_far: Report | None = None,
    helped: Helped = Ahead,
) -> Report:
    """The report of one check. A KeyboardInterrupt, or `stopped()`, ends it early: the report then says so.
    A check that gave way goes on where the report `so_far` ends. `helped` may bring helpers that compile.

    Raises ValueError for a device that is not there.
    """
    machine = machine or Machine()
    began = clock()
    course = _Course(job, host(), {}, _now(), began, clock)
    if so_far is not None:
        course.started, course.began = so_far.started, began - so_far.seconds
    try:
        _run(course, machine, plan, progress, stopped, so_far, helped)
    except (KeyboardInterrupt, Stop):
        return cut_short(course.report(finished=False))
    return course.report(finished=True)


def cut_short(report: Report) -> Report:
    """A report so far, as the final one: lines that still waited say that the check was stopped."""
    lines = tuple(replace(line, detail=STOPPED) if line.detail == WAITING else line for line in report.lines)
    return replace(report, lines=lines, finished=False)


def given_up(report: Report, after_s: float) -> Report:
    """The report so far of a check that stands still, as the final one: the line at hand has failed."""
    lines, fails = [], True
    for line in report.lines:
        if line.detail == WAITING and fails:
            told = f"The GPU gave no answer for {after_s:g} s: a kernel waits for ever, or the driver does."
            line, fails = replace(line, verdict=Verdict.FAIL, detail=told), False
        elif line.detail == WAITING:
            line = replace(line, detail="The GPU no longer answers.")
        lines.append(line)
    return replace(report, lines=tuple(lines), finished=True)


def _run(
    course: _Course,
    machine: Machine,
    plan: Plan,
    progress: Progress,
    stopped: Callable[[], bool],
    so_far: Report | None,
    helped: Helped,
) -> None:
    job = course.job
    facts = course.facts = machine.facts(job.device)
    if job.device and job.device >= facts.gpus:
        raise ValueError(f"there is no GPU {job.device}: torch can use {facts.gpus} here, counted from 0")
    course.add(*setup_lines(facts))
    if (facts.gpu is None and not facts.interpreted) or facts.hip:
        return
    uuid = ""
    if facts.gpu is not None:
        machine.select(job.device)
        uuid = machine.uuid(job.device)
    steps = plan(job, facts, uuid)
    for step in steps:
        course.add(
            *(
                Line(name=name, group=step.group, verdict=Verdict.NOT_RUN, detail=WAITING)
                for name in step.names
            )
        )
    if so_far is not None:
        course.add(*(line for line in so_far.lines if (line.group, line.name) in course.lines))
    try:
        with helped(steps if _has_triton(course) else ()) as ahead:
            _take(course, steps, machine, progress, stopped, ahead)
    finally:
        if facts.gpu is not None and not course.fault:
            machine.release()


def _take(
    course: _Course,
    steps: tuple[Step, ...],
    machine: Machine,
    progress: Progress,
    stopped: Callable[[], bool],
    ahead: Ahead,
) -> None:
    """The steps in turn that are still to do, with the report so far before each.

    No helper is left where times are taken.
    """
    for number, step in enumerate(steps):
        if course.has(step):
            continue

        def tell(note: str, done: float = number / len(steps)) -> None:
            progress(done, note, course.report(finished=False))

        if step.group is Group.SPEED:
            ahead.end(lambda left, tell=tell: tell(f"compiling: {left} left"))
        tell(f"{step.group.value}: {step.names[0]}")
        if stopped():
            raise Stop
        course.fault = course.fault or _do(course, step, machine)
        if course.fault:
            course.settle(step, Verdict.NOT_RUN, f"The GPU no longer answers: {course.fault}")
    progress(1.0, "done", course.report(finished=False))


def _do(course: _Course, step: Step, machine: Machine) -> str:
    """Run one step. Returns a sentence where the GPU is lost after it."""
    reason = _blocked(step, course)
    if reason is not None:
        course.settle(step, *reason)
        return ""
    try:
        for line in step.run():
            course.add(line)
        course.settle(step, Verdict.FAIL, "It came to no verdict.")
        return ""
    except Unsupported as error:
        course.settle(step, Verdict.NOT_SUPPORTED, _sentence(error.reason))
        return ""
    except MemoryError as error:
        course.settle(step, Verdict.NOT_RUN, _sentence(f"out of memory: {first_line(error)}"))
        return ""
    except (*BREAKAGE, *triton_errors()) as error:
        told = f"{type(error).__name__}: {first_line(error)}"
        full = type(error).__name__ == "OutOfMemoryError"
        verdict = Verdict.NOT_RUN if full else Verdict.FAIL
        course.settle(step, verdict, _sentence(f"out of GPU memory: {first_line(error)}" if full else told))
        return machine.fault() if course.facts.gpu is not None else ""


def _blocked(step: Step, course: _Course) -> tuple[Verdict, str] | None:
    """The reason why a step cannot run on this machine; None where it can."""
    facts = course.facts
    memory = course.lines.get((Group.SETUP, "memory"))
    if memory is not None and memory.verdict is Verdict.NOT_RUN:
        return Verdict.NOT_RUN, memory.detail
    if facts.gpu is not None and facts.free_bytes < step.needed_bytes:
        free, need = facts.free_bytes / 2**30, step.needed_bytes / 2**30
        return Verdict.NOT_RUN, f"It takes {need:g} GiB of GPU memory, {free:.1f} GiB are free."
    if step.torch_only:
        return None
    fp8 = next(ability for ability in abilities(facts) if ability.name == FP8)
    if not fp8.available and not facts.interpreted:
        return Verdict.NOT_SUPPORTED, f"No FP8: {fp8.reason[0].lower()}{fp8.reason[1:]}"
    if not _has_triton(course):
        return Verdict.NOT_RUN, "It needs Triton, see above."
    return None


def _has_triton(course: _Course) -> bool:
    return course.lines[Group.SETUP, "Triton"].verdict is Verdict.PASS


def _sentence(text: str) -> str:
    ended = text if text.endswith((".", "!", "?", "…")) else f"{text}."
    return f"{ended[:1].upper()}{ended[1:]}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def measure(
    job: CheckJob, *, progress: Progress, stopped: Callable[[], bool], so_far: Report | None = None
) -> Report:
    """Check a GPU in the worker, as `run` does, with the report so far in every progress.

    Raises StoppedEarly once `stopped()` is true, ValueError for a device that is not there.
    """
    from kernels.bench.measure import StoppedEarly

    report = run(job, progress=progress, stopped=stopped, so_far=so_far)
    if not report.finished:
        raise StoppedEarly
    return report
