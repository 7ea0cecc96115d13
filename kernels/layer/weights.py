"""Copies of a weight that are kept from one microbatch to the next, and how one knows that they are old.

A weight changes in many ways, and no single sign shows them all:

    w.copy_(…), w.add_(…), load_state_dict, a plain optimizer     raise w._version
    w.data = other                                                changes w.data_ptr(), or the storage is gone
    a fused optimizer                                             shows in neither: a step is counted instead
    w.data.copy_(…), w.data.add_(…)                               shows nowhere

So nothing is kept unless the caller asks for it, and who writes into w.data says so.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.optim.optimizer import register_optimizer_step_post_hook

from kernels.layer.matmuls import Copies

_optimizer_steps = 0


def _count(*step: Any) -> None:
    global _optimizer_steps
    _optimizer_steps += 1


register_optimizer_step_post_hook(_count)


@dataclass(frozen=True)
class KeptWeight:
    """Both copies of a weight, and the signs by which it is known again. `whole`: as they were made."""

    copies: Copies
    whole: bool
    signs: tuple[int, ...]
    storage: StorageWeakRef

    @classmethod
    def of(cls, w: torch.Tensor, copies: Copies, whole: bool) -> "KeptWeight":
        return cls(copies, whole, signs(w), StorageWeakRef(w.untyped_storage()))

    def is_of(self, w: torch.Tensor, whole: bool) -> bool:
        """True where no sign tells that w has changed. Memory that was freed may have a new owner."""
        return self.whole is whole and self.signs == signs(w) and not self.storage.expired()


def signs(w: torch.Tensor) -> tuple[int, ...]:
    """Numbers that differ after most changes of a weight.

    The stream is one of them: another stream may not have waited for the copies. So is the mode: autograd
    saves no copy that was made in inference mode.
    """
    stream = torch.cuda.current_stream(w.device).cuda_stream if w.is_cuda else 0
    version = 0 if w.is_inference() else w._version
    return version, w.data_ptr(), _optimizer_steps, stream, torch.is_inference_mode_enabled()
