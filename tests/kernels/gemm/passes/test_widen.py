"""Contract: widening keeps the value of every narrow code."""

import numpy as np
import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.packing import pack
from kernels.gemm.block_scaled import NATIVE, NativeKind, instruction_format
from kernels.gemm.passes.widen import widened_codes
from kernels.quantize.facts import K_PADDING
from tests.kernels.cases import WHERE

MIXED = NativeKind.MXF8F6F4
NARROW = [name for name in NATIVE[MIXED].formats if name not in NATIVE[MIXED].unwidened]


@pytest.mark.parametrize("name", NARROW)
def test_every_narrow_code_keeps_its_value(name):
    own = FORMATS[name]
    codes = np.random.default_rng(1).integers(0, 1 << own.bits, (33, 9 * K_PADDING)).astype(np.uint8)
    codes[0, : 1 << own.bits] = np.arange(1 << own.bits)
    wide = widened_codes(torch.from_numpy(pack(codes, own.bits)).to(WHERE), own, MIXED)
    values = instruction_format(MIXED, own).decode(wide.cpu().view(torch.uint8).numpy())
    assert wide.shape == codes.shape
    np.testing.assert_array_equal(values, own.decode(codes))
    np.testing.assert_array_equal(np.signbit(values), np.signbit(own.decode(codes)))
