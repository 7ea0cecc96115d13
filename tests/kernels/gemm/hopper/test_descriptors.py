"""Contract: a D that TMA cannot write gets its numbers from a copy that it can write."""

import pytest
import torch

from kernels.gemm.hopper.descriptors import into_copy, writable


@pytest.mark.parametrize("accumulate", [False, True], ids=["new", "added"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("columns", [1, 7, 16, 1100])
def test_a_d_with_rows_of_any_length_is_written_through_a_copy(columns, dtype, accumulate):
    out = torch.arange(6 * columns, dtype=dtype).reshape(3, 2 * columns)[:, ::2]
    held, given = out.clone(), []

    def launch(copy):
        given.append(copy)
        assert writable(copy)
        assert copy.shape == out.shape
        copy.copy_(copy + 1 if accumulate else torch.full_like(copy, 7))
        return "handle"

    assert not writable(out)
    assert into_copy(launch, out, accumulate) == "handle"
    assert len(given) == 1
    assert torch.equal(out, held + 1 if accumulate else torch.full_like(held, 7))
