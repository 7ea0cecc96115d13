"""Contract: an operand that stays bf16 comes in rows that the kernel may read."""

import pytest
import torch

from kernels.device import DeviceKind
from kernels.gemm.passes.dequantize import laid_out

ROWS = 8


@pytest.mark.parametrize("k", [104, 130], ids=["rows that TMA reads", "rows that it does not read"])
@pytest.mark.parametrize("layout", ["alone", "in a wider matrix", "transposed"])
def test_rows_read_by_pointers_have_zeros_up_to_the_next_row(k, layout):
    wide = torch.full((ROWS, 2 * k), torch.nan, dtype=torch.bfloat16)
    wide[:, :k] = 1.0
    x = wide[:, :k]
    x = {"alone": x.contiguous(), "in a wider matrix": x, "transposed": x.T.contiguous().T}[layout]
    rows = laid_out(x, DeviceKind.GPU, by_pointers=True)
    assert torch.equal(rows, x)
    stride = rows.stride(0)
    read = rows.as_strided((ROWS, stride), (stride, 1))
    assert not read[:, k:].any()
