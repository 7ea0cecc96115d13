"""Contract: every candidate is a plan that a kernel can carry out within the GPU's memory, and each family
and shape class that the app can ask for has one GEMM to tune.
"""

import dataclasses
from math import prod

import pytest

from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE
from kernels.bench.job import GemmJob
from kernels.device import ADA, HOPPER
from kernels.gemm.blocks import Blocks, Schedule
from kernels.gemm.hopper.decoding import blocks as decoding_blocks
from kernels.gemm.hopper.narrow_blocks import SIDES
from kernels.gemm.hopper.sizes import CHAINED, CONSUMERS, SLAB
from kernels.gemm.hopper.storage import buffers, out_box, stage_bytes
from kernels.gemm.meaning import Arithmetic
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.tune.candidates import COARSE, coarse, finer
from kernels.tune.jobs import SHAPES, distinct_jobs, jobs, simple_plan

JOBS = jobs(HOPPER, SHAPES)
DEVICES = pytest.mark.parametrize("device", [HOPPER, ADA], ids=lambda device: device.name)


def tries(job: GemmJob, device) -> tuple[GemmPlan, list[Blocks]]:
    plan = simple_plan(job, device)
    return plan, coarse(plan, (job.m, job.n, job.k), device)


@DEVICES
@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_every_candidate_is_a_plan_that_fits(job, device):
    plan, first = tries(job, device)
    assert first
    assert len(set(first)) == len(first)
    varied = finer(plan, (job.m, job.n, job.k), device, first[0])
    assert first[0] not in varied
    for blocks in [*first, *varied]:
        dataclasses.replace(plan, blocks=blocks)
        assert blocks.tma == (device is HOPPER)
        in_registers = blocks.schedule is Schedule.SPECIALIZED and bool(blocks.decoded)
        turned = blocks.transposed or (in_registers and blocks.decoded == "b")
        rows = blocks.block_n if turned else blocks.block_m
        low = blocks.schedule is Schedule.SPECIALIZED and blocks.block_m == SLAB and not in_registers
        assert rows >= 16 * blocks.warps // (1 + low), (
            "wgmma wants 64 rows a warpgroup, or half of the columns"
        )
        if in_registers:
            one_that_decodes_in_registers_fits(plan, blocks, device)
        elif blocks.schedule is Schedule.SPECIALIZED:
            a_specialized_one_fits(plan, blocks, device)
        else:
            a_simple_one_fits(plan, blocks, device)


def a_simple_one_fits(plan: GemmPlan, blocks: Blocks, device) -> None:
    element = 2 if plan.kernel is Arithmetic.DEQUANTIZED else 1
    taken = blocks.stages * blocks.operand_bytes(element) + blocks.decoded_bytes()
    assert taken <= device.shared_memory_bytes
    held = blocks.block_m * blocks.block_n // (32 * blocks.warps)
    assert held <= (128 if plan.promotion is WHOLE else 64)
    if plan.spec.out.bits == 32 and held == 128:
        assert blocks.split_k == 1, "these spill"
        assert not blocks.persistent, "these spill"


def one_that_decodes_in_registers_fits(plan: GemmPlan, blocks: Blocks, device) -> None:
    """A warpgroup holds D of 64 rows of codes and all rows of values. It leaves through what the ring leaves
    free, as the sums of a second run of K do.
    """
    rows = decoding_blocks.value_rows(blocks)
    ring = blocks.stages * decoding_blocks.stage_bytes(plan.spec, blocks.decoded, rows)
    under_way = CONSUMERS * decoding_blocks.buffers(plan.spec, rows)
    parts = under_way * prod(decoding_blocks.out_box(plan.spec, blocks)) * plan.spec.out.bytes
    each = decoding_blocks.runs_each(blocks, blocks.block_k * blocks.split_k)
    sums = blocks.block_m * blocks.block_n * 4 if blocks.split_k == each == 2 else 0
    assert ring + parts + sums + 16 * blocks.stages <= device.shared_memory_bytes
    assert blocks.stages >= 2
    assert rows // 2 <= (32 if each > 1 else 128), "of 112 and of 232 registers"


