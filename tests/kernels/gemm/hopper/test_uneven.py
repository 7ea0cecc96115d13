"""Contract: where programs have equally many steps, every step of every block is done once, in the order of
K, by programs that wait only for those before them. D has the bits that it has where no block is cut.
"""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, current_device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import BODIES
from kernels.gemm.hopper import items, uneven
from kernels.gemm.hopper.order import shared
from kernels.gemm.hopper.sizes import LEAST_PART, LEAST_SHARE
from kernels.gemm.hopper.storage import filled
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_built_in
from tests.kernels.gemm.hopper.specialized_plans import bits, operands

GRIDS = [(1, 1), (2, 3), (7, 1), (3, 30), (9, 11), (12, 15), (20, 19)]
SIDES = (256, 128)
CASES = [
    ("mxfp8", "fprop", (256, 128), "b", (905, 6144, 1088)),
    ("mxfp8", "fprop", (128, 256), "a", (5789, 1100, 576)),
    ("mxfp8", "fprop", (128, 256), "b", (905, 6144, 1088)),
    ("mxfp8", "fprop", (160, 128), "b", (470, 6144, 1088)),
    ("mxfp8", "fprop", (96, 128), "b", (90, 128, 4096)),
    ("mxfp8", "fprop", (256, 128), "b", (200, 5000, 6000)),
    ("mxfp8", "fprop", (16, 128), "b", (9, 128, 640)),
    ("mxfp8", "wgrad", (256, 128), "a", (5789, 1104, 576)),
    ("mxfp8", "wgrad", (128, 192), "a", (9000, 380, 1088)),
    ("nvfp4", "fprop", (256, 128), "b", (905, 6144, 1088)),
    ("mxfp4", "dgrad", (256, 128), "b", (1030, 5000, 512)),
]
"""One block of several programs, fewer blocks than SMs, and one to five for each."""


def of_sides(sides, decoded="b", **facts):
    return Blocks(
        body=Body.DECODING,
        block_m=sides[0],
        block_n=sides[1],
        block_k=64,
        warps=8,
        stages=3,
        persistent=True,
        decoded=decoded,
        **facts,
    )


def planned(recipe, matmul, sides, decoded, mnk):
    """A plan of these blocks whose programs have equally many steps."""
    plan = plan_built_in(RECIPES[recipe].spec(MATMULS[matmul]), mnk, HOPPER, Summation.RECIPE)
    blocks = of_sides(sides, decoded)
    blocks = filled(blocks, BODIES[Body.DECODING].storage(plan.meaning, blocks), HOPPER.shared_memory_bytes)
    return replace(plan, blocks=replace(blocks, uneven=True))


@pytest.fixture
def in_python(monkeypatch):
    """Makes the kernel's arithmetic run in Python, for so many programs."""

    def run(programs):
        gl = SimpleNamespace(
            maximum=max, minimum=min, where=lambda a, b, c: b if a else c, num_programs=lambda axis: programs
        )
        for name in ("share_of", "to_edge", "items_until", "part_of"):
            monkeypatch.setattr(uneven, name, getattr(uneven, name).fn)
        monkeypatch.setattr(uneven, "gl", gl)
        monkeypatch.setattr(uneven, "count_blocks", items.count_blocks.fn)
        monkeypatch.setattr(uneven, "LEAST_PART", LEAST_PART)
        monkeypatch.setattr(uneven, "LEAST_SHARE", LEAST_SHARE)

    return run


def parts_of(grid, steps, sms):
    """(blocks, per program: its parts (block, first step, stop) in its own order) of a grid of blocks."""
    blocks, (m, n) = of_sides(SIDES, uneven=True), (grid[0] * SIDES[0], grid[1] * SIDES[1])
    assert blocks.programs(m, n, sms) == sms
    ring = SimpleNamespace(BLOCK_M=SIDES[0], BLOCK_N=SIDES[1], WHOLE=blocks.whole(m, n, sms))
    found = []
    for program in range(sms):
        share = uneven.share_of(program, m, n, steps, ring)
        taken = range(program, uneven.items_until(share, steps, ring), sms)
        parts = (uneven.part_of(item, share, steps, ring) for item in taken)
        found.append([(block, first, stop) for block, _, first, stop in parts])
    return blocks, found


