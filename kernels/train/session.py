"""The runs of one command: a pilot for all of them, then one after the other; kept and gone on with."""

import argparse
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from kernels.bench.measure import today
from kernels.files import append_line, check_folder, replace_file
from kernels.progress import Bar
from kernels.train.job import TrainJob
from kernels.train.place import Place
from kernels.train.records import record_train
from kernels.train.row import TrainRow
from kernels.train.run import Course, Looks, Pace, pilot, run, steps_within
from kernels.train.step import Trainer
from kernels.train.tensors import AmaxSeries, kept_steps, save_tensors
from kernels.train.text import Text, file_text, installed_text
from kernels.typed import from_data, to_data

_ROWS, _STATE = "rows.jsonl", "state.pt"
_SAVED_EVERY_S = 15.0
"""A run that is cut off, without a Ctrl-C, loses at most so much and a chunk of steps."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """How the runs of a command are made.

    - records: the folder that rows are recorded in; None for none. state: the folder of finished rows and of
      the state of an unfinished run. tensors: the folder for crops of tensors.
    - with_statistics: those of layers are taken, in the first of several seeds.
    """

    place: Place
    text: Text
    stopped: Callable[[], bool]
    records: Path | None = None
    state: Path | None = None
    tensors: Path | None = None
    with_statistics: bool = True
    timed: bool = True

    @classmethod
    def of(cls, options: argparse.Namespace, place: Place, stopped: Callable[[], bool]) -> "Session":
        """The session that a command line asks for.

        Raises ValueError for a text that cannot be read, and a folder in which nothing can be kept.
        """
        for folder in (options.record and options.folder, options.resume, options.tensors):
            if folder:
                check_folder(folder)
        return cls(
            place=place,
            text=file_text(options.text) if options.text else installed_text(),
            stopped=stopped,
            records=options.folder if options.record else None,
            state=options.resume,
            tensors=options.tensors,
            with_statistics=not options.no_statistics,
            timed=not options.untimed,
        )

    def rows(self, jobs: Sequence[TrainJob], seconds: float) -> Iterator[TrainRow]:
        """The rows of all jobs, the last one unfinished where the command was stopped."""
        finished = self._finished()
        jobs = self._with_steps(jobs, seconds)
        trainer: Trainer | None = None
        for number, job in enumerate(jobs):
            if job in finished:
                yield finished[job]
                continue
            if self.stopped():
                return
            if trainer is None or replace(trainer.job, seed=job.seed) != job:
                trainer = None  # its memory goes before the next one's is asked for
                trainer = self.place.trainer(job, self.text)
            else:
                trainer.job = job
                trainer.restart(job.seed)
            kinds = [replace(each, seed=0) for each in jobs[:number]]
            row = self._one(
                trainer,
                f"{number + 1}/{len(jobs)} {job.title}",
                keeps=number == 0,
                with_statistics=self.with_statistics and replace(job, seed=0) not in kinds,
            )
            if row.finished or row.failure:
                self._keep(row)
            yield row

    def _with_steps(self, jobs: Sequence[TrainJob], seconds: float) -> list[TrainJob]:
        """The jobs, each with its steps: those that were asked for, or what a pilot finds for all of them."""
        if all(job.steps for job in jobs):
            return list(jobs)
        known = self._pilot_file()
        if known is None:
            kinds = list(dict.fromkeys(replace(job, seed=0) for job in jobs))
            paces: dict[TrainJob, Pace] = {}
            with Bar("pilot") as bar:
                for number, kind in enumerate(kinds):
                    bar.draw(number / len(kinds), kind.recipe_title)
                    paces[kind] = pilot(self.place.trainer(kind, self.text))
            known = steps_within([paces[replace(job, seed=0)] for job in jobs], seconds)
            if self.state is not None:
                self.state.mkdir(parents=True, exist_ok=True)
                (self.state / "steps").write_text(str(known), encoding="utf-8")
        return [job if job.steps else replace(job, steps=known) for job in jobs]

    def _pilot_file(self) -> int | None:
        """The steps that the pilot of a command found with which this one goes on."""
        if self.state is None or not (self.state / "steps").exists():
            return None
        return int((self.state / "steps").read_text(encoding="utf-8"))

    def _one(self, trainer: Trainer, title: str, *, keeps: bool, with_statistics: bool) -> TrainRow:
        """One run. `keeps`: it is the one whose tensors are saved."""
        course, amax = self._taken_up(trainer) or (Course(steps=trainer.job.steps), AmaxSeries())
        looks = Looks.over(course.steps, with_statistics=with_statistics, timed=self.timed)
        wanted = kept_steps(course.steps) if keeps and self.tensors is not None else ()
        looks = replace(looks, others=frozenset(wanted))
        known, saved = course.done, time.monotonic()

        def keep() -> None:
            nonlocal known, saved
            if self.tensors is not None:
                amax.add(trainer, course.done - known)
            if self.state is not None and time.monotonic() - saved > _SAVED_EVERY_S:
                self._save(trainer, course, amax)
                saved = time.monotonic()
            if course.done in wanted and not course.failure:
                save_tensors(trainer, course.done, course.steps, self.place.machine, today(), self.tensors)
            known = course.done

        with Bar(title) as bar:
            row = run(
                trainer,
                course,
                looks,
                self.place.machine,
                today(),
                progress=lambda fraction, note, row: bar.draw(fraction, note),
                stopped=self.stopped,
                keep=keep,
            )
        if self.tensors is not None:
            amax.save(trainer, self.place.machine, today(), self.tensors)
        if not row.finished and not row.failure:
            self._save(trainer, course, amax)
        return row

    def _save(self, trainer: Trainer, course: Course, amax: AmaxSeries) -> None:
        """Keep an unfinished run, where there is a folder for it: the whole file, or the one before."""
        if self.state is None:
            return
        self.state.mkdir(parents=True, exist_ok=True)
        parts = {"job": trainer.job, "course": course, "amax": amax}
        left = {name: json.dumps(to_data(part)) for name, part in parts.items()}
        content = io.BytesIO()
        torch.save({**left, "state": trainer.state()}, content)
        replace_file(self.state / _STATE, content.getvalue())

    def _taken_up(self, trainer: Trainer) -> tuple[Course, AmaxSeries] | None:
        """The course and amax of this job's unfinished run, if there is one: the trainer takes its state."""
        if self.state is None or not (self.state / _STATE).exists():
            return None
        left = torch.load(self.state / _STATE, map_location=trainer.device, weights_only=True)
        if from_data(TrainJob, json.loads(left["job"])) != trainer.job:
            return None
        trainer.restore(left["state"])
        return from_data(Course, json.loads(left["course"])), from_data(AmaxSeries, json.loads(left["amax"]))

    def _finished(self) -> dict[TrainJob, TrainRow]:
        """Rows of an earlier command with this folder, by their jobs."""
        path = self.state and self.state / _ROWS
        if path is None or not path.exists():
            return {}
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [from_data(TrainRow, json.loads(each)) for each in lines]
        return {row.job: row for row in rows}

    def _keep(self, row: TrainRow) -> None:
        """Record a finished run, and note it in the folder of the state. Raises OSError as `record_train`."""
        if self.records is not None:
            record_train(row, self.records)
        if self.state is not None:
            self.state.mkdir(parents=True, exist_ok=True)
            append_line(self.state / _ROWS, json.dumps(to_data(row)).encode())
            (self.state / _STATE).unlink(missing_ok=True)
