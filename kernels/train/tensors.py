"""Real tensors of a run: crops of x, w and dy of four layers at three steps.

A file <model>_<step>_<layer>.safetensors holds x, w and dy, each bf16[ROWS, COLUMNS]. Its metadata say how
they were made.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from kernels.measure.machine import commit, today
from kernels.train.statistics import tensors_of_a_step
from kernels.train.step import Trainer

LAYERS = ("0.qkv", "2.gate_up", "3.proj", "5.down")
"""An early layer, two in the middle, a late one; of each kind one."""
STEPS_AT = (0.02, 0.5, 1.0)
"""Shares of the run after which tensors are kept: while the rate rises, in the middle, at the end."""
ROWS, COLUMNS = 1 << 7, 1 << 8


def kept_steps(steps: int) -> tuple[int, ...]:
    """The steps after which tensors are kept."""
    return tuple(max(1, round(steps * share)) for share in STEPS_AT)


def save_tensors(trainer: Trainer, step: int, steps: int, folder: Path) -> None:
    """Write the crops of all LAYERS after a step. A layer that the model lacks is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors_by_layer = tensors_of_a_step(trainer)
    job, machine = trainer.job, trainer.place.machine
    for name in LAYERS:
        if name not in tensors_by_layer:
            continue
        one = tensors_by_layer[name]
        facts = {
            "made_by": "python -m kernels.train --tensors",
            "model": job.model,
            "recipe": job.recipe_title,
            "seed": str(job.seed),
            "layer": name,
            "after_step": f"{step} of {steps}",
            "text": f"{trainer.text.used.name} {trainer.text.used.version}, {trainer.text.used.sha256}",
            "gpu": machine.name,
            "versions": json.dumps(machine.versions),
            "date": today(),
            "commit": commit() or "",
        }
        tensors = {}
        for key, whole in (("x", one.x), ("w", one.layer.weight.detach()), ("dy", one.dy)):
            tensors[key], facts[key] = _crop(whole.bfloat16())
        save_file(tensors, folder / f"{job.model}_{step:05d}_{name}.safetensors", metadata=facts)


def _crop(whole: torch.Tensor) -> tuple[torch.Tensor, str]:
    """Rows at equal distances, and of the columns the stretch with the largest number in these rows.

    Neighbors would be much alike: in the first layer, all spaces of an indented line have equal rows.
    """
    every = max(1, whole.shape[0] // ROWS)
    rows = whole[::every][:ROWS]
    stretches = rows.split(COLUMNS, 1)
    number = max(range(len(stretches)), key=lambda each: float(stretches[each].abs().max()))
    start = min(number * COLUMNS, max(0, whole.shape[1] - COLUMNS))
    crop = rows[:, start : start + COLUMNS].contiguous().cpu()
    words = (
        f"{crop.shape[0]} rows, every {every} from row 0, and columns {start} to "
        f"{start + crop.shape[1] - 1} of "
        f"{list(whole.shape)}, the stretch of columns with the largest number; amax of all "
        f"{float(whole.abs().max()):.4g}, root mean square of all "
        f"{float(whole.float().square().mean().sqrt()):.4g}"
    )
    return crop, words
