"""The runs of one command: a pilot for all of them, then one after the other."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kernels.files import check_folder
from kernels.progress import Bar
from kernels.train.job import TrainJob
from kernels.train.row import RUNS, TrainRow
from kernels.train.run import Course, Looks, Pace, pilot, run, steps_within
from kernels.train.statistics import save_tensors, tensor_steps
from kernels.train.step import Place, Trainer
from kernels.train.text import Text, file_text, installed_text


def session(options: argparse.Namespace, place: Place, jobs: Sequence[TrainJob]) -> Iterator[TrainRow]:
    """Rows of all jobs, each recorded, if asked, before the next begins.

    Raises ValueError for an unreadable text and an unusable folder.
    """
    for folder in (options.record and options.folder, options.tensors):
        if folder:
            check_folder(folder)
    text = file_text(options.text) if options.text else installed_text()
    if not all(job.steps for job in jobs):
        jobs = _with_steps(jobs, place, text, options.minutes * 60)
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
        tensors = options.tensors if number == 0 else None
        row = _run(
            trainer, f"{number + 1}/{len(jobs)} {job.title}", tensors, with_statistics=kind not in kinds
        )
        kinds.add(kind)
        if options.record:
            RUNS.record(row, options.folder)
        yield row


def _with_steps(jobs: Sequence[TrainJob], place: Place, text: Text, seconds: float) -> list[TrainJob]:
    """The jobs with their steps, by a pilot."""
    kinds = list(dict.fromkeys(replace(job, seed=0) for job in jobs))
    paces: dict[TrainJob, Pace] = {}
    with Bar("pilot") as bar:
        for number, kind in enumerate(kinds):
            bar.draw(number / len(kinds), kind.recipe_title)
            paces[kind] = pilot(place.trainer(kind, text))
    steps = steps_within([paces[replace(job, seed=0)] for job in jobs], seconds)
    return [job if job.steps else replace(job, steps=steps) for job in jobs]


def _run(trainer: Trainer, title: str, tensors: Path | None, *, with_statistics: bool) -> TrainRow:
    """One run; `tensors`: the folder for crops."""
    course = Course(steps=trainer.job.steps)
    save_at = () if tensors is None else tensor_steps(course.steps)
    looks = Looks.over(course.steps, with_statistics=with_statistics, others=save_at)

    def keep() -> None:
        if course.done in save_at and not course.failure:
            save_tensors(trainer, course.done, course.steps, tensors)

    with Bar(title) as bar:
        return run(
            trainer,
            course,
            looks,
            progress=lambda fraction, note, row: bar.draw(fraction, note),
            stopped=lambda: False,
            keep=keep,
        )
