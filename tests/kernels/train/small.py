"""A text of a few files, and runs of the tiny model by the reference's rules."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from kernels.train.job import TrainJob
from kernels.train.row import TrainRow
from kernels.train.run import Course, add_held_out, run
from kernels.train.step import Place, Trainer, this_place
from kernels.train.text import Text, folder_text

FILES = 40


def small_text(top: Path) -> Text:
    """Forty files of a sort of code, each its own; some thousand bytes."""
    for number in range(FILES):
        lines = [f"value_{number}_{line} = {line * number % 97} + value_{line}" for line in range(30)]
        (top / f"m{number:02d}.py").write_text("\n".join(lines), encoding="utf-8")
    return folder_text(top, "made up", "1")


def on_cpu() -> Place:
    """The CPU, where the reference's rules train: also on a machine that has a GPU."""
    here = this_place()
    machine = replace(here.machine, name="a CPU", capability=None)
    return here if here.emulate else Place(torch.device("cpu"), machine, True)


def trained(
    trainer: Trainer,
    steps: int,
    course: Course | None = None,
    *,
    stopped: Callable[[], bool] = lambda: False,
) -> TrainRow:
    """The row of a run that is looked at twice, at its middle and its end."""
    looks = dict.fromkeys((steps // 2, steps), (add_held_out,))
    course = course or Course(steps=steps)
    return run(trainer, course, looks, progress=lambda *call: None, stopped=stopped)


def trainer(recipe: str, text: Text, seed: int = 0) -> Trainer:
    """The tiny model on the CPU."""
    return on_cpu().trainer(TrainJob(recipe=recipe, model="tiny", seed=seed), text)
