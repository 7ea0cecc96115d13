"""Contract: where persistent programs share the blocks of their last wave, whole blocks have the bits of one
sum over K, and shared ones those of the sum of its runs; nobody else's memory is written.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, current_device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import BODIES
from kernels.gemm.hopper.order import shared
from kernels.gemm.hopper.storage import filled
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_built_in
from tests.kernels.gemm.hopper.launches import bits, operands

CASES = [
    ("mxfp8", "fprop", Body.DECODING, (256, 128), "b", (905, 6144, 1088)),
    ("mxfp8", "fprop", Body.DECODING, (128, 256), "a", (5789, 1100, 576)),
    ("mxfp8", "fprop", Body.DECODING, (128, 256), "b", (905, 6144, 1088)),
    ("mxfp8", "wgrad", Body.DECODING, (256, 128), "a", (5789, 1104, 576)),
    ("mxfp8", "fprop", Body.DECODING, (160, 128), "b", (470, 6144, 1088)),
    ("mxfp8", "wgrad", Body.DECODING, (128, 192), "a", (9000, 380, 1088)),
    ("mxfp8", "wgrad", Body.DECODING, (128, 256), "ab", (1601, 3600, 1088)),
    ("mxfp8", "fprop", Body.DECODING, (128, 128), "ab", (1601, 2064, 1088)),
    ("mxfp4", "dgrad", Body.DECODING, (256, 128), "b", (1030, 5000, 512)),
    ("deepseek_v3", "fprop", Body.PROMOTED, (192, 128), "", (908, 5200, 2000)),
    ("deepseek_v3", "wgrad", Body.PROMOTED, (256, 128), "", (2048, 2816, 1040)),
    ("deepseek_v3", "wgrad", Body.PROMOTED_THREE, (192, 128), "", (2000, 2816, 1040)),
    ("rowwise", "dgrad", Body.PROMOTED, (256, 128), "", (905, 6144, 1300)),
    ("rowwise", "wgrad", Body.PROMOTED, (192, 128), "", (2000, 2000, 1100)),
]


def planned(recipe, matmul, body, sides, decoded, mnk, runs):
    """A plan of these blocks whose programs share those of the last wave."""
    plan = plan_built_in(RECIPES[recipe].spec(MATMULS[matmul]), mnk, HOPPER, Summation.RECIPE)
    blocks = Blocks(
        body=body,
        block_m=sides[0],
        block_n=sides[1],
        block_k=128 // plan.meaning.multiplied[0].bytes,
        warps=12 if body is Body.PROMOTED_THREE else 8,
        stages=3,
        persistent=True,
        decoded=decoded,
    )
    blocks = filled(blocks, BODIES[body].storage(plan.meaning, blocks), HOPPER.shared_memory_bytes)
    return replace(plan, blocks=replace(blocks, split_k=runs))


@pytest.mark.gpu
@pytest.mark.parametrize("accumulate", [False, True], ids=["new", "added"])
@pytest.mark.parametrize("runs", [2, 3])
@pytest.mark.parametrize(("recipe", "matmul", "body", "sides", "decoded", "mnk"), CASES, ids=str)
def test_shared_blocks_are_sums_of_runs_and_the_others_whole(
    recipe, matmul, body, sides, decoded, mnk, runs, accumulate
):
    plan = planned(recipe, matmul, body, sides, decoded, mnk, runs)
    plan = replace(plan, sms=current_device().sms)
    if accumulate and plan.meaning.spec.out.bits < 32:
        pytest.skip("only an fp32 D is added into")
    a, b = operands(recipe, matmul, mnk, current_device())
    out = torch_dtype(plan.meaning.spec.out)
    held = torch.randn(mnk[:2], device="cuda", dtype=out) if accumulate else None
    alone = replace(plan, blocks=replace(plan.blocks, split_k=1))
    # every block shared: persistent programs make way for as many as there are runs
    cut = replace(plan, blocks=replace(plan.blocks, persistent=False))
    if decoded:
        assert cut.blocks.runs(mnk[2])[0] == runs
    wanted = []
    for each in (alone, cut):
        given = None if held is None else held.clone()
        wanted.append(gemm(a, b, each, out=given, accumulate=accumulate))
    is_shared = shared(plan.blocks, mnk[:2], plan.sms, *(np.arange(size) for size in mnk[:2]))
    assert is_shared.any()
    assert not is_shared.all()
    right = torch.where(torch.from_numpy(is_shared).cuda(), wanted[1], wanted[0])
    for _ in range(20):
        given = held.clone() if accumulate else torch.full(mnk[:2], torch.nan, device="cuda", dtype=out)
        found = gemm(a, b, plan, out=given, accumulate=accumulate)
        assert torch.equal(bits(found), bits(right))


@pytest.mark.gpu
def test_a_slab_leaves_its_memory_before_the_next_block_s_takes_it():
    """A warpgroup with one slab has one part of D's memory, and two steps along K are soon over."""
    recipe, matmul, mnk = "per_tensor", "dgrad", (32768, 768, 256)
    plan = replace(planned(recipe, matmul, Body.PROMOTED, (192, 128), "", mnk, 1), sms=current_device().sms)
    assert plan.storage.buffers == 2, "two slabs have a part each; the third one has one of them"
    a, b = operands(recipe, matmul, mnk, current_device())
    wanted = bits(gemm(a, b, plan_built_in(plan.meaning.spec, mnk, HOPPER, Summation.RECIPE)))
    found = [bits(gemm(a, b, plan)) for _ in range(200)]
    assert all(torch.equal(each, wanted) for each in found)
