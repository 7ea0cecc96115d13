"""Contract: where D has few rows and columns, nearly every SM has a narrow block over all of K. Its bits are
the simple kernel's, summed in the tensor core or promoted, and D may lie in any way.
"""

from dataclasses import replace
from itertools import product

import pytest
import torch

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, current_device
from kernels.gemm.blocks import Body
from kernels.gemm.bodies import tries
from kernels.gemm.hopper.narrow_blocks import refusal
from kernels.gemm.launch import gemm
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_built_in
from tests.kernels.gemm.hopper.launches import bits, operands

ASKED = [
    pytest.param(recipe, matmul, how, id=f"{recipe}-{matmul}-{how.value}")
    for (recipe, matmul), how in product(
        [("per_tensor_e4m3", "fprop"), ("per_tensor", "dgrad"), ("rowwise", "fprop")],
        (Summation.FAST, Summation.PROMOTED),
    )
]
ODD = [
    *[(1, 264, 4100), (33, 1032, 14336), (64, 4096, 1664), (17, 40, 520)],
    *[(64, 200, k) for k in (40, 128, 129, 256, 257, 385)],
]


def narrow(recipe, matmul, how, mnk, device=HOPPER):
    """(the simple plan, plans of narrow blocks) of a GEMM."""
    simple = plan_built_in(RECIPES[recipe].spec(MATMULS[matmul]), mnk, device, how)
    found = tries(Body.NARROW, simple.meaning, mnk, device)
    return simple, [replace(simple, blocks=blocks) for blocks in found]


@pytest.mark.parametrize(
    ("recipe", "matmul", "word"),
    [
        ("deepseek_v3", "fprop", "one scale a row"),
        ("rowwise", "wgrad", "not fp32"),
        ("mxfp8", "fprop", "FP8"),
    ],
)
def test_a_plan_of_what_it_cannot_run_is_refused(recipe, matmul, word):
    mnk = (64, 256, 1280)
    simple, found = narrow(recipe, matmul, Summation.RECIPE, mnk)
    assert found == []
    assert word in refusal(simple.meaning)
    rowwise, (plan,) = narrow("rowwise", "fprop", Summation.PROMOTED, mnk)
    assert "every 128" in refusal(replace(rowwise.meaning, promotion=64))
    with pytest.raises(ValueError, match=f"{word}.*, got .*block 64×32×256"):
        replace(simple, blocks=plan.blocks)


@pytest.mark.gpu
@pytest.mark.parametrize("mnk", ODD, ids=str)
@pytest.mark.parametrize(("recipe", "matmul", "how"), ASKED)
def test_it_gives_the_simple_kernel_s_bits_a_hundred_times(recipe, matmul, how, mnk):
    device = current_device()
    simple, (plan,) = narrow(recipe, matmul, how, mnk, device)
    a, b = operands(recipe, matmul, mnk, device)
    truth = gemm(a, b, simple)
    out = torch.empty_like(truth)
    differing = sum(
        not torch.equal(bits(gemm(a, b, plan, out=out.fill_(torch.nan))), bits(truth)) for _ in range(100)
    )
    assert differing == 0


@pytest.mark.gpu
@pytest.mark.parametrize("how", [Summation.FAST, Summation.PROMOTED], ids=lambda how: how.value)
def test_more_rows_than_a_block_and_crooked_d_s(how):
    device = current_device()
    mnk = (150, 264, 1000)
    simple, _ = narrow("rowwise", "fprop", how, mnk, device)
    _, (plan,) = narrow("rowwise", "fprop", how, (64, *mnk[1:]), device)
    a, b = operands("rowwise", "fprop", mnk, device)
    truth = gemm(a, b, simple)
    like = {"dtype": torch.bfloat16, "device": "cuda"}
    crooked = torch.full((150 * 264 + 1,), torch.nan, **like)[1:].view(150, 264)
    for out in (torch.empty(264, 150, **like).T, torch.empty(150, 267, **like)[:, 3:], crooked):
        assert torch.equal(bits(gemm(a, b, plan, out=out).contiguous()), bits(truth))
