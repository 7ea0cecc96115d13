"""Contract: the pass before the kernel moves numbers within 16 along K, and no more; its blocks and runs of K
fit the shape; what it cannot run is not offered.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fp8core.linear import Side
from fp8core.packing import unpack
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE, TileShape
from kernels.device import HOPPER, current_device
from kernels.gemm.blocks import Body
from kernels.gemm.bodies import tries
from kernels.gemm.hopper.decoding.blocks import (
    refusal,
    values_order,
)
from kernels.gemm.hopper.sizes import TMA_BYTES
from kernels.gemm.launch import factor
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_built_in
from kernels.operand_passes.bf16 import laid_out
from kernels.operand_passes.decode_ptx import read_as
from kernels.operand_passes.dequantize import dequantize
from tests.kernels.cases import GEMMS
from tests.kernels.gemm.hopper.decoding.plans import FPROP, operands


def origin(place: int, order: int) -> int:
    """The number along K that lies at a place, said another way than the kernel says it.

    A thread has 4 neighboring bytes of 16, and the instructions give them as 0, 2, 1, 3. A byte is one code,
    or two of 4 bits: then all low halves come first.
    """
    group, rest = divmod(place, 16)
    register, thread, half = rest // 8, rest % 8 // 2, rest % 2
    byte = 4 * thread + (0, 2, 1, 3)[2 * register + half]
    if order == 8:
        return 16 * group + byte
    return 32 * (group // 2) + 2 * byte + group % 2


@pytest.mark.parametrize(("recipe", "order"), [("mxfp8", 8), ("nvfp4", 4)])
@pytest.mark.parametrize("k", [16, 100, 256])
def test_the_pass_puts_numbers_where_the_tensor_core_meets_them(k, recipe, order):
    a, _ = operands((20, 40, k), recipe=recipe)
    kind = current_device().kind
    plain, paired = dequantize(a, kind), dequantize(a, kind, order=order)
    assert plain.shape == (20, k)
    assert paired.shape[1] % 128 == 0
    assert paired.shape[1] >= k, "a number may move beyond K"
    for place in range(paired.shape[1]):
        at = origin(place, order)
        expected = plain[:, at] if at < k else torch.zeros_like(plain[:, 0])
        assert torch.equal(paired[:, place], expected), place
    x = plain.to(torch.bfloat16)
    assert torch.equal(laid_out(x, kind, order), paired), "a bf16 operand goes the same way"
    assert torch.equal(laid_out(x.T.contiguous().T, kind, order), paired), "of any strides"


@pytest.mark.parametrize("recipe", [name.split("-")[0] for name in GEMMS if name.endswith("fprop")])
def test_what_it_decodes_is_laid_out_as_the_kernel_reads_it(recipe):
    """Rows of bytes of codes and of scales: one scale a row, whatever the tile, and no code of 6 bits."""
    (m, n, k), spec = (20, 256, 160), RECIPES[recipe].fprop
    plan = plan_built_in(spec, (m, n, k), HOPPER, Summation.RECIPE)
    blocks = next(tries(Body.DECODING, plan.meaning, (m, n, k), HOPPER), None)
    if blocks is None:
        return
    assert blocks.decoded == "b"
    plan = replace(plan, blocks=blocks)
    _a, b = operands((m, n, k), recipe=recipe)
    given = factor(b, plan, current_device().kind, Side.B)
    read = read_as(spec.b)
    assert given.given.dtype == torch.uint8
    assert given.given.shape == (n, 256 * read.format.packed_bits // 8)
    scale = given.line_scale
    assert scale.dtype == torch.uint8
    assert scale.shape == (-(-k // spec.b.tile.k), n)
    assert scale.stride(1) == 1
    assert scale.stride(0) % TMA_BYTES == 0
    numbers = spec.b.scale_rule.format.decode(scale.cpu().numpy()).repeat(spec.b.tile.k, axis=0)[:k].T
    codes = unpack(given.given.cpu().numpy(), read.format.packed_bits, 256)[:, :k]
    exact = b.exact_operand(0, n).cpu().numpy()
    outer = 1.0 if b.outer_scale is None else b.outer_scale.double().item()
    np.testing.assert_array_equal(read.format.decode(codes) * numbers * outer, exact)
    assert values_order(plan.meaning, blocks) == read.format.packed_bits


@pytest.mark.parametrize(
    ("tile", "sentence"),
    [
        (TileShape(1, 8), "those of {} are of 1 × 8"),
        (TileShape(1, 128), "those of {} are of 1 × 128"),
        (TileShape(1, WHOLE), "multiplies finished sums by one scale of each operand"),
        (TileShape(WHOLE, 32), "those of {} are of all rows × 32"),
    ],
    ids=str,
)
def test_what_it_does_not_take_is_said_and_not_offered(tile, sentence):
    other = replace(FPROP.b, tile=tile)
    made = plan_built_in(FPROP, (16, 4096, 4096), HOPPER, Summation.RECIPE).meaning
    both, one = (replace(made, spec=replace(FPROP, a=a, b=other)) for a in (other, FPROP.a))
    assert sentence.format("B") in refusal(both)
    assert not list(tries(Body.DECODING, both, (16, 4096, 4096), HOPPER))
    if tile.k is not WHOLE:
        assert refusal(one) == "", "the other operand is decoded then"
        assert not list(tries(Body.DECODING, one, (16, 4096, 4096), HOPPER)), "unless it has few rows"
        assert {blocks.decoded for blocks in tries(Body.DECODING, one, (512, 4096, 4096), HOPPER)} == {"a"}
