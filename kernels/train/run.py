"""A run from its first step to its last: chunks of steps, held-out losses, statistics, failure.

`session` has the runs of a command, `measure` is a worker's job. A run can pause after any chunk: its Course
and the trainer's state are all of it.
"""

import math
import statistics as of_lists
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

from fp8core.linear import MATMULS
from kernels.layer.calls import Calls, Parts, observed
from kernels.layer.plan import Product
from kernels.measure.jobs import StoppedEarly
from kernels.measure.machine import commit, halt_if, memory, today
from kernels.measure.rows import Provenance
from kernels.progress import Bar
from kernels.train.job import BF16, TrainJob
from kernels.train.model import settle_compiler
from kernels.train.row import Statistics, TrainRow, rounded
from kernels.train.statistics import save_tensors, statistics
from kernels.train.step import CHUNK, Place, Trainer, this_place
from kernels.train.text import Text, installed_text

HELD_OUT_LOOKS = 10
STATISTICS_AT, TENSORS_AT = (0.1, 1.0), (0.02, 0.5, 1.0)
"""Shares of the run. Tensors are saved while the rate rises, in the middle, and at the end."""
MOST_LOSSES = 200
_PILOT_STEPS, _PILOT_S = 20, 1.0
_DIGITS = 6

Progress = Callable[[float, str, TrainRow | None], None]


@dataclass
class Course:
    """Measurements of a run so far."""

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


Look = Callable[[Trainer, Course], None]
"""A measurement between two steps."""
Looks = Mapping[int, Sequence[Look]]
"""The looks after each number of steps."""


def add_held_out(trainer: Trainer, course: Course) -> None:
    course.held_out_at.append(course.done)
    course.held_out.append(trainer.held_out_loss())
    if course.done == course.steps:
        course.held_out_bf16 = trainer.held_out_loss(plain=True)


def add_statistics(trainer: Trainer, course: Course) -> None:
    if trainer.model.quantized():
        course.statistics.append(statistics(trainer, course.done))


def looks_over(steps: int, *, with_statistics: bool = True, tensors: Path | None = None) -> Looks:
    """The looks of a run; `tensors`: the folder for crops."""

    def save(trainer: Trainer, course: Course) -> None:
        save_tensors(trainer, course.done, course.steps, tensors)

    ends = [(add_held_out, steps * look / HELD_OUT_LOOKS) for look in range(1, HELD_OUT_LOOKS + 1)]
    ends += [(add_statistics, steps * share) for share in STATISTICS_AT if with_statistics]
    ends += [(save, steps * share) for share in TENSORS_AT if tensors]
    looks: dict[int, list[Look]] = {}
    for look, step in dict.fromkeys((look, max(1, round(end))) for look, end in ends):
        looks.setdefault(step, []).append(look)
    return looks


Pace = tuple[float, float]
"""Seconds of a step, and of all held-out losses of a run."""


def steps_within(paces: Iterable[Pace], seconds: float) -> int:
    """Steps of each of several runs that fit into some seconds together; at least HELD_OUT_LOOKS."""
    step_s, looks_s = map(sum, zip(*paces, strict=True))
    return max(HELD_OUT_LOOKS, int((seconds - looks_s) / step_s))


def pilot(trainer: Trainer) -> Pace:
    """Measure the pace of a run. No state changes."""
    before = trainer.state()
    trainer.get_ready()
    first_s = seconds_of(lambda: trainer.run(0, 1, 1))
    count = max(1, min(_PILOT_STEPS, int(_PILOT_S / first_s)))
    step_s = seconds_of(lambda: trainer.run(0, count, count)) / count
    trainer.held_out_loss()
    look_s = seconds_of(trainer.held_out_loss)
    trainer.restore(before)
    # One more: the last held-out loss is also computed in bf16.
    return step_s, (HELD_OUT_LOOKS + 1) * look_s


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def session(
    jobs: Sequence[TrainJob], place: Place, text: Text, seconds: float, tensors: Path | None
) -> Iterator[TrainRow]:
    """Rows of all jobs; a pilot finds their steps. `tensors`: the folder for crops of the first one's."""
    if not all(job.steps for job in jobs):
        jobs = _with_steps(jobs, place, text, seconds)
    trainer: Trainer | None = None
    kinds: set[TrainJob] = set()
    for number, job in enumerate(jobs):
        if trainer is None or replace(trainer.job, seed=job.seed) != job:
            trainer = None  # its memory goes before the next one's is asked for
            trainer = place.trainer(job, text)
        else:
            trainer.job = job
            trainer.restart(job.seed)
        kind = replace(job, seed=0)
        looks = looks_over(job.steps, with_statistics=kind not in kinds, tensors=None if number else tensors)
        kinds.add(kind)
        with Bar(f"{number + 1}/{len(jobs)} {job.title}") as bar:
            row = run(
                trainer,
                Course(steps=job.steps),
                looks,
                progress=lambda fraction, note, row, bar=bar: bar.draw(fraction, note),
                stopped=lambda: False,
            )
        yield row


