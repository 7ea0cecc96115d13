"""The runs of one command: a pilot for all of them, then one after the other."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernels.files import check_folder
from kernels.progress import Bar
from kernels.train.job import TrainJob
from kernels.train.row import TrainRow, record_train
from kernels.train.run import Course, Looks, Pace, pilot, run, steps_within
from kernels.train.statistics import save_tensors, tensor_steps
from kernels.train.step import Place, Trainer
from kernels.train.text import file_text, installed_text


class Session:
    """Raises ValueError for an unreadable text and an unusable folder."""

    def __init__(self, options: argparse.Namespace, place: Place) -> None:
        for folder in (options.record and options.folder, options.tensors):
            if folder:
                check_folder(folder)
        self._options, self._place = options, place
        self._text = file_text(options.text) if options.text else installed_text()

    def rows(self, jobs: Sequence[TrainJob], seconds: float) -> Iterator[TrainRow]:
        jobs = self._with_steps(jobs, seconds)
        trainer: Trainer | None = None
        for number, job in enumerate(jobs):
            if trainer is None or replace(trainer.job, seed=job.seed) != job:
                trainer = None  # its memory goes before the next one's is asked for
                trainer = self._place.trainer(job, self._text)
            else:
                trainer.job = job
                trainer.restart(job.seed)
            kinds = [replace(each, seed=0) for each in jobs[:number]]
            row = self._one(
                trainer,
                f"{number + 1}/{len(jobs)} {job.title}",
                saves_tensors=number == 0,
                with_statistics=replace(job, seed=0) not in kinds,
            )
            if self._options.record:
                record_train(row, self._options.folder)
            yield row

    def _with_steps(self, jobs: Sequence[TrainJob], seconds: float) -> list[TrainJob]:
        """A pilot finds the steps of jobs without."""
        if all(job.steps for job in jobs):
            return list(jobs)
        kinds = list(dict.fromkeys(replace(job, seed=0) for job in jobs))
        paces: dict[TrainJob, Pace] = {}
        with Bar("pilot") as bar:
            for number, kind in enumerate(kinds):
                bar.draw(number / len(kinds), kind.recipe_title)
                paces[kind] = pilot(self._place.trainer(kind, self._text))
        steps = steps_within([paces[replace(job, seed=0)] for job in jobs], seconds)
        return [job if job.steps else replace(job, steps=steps) for job in jobs]

    def _one(self, trainer: Trainer, title: str, *, saves_tensors: bool, with_statistics: bool) -> TrainRow:
        course = Course(steps=trainer.job.steps)
        save_at = tensor_steps(course.steps) if saves_tensors and self._options.tensors is not None else ()
        looks = Looks.over(course.steps, with_statistics=with_statistics, others=save_at)

        def keep() -> None:
            if course.done in save_at and not course.failure:
                save_tensors(trainer, course.done, course.steps, self._options.tensors)

        with Bar(title) as bar:
            return run(
                trainer,
                course,
                looks,
                progress=lambda fraction, note, row: bar.draw(fraction, note),
                stopped=lambda: False,
                keep=keep,
            )