def a_specialized_one_fits(plan: GemmPlan, blocks: Blocks, device) -> None:
    """D leaves in parts. A warpgroup holds half of a chained block and as many numbers of the block before,
    two in a register; or half of a promoted one and the partial sum of a slab.
    """
    ring = blocks.stages * stage_bytes(plan.spec, plan.scale_at, blocks.block_m, blocks.block_n)
    under_way = CONSUMERS * buffers(
        plan.spec, plan.scale_at, plan.promotion, blocks, device.shared_memory_bytes
    )
    parts = under_way * prod(out_box(blocks.block_m, blocks.block_n)) * plan.spec.out.bytes
    assert ring + parts <= device.shared_memory_bytes
    assert blocks.stages >= 2
    threads = 32 * blocks.warps
    if plan.promotion is WHOLE:
        assert (blocks.block_m, blocks.block_n) in (CHAINED, SIDES)
        held = blocks.block_m * blocks.block_n // threads * 3 // 2
    else:
        partial = SLAB * out_box(blocks.block_m, blocks.block_n)[1] // (threads // CONSUMERS)
        held = blocks.block_m * blocks.block_n // threads + partial
    assert held <= 192, "of at most 240 registers"
    assert not finer(plan, (4096, 4096, 4096), device, blocks), "the coarse list is all there is"


def test_k_is_split_only_where_sms_stand_idle():
    large = JOBS["fp8 epilogue fast bf16 row·row | rows≤512 waves≤2^4 depth≤16384"]
    assert all(blocks.split_k == 1 for blocks in tries(large, HOPPER)[1])
    skinny = JOBS["fp8 k_loop promoted-128 bf16 line·square | rows≤16 waves≤2^-2 depth≤16384"]
    splits = {blocks.split_k for blocks in tries(skinny, HOPPER)[1]}
    assert {1, 2, 4, 8} <= splits
    for blocks in tries(skinny, HOPPER)[1]:
        runs, steps = blocks.runs(skinny.k)
        assert runs == 1 or steps >= 4


def test_every_recipe_and_every_shape_is_tuned():
    assert {job.recipe for job in JOBS.values()} == set(RECIPES) - {"per_tensor_e4m3"}, (
        "per_tensor_e4m3 shares its families with per_tensor"
    )
    assert {16, 64, 256} <= {job.m for job in JOBS.values()}
    only = jobs(HOPPER, {"64-tokens": SHAPES["64-tokens"]})
    assert {job.m for job in only.values() if job.matmul != "wgrad"} == {64}
    assert {job.k for job in only.values() if job.matmul == "wgrad"} == {64}


def test_every_plan_of_the_app_is_compiled_once():
    made = distinct_jobs(HOPPER, SHAPES)
    asked = [
        plan_gemm(job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), HOPPER, job.accumulation)
        for job in made.values()
    ]
    runs = {(plan, plan.blocks.runs(job.k)[0]) for plan, job in zip(asked, made.values(), strict=True)}
    assert len(runs) == len(made)
    plans = [simple_plan(job, HOPPER) for job in made.values()]
    assert {job.recipe for job in made.values()} == set(RECIPES)
    assert {plan.operands for plan in plans} == {
        spec for recipe in RECIPES.values() for spec in (recipe.fprop, recipe.dgrad, recipe.wgrad)
    }


def test_a_schedule_s_candidates_are_one_entry(monkeypatch):
    own = Blocks(
        schedule=Schedule.SPECIALIZED,
        block_m=128,
        block_n=256,
        block_k=128,
        warps=4,
        stages=4,
        persistent=True,
    )
    monkeypatch.setitem(COARSE, Schedule.SPECIALIZED, lambda plan, mnk, device: iter([own, own]))
    _, found = tries(next(iter(JOBS.values())), HOPPER)
    assert found.count(own) == 1
