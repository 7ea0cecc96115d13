"""The runs of one command: a pilot for all of them, then one after the other; kept and gone on with."""

import argparse
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from kernels.files import append_line, check_folder, replace_file
from kernels.progress import Bar
from kernels.train.job import TrainJob
from kernels.train.row import TrainRow, record_train
from kernels.train.run import Course, Looks, Pace, pilot, run, steps_within
from kernels.train.step import Place, Trainer
from kernels.train.tensors import kept_steps, save_tensors
from kernels.train.text import file_text, installed_text
from kernels.typed import from_data, to_data

_ROWS, _STATE = "rows.jsonl", "state.pt"
_SAVED_EVERY_S = 15.0
"""A run that is cut off, without a Ctrl-C, loses at most so much and a chunk of steps."""


class Session:
    """The runs of a command line, each recorded, kept or gone on with as its options say.

    Raises ValueError for a text that cannot be read, and a folder in which nothing can be kept.
    """

    def __init__(self, options: argparse.Namespace, place: Place, stopped: Callable[[], bool]) -> None:
        for folder in (options.record and options.folder, options.resume, options.tensors):
            if folder:
                check_folder(folder)
        self._options, self._place, self._stopped = options, place, stopped
        self._text = file_text(options.text) if options.text else installed_text()
        self._state: Path | None = options.resume

    def rows(self, jobs: Sequence[TrainJob], seconds: float) -> Iterator[TrainRow]:
        """The rows of all jobs, the last one unfinished where the command was stopped."""
        finished = self._finished()
        jobs = self._with_steps(jobs, seconds)
        trainer: Trainer | None = None
        for number, job in enumerate(jobs):
            if job in finished:
                yield finished[job]
                continue
            if self._stopped():
                return
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
                keeps=number == 0,
                with_statistics=not self._options.no_statistics and replace(job, seed=0) not in kinds,
            )
            if row.finished or row.failure:
                self._keep(row)
            yield row

    def _with_steps(self, jobs: Sequence[TrainJob], seconds: float) -> list[TrainJob]:
        """The jobs, each with its steps: those that were asked for, or what a pilot finds for all of them."""
        if all(job.steps for job in jobs):
            return list(jobs)
        path = self._state and self._state / "steps"
        if path is not None and path.exists():
            steps = int(path.read_text(encoding="utf-8"))  # those of the command with which this one goes on
        else:
            kinds = list(dict.fromkeys(replace(job, seed=0) for job in jobs))
            paces: dict[TrainJob, Pace] = {}
            with Bar("pilot") as bar:
                for number, kind in enumerate(kinds):
                    bar.draw(number / len(kinds), kind.recipe_title)
                    paces[kind] = pilot(self._place.trainer(kind, self._text))
            steps = steps_within([paces[replace(job, seed=0)] for job in jobs], seconds)
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(str(steps), encoding="utf-8")
        return [job if job.steps else replace(job, steps=steps) for job in jobs]

    def _one(self, trainer: Trainer, title: str, *, keeps: bool, with_statistics: bool) -> TrainRow:
        """One run. `keeps`: it is the one whose tensors are saved."""
        course = self._taken_up(trainer) or Course(steps=trainer.job.steps)
        looks = Looks.over(course.steps, with_statistics=with_statistics, timed=not self._options.untimed)
        wanted = kept_steps(course.steps) if keeps and self._options.tensors is not None else ()
        looks = replace(looks, others=frozenset(wanted))
        saved = time.monotonic()

        def keep() -> None:
            nonlocal saved
            if self._state is not None and time.monotonic() - saved > _SAVED_EVERY_S:
                self._save(trainer, course)
                saved = time.monotonic()
            if course.done in wanted and not course.failure:
                save_tensors(trainer, course.done, course.steps, self._options.tensors)

        with Bar(title) as bar:
            row = run(
                trainer,
                course,
                looks,
                progress=lambda fraction, note, row: bar.draw(fraction, note),
                stopped=self._stopped,
                keep=keep,
            )
        if not row.finished and not row.failure:
            self._save(trainer, course)
        return row

    def _save(self, trainer: Trainer, course: Course) -> None:
        """Keep an unfinished run, where there is a folder for it: the whole file, or the one before."""
        if self._state is None:
            return
        self._state.mkdir(parents=True, exist_ok=True)
        parts = {"job": trainer.job, "course": course}
        left = {name: json.dumps(to_data(part)) for name, part in parts.items()}
        content = io.BytesIO()
        torch.save({**left, "state": trainer.state()}, content)
        replace_file(self._state / _STATE, content.getvalue())

    def _taken_up(self, trainer: Trainer) -> Course | None:
        """The course of this job's unfinished run, if there is one: the trainer takes its state."""
        if self._state is None or not (self._state / _STATE).exists():
            return None
        left = torch.load(self._state / _STATE, map_location=trainer.device, weights_only=True)
        if from_data(TrainJob, json.loads(left["job"])) != trainer.job:
            return None
        trainer.restore(left["state"])
        return from_data(Course, json.loads(left["course"]))

    def _finished(self) -> dict[TrainJob, TrainRow]:
        """Rows of an earlier command with this folder, by their jobs."""
        path = self._state and self._state / _ROWS
        if path is None or not path.exists():
            return {}
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [from_data(TrainRow, json.loads(each)) for each in lines]
        return {row.job: row for row in rows}

    def _keep(self, row: TrainRow) -> None:
        """Record a finished run, and note it in the folder of the state. Raises OSError as `record_train`."""
        if self._options.record:
            record_train(row, self._options.folder)
        if self._state is not None:
            self._state.mkdir(parents=True, exist_ok=True)
            append_line(self._state / _ROWS, json.dumps(to_data(row)).encode())
            (self._state / _STATE).unlink(missing_ok=True)
