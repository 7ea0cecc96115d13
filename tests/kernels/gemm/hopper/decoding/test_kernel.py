"""Contract: the kernel that decodes one operand in registers, the larger one, gives the bits of the simple
kernel with the same runs of K.
"""

from dataclasses import replace

import pytest
import torch

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import current_device
from kernels.gemm.launch import gemm
from tests.kernels.gemm.hopper.decoding.plans import WGRAD, operands, runnable
from tests.sweeps import some_values

SHAPES = {
    "one step": (16, 128, 64),
    "one row": (1, 144, 96),
    "odd": (20, 272, 1000),
    "odd steps": (33, 528, 4164),
    "two programs an SM": (9, 17040, 1000),
    "half a block": (100, 1008, 4100),
    "rows": (200, 2064, 1664),
    "waves": (256, 20480, 640),
    "many rows": (1300, 4112, 1100),
    "few columns": (208, 24, 1000),
    "more rows": (4112, 136, 2052),
    "many columns": (4112, 1304, 1100),
    "odd rows": (1321, 1312, 1100),
    "odd rows of codes": (1321, 304, 1100),
    "two wgmma, 96 rows": (90, 1008, 1100),
    "two wgmma, 160 rows": (150, 528, 1664),
    "two wgmma, 192 rows": (180, 1040, 4164),
    "two wgmma, several blocks": (470, 1312, 1100),
}


@pytest.mark.gpu
@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_gives_the_simple_kernel_s_bits(shape, matmul, request):
    mnk, device = SHAPES[shape], current_device()
    spec = RECIPES["mxfp8"].spec(MATMULS[matmul])
    simple, plans = runnable(mnk, device, spec)
    a, b = operands(mnk, matmul)
    for plan in some_values(plans, request):
        cut = replace(
            simple.blocks,
            split_k=plan.blocks.split_k,
            persistent=False,
            block_k=plan.blocks.block_k,
            stages=2,
        )
        truth = gemm(a, b, replace(simple, blocks=cut))
        first = torch.full_like(truth, torch.nan)
        gemm(a, b, plan, out=first)
        assert torch.equal(first.view(torch.int8), truth.view(torch.int8)), plan.title
        again = [gemm(a, b, plan, out=torch.full_like(truth, torch.nan)) for _ in range(100)]
        assert all(torch.equal(out.view(torch.int8), truth.view(torch.int8)) for out in again)


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "n"), [(20, 272), (100, 272), (300, 272), (300, 1312), (272, 24)])
def test_it_adds_into_d(m, n, request):
    mnk, device = (m, n, 1000), current_device()
    a, b = operands(mnk, "wgrad")
    start = torch.randn(m, n, device="cuda")
    for plan in some_values(runnable(mnk, device, WGRAD)[1], request):
        added = gemm(a, b, plan, out=start.clone(), accumulate=True)
        assert torch.equal(added, gemm(a, b, plan) + start), plan.title


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["nan", "inf", "zeros", "wide", "tiny", "large"])
@pytest.mark.parametrize("mnk", [(16, 256, 512), (256, 16, 512)], ids=str)
def test_special_values_are_decoded_as_the_pass_does(name, mnk):
    a, b, _ = (*operands(mnk, name=name), None)
    simple, plans = runnable(mnk, current_device())
    cut = replace(simple.blocks, persistent=False, split_k=1)
    truth = gemm(a, b, replace(simple, blocks=cut))
    out = gemm(a, b, plans[0])
    assert torch.equal(out.isnan(), truth.isnan())
    assert torch.equal(out.nan_to_num(7.0), truth.nan_to_num(7.0))


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "n"), [(20, 272), (272, 24)])
def test_d_may_have_any_strides(m, n, request):
    mnk, device = (m, n, 1000), current_device()
    a, b = operands(mnk)
    for plan in some_values(runnable(mnk, device)[1], request):
        truth = gemm(a, b, plan)
        wide = torch.zeros(m, n + 1, dtype=torch.bfloat16, device="cuda")
        for out in (wide[:, 1:], torch.zeros_like(truth.T).T, truth.new_zeros(n, m).T):
            assert torch.equal(gemm(a, b, plan, out=out), truth)
