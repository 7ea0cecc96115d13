"""A run from its first step to its last: chunks of steps, looks at what is held out, statistics, failure.

A run can be left after any chunk and gone on with: its Course and the trainer's state say all of it.
"""

import math
import statistics as of_lists
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kernels.bench.commit import commit
from kernels.bench.machine import Machine
from kernels.bench.measure import StoppedEarly, halt_if
from kernels.bench.row import Provenance
from kernels.train.counted import gemms, quantized_gemms
from kernels.train.failure import failed_tensor
from kernels.train.row import Number, Statistics, TrainRow
from kernels.train.statistics import statistics
from kernels.train.step import CHUNK, Trainer

HELD_OUT_LOOKS = 10
STATISTICS_AT = (0.1, 1.0)
"""Shares of the run after which statistics are taken."""
MOST_LOSSES = 200
"""Losses that a row keeps; each is a mean over as many steps as that takes."""
_PILOT_STEPS, _PILOT_S = 20, 1.0
"""The most steps of a pilot, and the seconds that they may take."""
_DIGITS = 6

Progress = Callable[[float, str, TrainRow | None], None]


@dataclass
class Course:
    """The measurements of a run so far. `quantized` is the count of quantized GEMMs in a step."""

    steps: int
    done: int = 0
    losses: list[float] = field(default_factory=list)
    held_out_at: list[int] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)
    held_out_bf16: float | None = None
    statistics: list[Statistics] = field(default_factory=list)
    step_ms: list[float] = field(default_factory=list)
    quantized: int = 0
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class Looks:
    """The steps after which a run is looked at. `timed`: nothing else uses the device meanwhile.

    `others`: steps at which a chunk ends, too, so that `keep` is called there.
    """

    held_out: frozenset[int]
    statistics: frozenset[int]
    others: frozenset[int] = frozenset()
    timed: bool = True

    @classmethod
    def over(cls, steps: int, *, with_statistics: bool = True, timed: bool = True) -> "Looks":
        """Looks in a run of so many steps."""
        held = {max(1, round(steps * look / HELD_OUT_LOOKS)) for look in range(1, HELD_OUT_LOOKS + 1)}
        at = {max(1, round(steps * share)) for share in STATISTICS_AT} if with_statistics else set()
        return cls(held_out=frozenset(held), statistics=frozenset(at), timed=timed)

    def is_due(self, step: int, steps: int) -> bool:
        """True after a step at which something is looked at."""
        return step in self.held_out or step in self.statistics or step == steps

    def next_after(self, step: int, steps: int) -> int:
        """The next step at which the run stops to be looked at."""
        return min((at for at in self.held_out | self.statistics | self.others if at > step), default=steps)


@dataclass(frozen=True)
class Pace:
    """Seconds of a step, and of all looks at what is held out in a run, once everything is compiled."""

    step_s: float
    looks_s: float

    def steps(self, seconds: float) -> int:
        """The number of steps that fit into some seconds; as few as there are looks, at least."""
        return steps_within([self], seconds)


def steps_within(paces: Sequence[Pace], seconds: float) -> int:
    """The steps of each of several runs, equally many, that fit into some seconds together."""
    left = seconds - sum(pace.looks_s for pace in paces)
    return max(HELD_OUT_LOOKS, int(left / sum(pace.step_s for pace in paces)))


