"""Contract: a step's amax goes to the end of its history, by a kernel as by torch's operations."""

import pytest
import torch

from kernels.layer.record import record, record_now
from tests.kernels.cases import WHERE


@pytest.mark.parametrize("amax", [0.0, 2.5, float("inf"), float("nan")])
def test_the_kernel_keeps_what_torch_s_operations_keep(amax):
    given = torch.tensor([7.0, amax], device=WHERE)[1:]
    for steps in (1, 3, 1024):
        history = torch.arange(3 * steps, dtype=torch.int32, device=WHERE).view(3, steps)
        other = history.clone()
        for _ in range(2):
            record(history[1], given)
            record_now(other[1], given)
        assert torch.equal(history, other)
        assert other[1, -1].view(torch.float32) == (amax if amax < float("inf") else 0.0)
        assert other[1, :-2].tolist() == list(range(steps + 2, 2 * steps))