def _with_steps(jobs: Sequence[TrainJob], place: Place, text: Text, seconds: float) -> list[TrainJob]:
    """The jobs with their steps, by a pilot."""
    paces = dict.fromkeys(replace(job, seed=0) for job in jobs)
    with Bar("pilot") as bar:
        for number, kind in enumerate(paces):
            bar.draw(number / len(paces), kind.recipe_title)
            paces[kind] = pilot(place.trainer(kind, text))
    steps = steps_within((paces[replace(job, seed=0)] for job in jobs), seconds)
    return [job if job.steps else replace(job, steps=steps) for job in jobs]


def run(
    trainer: Trainer,
    course: Course,
    looks: Looks,
    *,
    progress: Progress,
    stopped: Callable[[], bool],
) -> TrainRow:
    """Take the steps that a course lacks, and return its row, a partial one once `stopped()` is true."""

    def tell() -> None:
        progress(course.done / course.steps, _note(course), row_of(trainer, course))

    try:
        if not course.quantized:
            progress(0.0, "a first pass through the layers", None)
            course.quantized = quantized_gemms(trainer, stopped)
        halt_if(stopped)
    except StoppedEarly:
        return row_of(trainer, course)
    progress(course.done / course.steps, "making a step ready", None)
    trainer.get_ready()
    while course.done < course.steps and not course.failure and not stopped():
        until = min(step for step in (*looks, course.steps) if step > course.done)
        _chunk(trainer, course, min(CHUNK, until - course.done))
        if course.done in looks and not course.failure:
            tell()  # the first measurement compiles code, and the curve does not wait for it
            for look in looks[course.done]:
                look(trainer, course)
        tell()
    return row_of(trainer, course)


def _chunk(trainer: Trainer, course: Course, count: int) -> None:
    before = trainer.state()
    start = time.perf_counter()
    losses, norms = trainer.run(course.done, count, course.steps)
    course.step_ms.append(1e3 * (time.perf_counter() - start) / count)
    finite = [math.isfinite(sum(row) + loss) for loss, row in zip(losses, norms, strict=True)]
    good = finite.index(False) if False in finite else count
    course.losses += losses[:good]
    course.done += good
    if good < count:
        trainer.restore(before)
        if good:
            trainer.run(course.done - good, good, course.steps)
        course.failure = failed_tensor(trainer, course.done, losses[good], norms[good])


def _note(course: Course) -> str:
    if course.failure:
        return course.failure
    loss = f", held out {course.held_out[-1]:.4f}" if course.held_out else ""
    return f"step {course.done} of {course.steps}, loss {course.losses[-1]:.4f}{loss}"


def row_of(trainer: Trainer, course: Course) -> TrainRow:
    every = max(1, math.ceil(course.steps / MOST_LOSSES))
    means = [
        of_lists.fmean(course.losses[start : start + every]) for start in range(0, len(course.losses), every)
    ]
    machine = trainer.place.machine
    return TrainRow(
        job=trainer.job,
        provenance=Provenance.GPU if machine.capability else Provenance.REFERENCE,
        machine=machine,
        date=today(),
        text=trainer.text.source,
        steps=course.steps,
        done=course.done,
        loss_every=every,
        losses=tuple(rounded(each, _DIGITS) for each in means),
        held_out_at=tuple(course.held_out_at),
        held_out=tuple(rounded(each, _DIGITS) for each in course.held_out),
        held_out_bf16=None if course.held_out_bf16 is None else rounded(course.held_out_bf16, _DIGITS),
        step_ms=round(of_lists.median(course.step_ms), 4) if course.step_ms else None,
        quantized_gemms=course.quantized,
        gemms=len(MATMULS) * len(trainer.model.linears()),
        statistics=tuple(course.statistics),
        failure=course.failure,
        commit=commit(),
    )


