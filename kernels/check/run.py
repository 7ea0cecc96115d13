"""One check from start to end: the facts, the obstacles, then the steps, with the report so far."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from kernels.check.machine import Machine, abilities, fp8, host, lower, setup_lines
from kernels.check.report import CheckJob, Facts, Group, Line, Report, Verdict
from kernels.check.steps import Step, check_steps
from kernels.device import Unsupported, current_device
from kernels.faults import BREAKAGE, first_line, named, triton_errors
from kernels.measure.jobs import StoppedEarly
from kernels.precompile import PATIENCE_S, Precompile

_LEAST_S = 0.05
_US_A_S = 1e6


class Ahead:
    """Processes that compile the kernels of a check ahead of it; none where kernels are interpreted.

    A step waits for its own codes: two processes would compile them side by side, and no sooner. The
    processes begin with the first kernel that the check itself has to compile: where all are compiled, none
    is needed. `early` ones, started already, begin at once. They end before the check measures speed.
    """

    def __init__(self, steps: Sequence[Step], processes: int = 0, early: Precompile | None = None) -> None:
        self._steps, self._processes, self._pool = steps, processes, early
        self._restore: Callable[[], None] = lambda: None
        self._began = 0.0
        self._ends_s: list[float] = []
        self._own_s: list[float] = []

    def __enter__(self) -> "Ahead":
        if self._processes and self._steps:
            from triton import knobs

            self._restore = partial(setattr, knobs.compilation, "listener", knobs.compilation.listener)
            knobs.compilation.listener = self._hear
            if self._pool is not None:
                self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()
        self._stop()

    def wait_for(self, step: Step) -> None:
        if self._pool is not None and self._began:
            wait([self._pool.submit(*code) for code in step.codes(current_device())], PATIENCE_S)

    def end(self, tell: Callable[[int], None]) -> None:
        """Let the processes finish: faster than one compiler alone. tell(how many parts are left)."""
        if self._pool is not None:
            self._pool.wait(tell)
        self._stop()

    def phases(self) -> Iterator[str]:
        if self._ends_s:
            yield (
                f"compiled ahead: {len(self._ends_s)} parts in {self._ends_s[-1]:.1f} s, the first after "
                f"{self._ends_s[0]:.1f} s ({self._processes} processes)"
            )
        if self._own_s:
            yield f"compiled by the check itself: {len(self._own_s)} kernels in {sum(self._own_s):.1f} s"

    def _stop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.stop()

    def _hear(self, *, cache_hit: bool, times: Any, **more: Any) -> None:
        if not cache_hit:
            self._own_s.append(times.total / _US_A_S)
            if not self._began:
                self._begin()

    def _begin(self) -> None:
        self._began, device = time.monotonic(), current_device()
        codes = dict.fromkeys(code for step in self._steps for code in step.codes(device))
        try:
            self._pool = self._pool or Precompile(self._processes, device)
            self._pool.compile_for(device)
            for code in codes:
                self._pool.submit(*code).add_done_callback(self._note_end)
        except OSError:  # no more processes here: the check goes on alone
            self._stop()

    def _note_end(self, _: object) -> None:
        if self._pool is not None:
            self._ends_s.append(time.monotonic() - self._began)


Progress = Callable[[float, str, Report], None]
Plan = Callable[[CheckJob, Facts, str], tuple[Step, ...]]
Helped = Callable[[Sequence[Step]], Ahead]

WAITING = "Not reached yet."
STOPPED = "Stopped before its turn."
_AHEAD = "waiting for what is compiled ahead"
LONGEST_S = 300.0
"""Seconds without news after which a check is given up. Where nothing is compiled yet, a step can take 60."""


@dataclass
class _Course:
    """A check in progress. Lines to come are NOT_RUN; `fault`: how the GPU was lost, if it was."""

    job: CheckJob
    machine: Machine
    progress: Progress
    stopped: Callable[[], bool]
    facts: Facts = field(default_factory=host)
    lines: dict[tuple[Group, str], Line] = field(default_factory=dict)
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    began: float = field(default_factory=time.monotonic)
    fault: str = ""
    spent_s: dict[str, float] = field(default_factory=dict)
    ahead: Ahead | None = None

    def run(self, plan: Plan, so_far: Report | None, helped: Helped) -> None:
        job, machine = self.job, self.machine
        with self.phase(Group.SETUP.value):
            facts = self.facts = machine.facts(job.device)
        if job.device and job.device >= facts.gpus:
            raise ValueError(f"there is no GPU {job.device}: torch can use {facts.gpus} here, counted from 0")
        self.add(*setup_lines(facts))
        if (facts.gpu is None and not facts.interpreted) or facts.hip:
            return
        uuid = ""
        if facts.gpu is not None:
            machine.select(job.device)
            uuid = machine.uuid(job.device)
        steps = plan(job, facts, uuid)
        for step in steps:
            self.settle(step, Verdict.NOT_RUN, WAITING)
        if so_far is not None:
            self.add(*(line for line in so_far.lines if (line.group, line.name) in self.lines))
        try:
            is_compiled = self.has_triton and facts.gpu is not None and not facts.interpreted
            with helped(steps if is_compiled else ()) as self.ahead:
                self._take(steps, self.ahead)
        finally:
            if facts.gpu is not None and not self.fault:
                machine.release()

    def _take(self, steps: tuple[Step, ...], ahead: Ahead) -> None:
        """Run the steps that are still to do. No process compiles where times are taken."""
        for number, step in enumerate(steps):
            if not self.missing(step):
                continue

            def tell(note: str, done: float = number / len(steps)) -> None:
                self.progress(done, note, self.report(finished=False))

            if step.group is Group.SPEED:
                with self.phase(_AHEAD):
                    ahead.end(lambda left, tell=tell: tell(f"compiling: {left} left"))
            tell(f"{step.group.value}: {step.names[0]}")
            if self.stopped():
                raise StoppedEarly
            with self.phase(_AHEAD):
                ahead.wait_for(step)
            with self.phase(step.group.value):
                self.fault = self.fault or self._do(step)
            if self.fault:
                self.settle(step, Verdict.NOT_RUN, f"The GPU no longer answers: {self.fault}")
        self.progress(1.0, "done", self.report(finished=False))

    def _do(self, step: Step) -> str:
        """Run one step; returns a sentence where the GPU is lost after it."""
        obstacle = self._obstacle(step)
        if obstacle is not None:
            self.settle(step, *obstacle)
            return ""
        verdict, detail, may_be_lost = Verdict.FAIL, "It came to no verdict.", False
        try:
            lines = step.run()
            self.add(*((lines,) if isinstance(lines, Line) else lines))
        except Unsupported as error:
            verdict, detail = Verdict.NOT_SUPPORTED, error.reason
        except MemoryError as error:
            verdict, detail = Verdict.NOT_RUN, f"out of memory: {first_line(error)}"
        except (*BREAKAGE, *triton_errors()) as error:
            kind, may_be_lost = type(error).__name__, self.facts.gpu is not None
            detail = named(error)
            if kind == "OutOfMemoryError":
                verdict, detail = Verdict.NOT_RUN, f"out of GPU memory: {first_line(error)}"
        self.settle(step, verdict, _sentence(detail))
        return self.machine.fault() if may_be_lost else ""

    def _obstacle(self, step: Step) -> tuple[Verdict, str] | None:
        facts, memory = self.facts, self.lines.get((Group.SETUP, "memory"))
        if memory is not None and memory.verdict is Verdict.NOT_RUN:
            return Verdict.NOT_RUN, memory.detail
        if facts.gpu is not None and facts.free_bytes < step.needed_bytes:
            free, need = facts.free_bytes / 2**30, step.needed_bytes / 2**30
            return Verdict.NOT_RUN, f"It takes {need:g} GiB of GPU memory, {free:.1f} GiB are free."
        if step.torch_only:
            return None
        if not fp8(facts).available and not facts.interpreted:
            return Verdict.NOT_SUPPORTED, f"No FP8: {lower(fp8(facts).reason)}"
        if not self.has_triton:
            return Verdict.NOT_RUN, "It needs Triton, see above."
        return None

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.spent_s[name] = self.spent_s.get(name, 0.0) + time.monotonic() - began

    def report(self, *, finished: bool) -> Report:
        phases = [f"{name}: {seconds:.1f} s" for name, seconds in self.spent_s.items() if seconds >= _LEAST_S]
        return Report(
            job=self.job,
            facts=self.facts,
            abilities=abilities(self.facts),
            lines=tuple(self.lines.values()),
            started=self.started,
            seconds=round(time.monotonic() - self.began, 3),
            finished=finished,
            phases=(*phases, *(self.ahead.phases() if self.ahead is not None else ())),
        )

    def add(self, *lines: Line) -> None:
        for line in lines:
            self.lines[line.group, line.name] = line

    def missing(self, step: Step) -> list[str]:
        lines = ((name, self.lines.get((step.group, name))) for name in step.names)
        return [name for name, line in lines if line is None or line.detail == WAITING]

    def settle(self, step: Step, verdict: Verdict, detail: str) -> None:
        for name in self.missing(step):
            self.add(Line(name=name, group=step.group, verdict=verdict, detail=detail))

    @property
    def has_triton(self) -> bool:
        return self.lines[Group.SETUP, "Triton"].verdict is Verdict.PASS


def run(
    job: CheckJob,
    machine: Machine | None = None,
    *,
    progress: Progress = lambda fraction, note, partial: None,
    stopped: Callable[[], bool] = lambda: False,
    plan: Plan = check_steps,
    so_far: Report | None = None,
    helped: Helped = Ahead,
) -> Report:
    """The report of one check. A KeyboardInterrupt, or `stopped()`, ends it early, and the report says so.

    `so_far`: the report of a check that gave way, to go on from. `helped`: processes that compile ahead.
    Raises ValueError for a device that is not there.
    """
    course = _Course(job, machine or Machine(), progress, stopped)
    if so_far is not None:
        course.started, course.began = so_far.started, course.began - so_far.seconds
    try:
        course.run(plan, so_far, helped)
    except (KeyboardInterrupt, StoppedEarly):
        return cut_short(course.report(finished=False))
    return course.report(finished=True)


def measure(
    job: CheckJob, *, progress: Progress, stopped: Callable[[], bool], so_far: Report | None = None
) -> Report:
    """Check a GPU in the worker, as `run` does. Raises StoppedEarly once `stopped()` is true."""
    report = run(job, progress=progress, stopped=stopped, so_far=so_far)
    if not report.finished:
        raise StoppedEarly
    return report


def cut_short(report: Report, detail: str = STOPPED) -> Report:
    """The final report of a check that ended early, with this detail in lines that it did not reach."""
    lines = tuple(replace(line, detail=detail) if line.detail == WAITING else line for line in report.lines)
    return replace(report, lines=lines, finished=False)


def given_up(report: Report, after_s: float) -> Report:
    """The final report of a check that stands still: the line at hand has failed."""
    detail = f"The GPU gave no answer for {after_s:g} s: a kernel waits for ever, or the driver does."
    at = next((line for line in report.lines if line.detail == WAITING), None)
    failed = at and replace(at, verdict=Verdict.FAIL, detail=detail)
    lines = [failed if line is at else line for line in report.lines]
    report = cut_short(replace(report, lines=tuple(lines)), "The GPU no longer answers.")
    return replace(report, finished=True)


def _sentence(text: str) -> str:
    ended = text if text.endswith((".", "!", "?", "…")) else f"{text}."
    return f"{ended[:1].upper()}{ended[1:]}"


class Watch(AbstractContextManager["Watch"]):
    """The progress of a check, drawn. `give_up(the last report, longest_s)` after `longest_s` without news.

    A kernel that waits for ever holds the process, deaf to Ctrl-C: a thread makes the call.
    """

    def __init__(
        self,
        draw: Callable[[float, str], None],
        give_up: Callable[[Report, float], None],
        longest_s: float = LONGEST_S,
    ) -> None:
        self._draw, self._give_up, self._longest_s = draw, give_up, longest_s
        self._timer = threading.Timer(longest_s, give_up)

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()

    def hear(self, done: float, note: str, report: Report) -> None:
        self._draw(done, note)
        self._timer.cancel()
        self._timer = threading.Timer(self._longest_s, self._give_up, (report, self._longest_s))
        self._timer.daemon = True
        self._timer.start()