@pytest.mark.parametrize("steps", [1, 2, 7, 9, 16, 21, 112])
@pytest.mark.parametrize("sms", [1, 7, 108, 132])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_every_step_of_every_block_is_one_program_s(grid, sms, steps, in_python):
    in_python(sms)
    blocks, found = parts_of(grid, steps, sms)
    seen = Counter((block, step) for mine in found for block, *ends in mine for step in range(*ends))
    assert seen == Counter({(b, s): 1 for b in range(grid[0] * grid[1]) for s in range(steps)})
    if steps >= 4 * LEAST_PART:
        mnk = (grid[0] * SIDES[0], grid[1] * SIDES[1], steps * 64)
        whole = blocks.whole(*mnk[:2], sms) // sms * steps
        longest = max(sum(stop - first for _, first, stop in mine) for mine in found)
        assert longest <= whole + blocks.share(mnk, sms) + 2 * (LEAST_PART - 1)


@pytest.mark.parametrize("steps", [1, 7, 9, 21, 112])
@pytest.mark.parametrize("sms", [7, 108, 132])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_a_program_goes_on_with_what_the_one_before_it_has_passed_on_first(grid, sms, steps, in_python):
    """It passes on the first of its parts, and goes on with another's in the last: nobody waits in a ring."""
    in_python(sms)
    blocks, found = parts_of(grid, steps, sms)
    whole = blocks.whole(grid[0] * SIDES[0], grid[1] * SIDES[1], sms) // sms
    passed = {}
    for program, mine in enumerate(found):
        for place, (block, first, stop) in enumerate(mine):
            assert (first, stop) == (0, steps) or stop - first >= LEAST_PART
            if stop < steps:
                assert place == whole, "the first after whole waves"
                passed[program] = (block, stop)
    for program, mine in enumerate(found):
        for place, (block, first, _) in enumerate(mine):
            if first > 0:
                assert place == len(mine) - 1
                assert passed.pop(program - 1) == (block, first)
    assert not passed, "every sum is gone on with"


@pytest.mark.gpu
@pytest.mark.parametrize("accumulate", [False, True], ids=["new", "added"])
@pytest.mark.parametrize(("recipe", "matmul", "sides", "decoded", "mnk"), CASES, ids=str)
def test_d_has_the_bits_of_whole_blocks(recipe, matmul, sides, decoded, mnk, accumulate):
    device = current_device()
    plan = replace(planned(recipe, matmul, sides, decoded, mnk), sms=device.sms)
    dtype = torch_dtype(plan.meaning.spec.out)
    if accumulate and dtype is not torch.float32:
        pytest.skip("only an fp32 D is added into")
    a, b = operands(recipe, matmul, mnk, device)
    held = (
        torch.randn(mnk[:2], device="cuda") if accumulate else torch.full(mnk[:2], torch.nan, device="cuda")
    )
    held = held.to(dtype)
    whole = replace(plan, blocks=replace(plan.blocks, uneven=False))
    wanted = bits(gemm(a, b, whole, out=held.clone(), accumulate=accumulate))
    for _ in range(100):
        found = gemm(a, b, plan, out=held.clone(), accumulate=accumulate)
        assert torch.equal(bits(found), wanted)


LAST_WAVES = [
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


def last_wave_plan(recipe, matmul, body, sides, decoded, mnk, runs):
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
@pytest.mark.parametrize(("recipe", "matmul", "body", "sides", "decoded", "mnk"), LAST_WAVES, ids=str)
def test_shared_blocks_are_sums_of_runs_and_the_others_whole(
    recipe, matmul, body, sides, decoded, mnk, runs, accumulate
):
    plan = last_wave_plan(recipe, matmul, body, sides, decoded, mnk, runs)
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
    plan = replace(
        last_wave_plan(recipe, matmul, Body.PROMOTED, (192, 128), "", mnk, 1),
        sms=current_device().sms,
    )
    assert plan.storage.buffers == 2, "two slabs have a part each; the third one has one of them"
    a, b = operands(recipe, matmul, mnk, current_device())
    wanted = bits(gemm(a, b, plan_built_in(plan.meaning.spec, mnk, HOPPER, Summation.RECIPE)))
    found = [bits(gemm(a, b, plan)) for _ in range(200)]
    assert all(torch.equal(each, wanted) for each in found)