def quantized_gemms(trainer: Trainer, stopped: Callable[[], bool] = lambda: False) -> int:
    """Count the GEMMs of one forward and backward with a quantized operand.

    Raises StoppedEarly once `stopped()` is true: kernels may be compiled here.
    """
    quantized = 0

    def counting(calls: Calls) -> Calls:
        def multiply(a: Parts, b: Parts, k: int, product: Product, *rest: Any) -> torch.Tensor:
            nonlocal quantized
            quantized += any(side.operand is not None for side in (product.a, product.b))
            return calls.multiply(a, b, k, product, *rest)

        return calls._replace(multiply=multiply)

    with observed(counting):
        trainer.observe(lambda name, layer, x, y: halt_if(stopped))
    return quantized


def failed_tensor(trainer: Trainer, step: int, loss: float, norms: Sequence[float]) -> str:
    """A sentence on the step, counted from 0, whose loss or gradients are not finite.

    The trainer is in the state before it; forward and backward run once more, op by op.
    """
    broken: list[str] = []

    def tap(name: str, layer: nn.Linear, x: torch.Tensor, y: torch.Tensor) -> None:
        if not torch.isfinite(y).all():
            broken.append(f"y of layer {name}")

        def look(dy: torch.Tensor) -> None:
            if not torch.isfinite(dy).all():
                broken.append(f"dy of layer {name}")

        y.register_hook(look)

    trainer.observe(tap, step)
    norm_of = zip(trainer.names, norms, strict=True)
    broken += [f"the gradient of {name}" for name, norm in norm_of if not math.isfinite(norm)]
    loss_is = f"the loss is {loss:.4g}" if math.isfinite(loss) else "the loss is not finite"
    first = [*broken, "the loss"][0]
    return f"Step {step + 1}: {first} has numbers that are not finite, and {loss_is}. The run ended there."


_paused: dict[TrainJob, tuple[Course, list[torch.Tensor]]] = {}
"""The unfinished run of this process, if any."""


def measure(
    job: TrainJob,
    *,
    progress: Callable[..., None],
    stopped: Callable[[], bool],
    so_far: TrainRow | None = None,
) -> TrainRow:
    """Train; progress is called with each chunk of steps.

    A run that gave way goes on in this process. Another process begins it anew: its curve is the same, bit
    for bit. Raises StoppedEarly once `stopped()` is true, MemoryError if the model does not fit, ValueError
    and Unsupported for a job that cannot run here.
    """
    with memory(job.size):
        progress(0.0, "reading the text")
        text = installed_text()
        progress(0.0, "making the model")
        trainer = this_place().trainer(job, text)
        paused = _paused.pop(job, None)
        _paused.clear()
        if so_far is not None and paused is not None:
            course, state = paused
            trainer.restore(state)
        else:
            if not job.steps:
                progress(0.0, "timing a few steps")
            course = Course(steps=job.steps or steps_within([pilot(trainer)], job.seconds))
        row = run(trainer, course, looks_over(course.steps), progress=progress, stopped=stopped)
        if not row.finished and not row.failure:
            _paused[job] = course, trainer.state()
            raise StoppedEarly
        return row


def warm_up(stopped: Callable[[], bool]) -> None:
    """Import torch's compiler, read the text, compile pieces. Raises as `measure`."""
    settle_compiler()
    import_module("torch._inductor.compile_fx")  # torch imports it with the first piece that it compiles
    text = installed_text()
    halt_if(stopped)
    try:
        this_place().trainer(TrainJob(recipe=BF16), text).observe(lambda *layer: halt_if(stopped))
    finally:
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
