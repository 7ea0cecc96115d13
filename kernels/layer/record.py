"""The amax history of a step: this step's amax goes to its end, and the oldest goes."""

from typing import TYPE_CHECKING

import torch

from kernels.device import COMPILE_OPTIONS, launching
from kernels.launching.launch import launch
from kernels.launching.tokens import layout
from kernels.launching.warm import Done, Warm

if TYPE_CHECKING:
    from collections.abc import Sequence

TAPES = Warm()
"""What calls of `record_now` left, by the layouts of their tensors."""


def record(steps: torch.Tensor, amax: torch.Tensor) -> None:
    """Add amax float32[1] to the end of a history int32[steps], whose first entry goes.

    An amax that is no finite number counts as none: it would make every later scale NaN. These are torch's
    operations, which torch.compile fuses.
    """
    amax = torch.nan_to_num(amax, nan=0.0, posinf=0.0, neginf=0.0)
    steps.copy_(torch.cat([steps[1:], amax.view(torch.int32)]))


def record_now(
    steps: torch.Tensor, amax: torch.Tensor, other: tuple[torch.Tensor, torch.Tensor] | None = None
) -> None:
    """Do what `record` does, in one kernel instead of four. `other`: a second history and its amax."""
    given: Sequence[torch.Tensor] = (steps, amax, *(other or ()))
    key = tuple(map(layout, given))
    tape = TAPES.get(key)
    if tape is not None:
        tape(given)
        return

    def run() -> Done[None]:
        from kernels.layer.record_kernel import record_kernel

        with launching(steps):
            count = steps.numel()
            rows = 1 << (count - 1).bit_length()
            programs = (1 if other is None else 2,)
            second = other or (None, None)
            launch(record_kernel, programs, steps, amax, *second, count, STEPS=rows, **COMPILE_OPTIONS)
        return Done(value=None, results=(), finish=_nothing)

    TAPES.record(key, given, (), run)


def _nothing(made: object) -> None:
    """Nothing is made: the history is written in place."""