def pilot(trainer: Trainer) -> Pace:
    """The pace of a run, as a few steps and looks take here. No state changes."""
    before = trainer.state()
    trainer.get_ready()
    first_s = _seconds(lambda: trainer.run(0, 1, 1))
    count = max(1, min(_PILOT_STEPS, int(_PILOT_S / first_s)))
    step_s = _seconds(lambda: trainer.run(0, count, count)) / count
    trainer.held_out_loss()
    look_s = _seconds(trainer.held_out_loss)
    trainer.restore(before)
    # One look more: at the end what is held out is computed in bf16, too.
    return Pace(step_s, (HELD_OUT_LOOKS + 1) * look_s)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def run(
    trainer: Trainer,
    course: Course,
    looks: Looks,
    machine: Machine,
    date: str,
    *,
    progress: Progress,
    stopped: Callable[[], bool],
    keep: Callable[[], None] = lambda: None,
) -> TrainRow:
    """Take the steps that a course lacks, and return its row: a part of it where `stopped()` became true.

    `keep` is called after each chunk of steps, with the trainer in the state after it.
    """

    def tell() -> None:
        row = row_of(trainer, course, machine, date)
        progress(course.done / course.steps, _note(course), row)

    try:
        if not course.quantized:
            progress(0.0, "a first pass through the layers", None)
            course.quantized = quantized_gemms(trainer, stopped)
        halt_if(stopped)
    except StoppedEarly:
        return row_of(trainer, course, machine, date)
    progress(course.done / course.steps, "making a step ready", None)
    trainer.get_ready()
    while course.done < course.steps and not course.failure and not stopped():
        until = looks.next_after(course.done, course.steps)
        _chunk(trainer, course, min(CHUNK, until - course.done), looks.timed)
        if not course.failure and looks.is_due(course.done, course.steps):
            tell()  # A look takes long at first: its code is compiled. The curve does not wait for it.
            _look(trainer, course, looks)
        keep()
        tell()
    return row_of(trainer, course, machine, date)


def _chunk(trainer: Trainer, course: Course, count: int, timed: bool) -> None:
    before = trainer.state()
    began = time.perf_counter()
    losses, norms = trainer.run(course.done, count, course.steps)
    if timed:
        course.step_ms.append(1e3 * (time.perf_counter() - began) / count)
    finite = [math.isfinite(sum(row) + loss) for loss, row in zip(losses, norms, strict=True)]
    good = finite.index(False) if False in finite else count
    course.losses += losses[:good]
    course.done += good
    if good < count:
        trainer.restore(before)
        if good:
            trainer.run(course.done - good, good, course.steps)
        course.failure = failed_tensor(trainer, course.done, losses[good], norms[good])


def _look(trainer: Trainer, course: Course, looks: Looks) -> None:
    done, last = course.done, course.done == course.steps
    if done in looks.held_out or last:
        course.held_out_at.append(done)
        course.held_out.append(trainer.held_out_loss())
    if last:
        course.held_out_bf16 = trainer.held_out_loss(plain=True)
    if done in looks.statistics and trainer.model.quantized():
        course.statistics.append(statistics(trainer, done))


def _note(course: Course) -> str:
    if course.failure:
        return course.failure
    held = f", held out {course.held_out[-1]:.4f}" if course.held_out else ""
    return f"step {course.done} of {course.steps}, loss {course.losses[-1]:.4f}{held}"


def row_of(trainer: Trainer, course: Course, machine: Machine, date: str) -> TrainRow:
    """A course as a row."""
    every = max(1, math.ceil(course.steps / MOST_LOSSES))
    means = [
        of_lists.fmean(course.losses[start : start + every]) for start in range(0, len(course.losses), every)
    ]
    provenance = Provenance.GPU if machine.capability else Provenance.REFERENCE
    return TrainRow(
        job=trainer.job,
        provenance=provenance,
        machine=machine,
        date=date,
        text=trainer.text.used,
        steps=course.steps,
        done=course.done,
        loss_every=every,
        losses=tuple(map(_number, means)),
        held_out_at=tuple(course.held_out_at),
        held_out=tuple(map(_number, course.held_out)),
        held_out_bf16=None if course.held_out_bf16 is None else _number(course.held_out_bf16),
        step_ms=round(of_lists.median(course.step_ms), 4) if course.step_ms else None,
        quantized_gemms=course.quantized,
        gemms=gemms(trainer),
        statistics=tuple(course.statistics),
        failure=course.failure,
        commit=commit(),
    )


def _number(x: float) -> Number:
    return float(f"{x:.{_DIGITS}g}") if math.isfinite(x) else None
