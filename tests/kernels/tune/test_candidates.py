"""Contract: every candidate is a plan that a kernel can carry out within the GPU's memory, and each family
and shape class that the app can ask for has one GEMM to tune.
"""

import dataclasses
from itertools import product

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE
from kernels.bench.job import GemmJob
from kernels.device import ADA, HOPPER
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import BODIES
from kernels.gemm.hopper.decoding import blocks as decoding_blocks
from kernels.gemm.hopper.sizes import CONSUMERS, SLAB
from kernels.gemm.meaning import Arithmetic, Meaning, Summation, meaning_of
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.tune.candidates import coarse, finer
from kernels.tune.jobs import SHAPES, distinct_jobs, jobs, simple_plan

EVERY = tuple(product(RECIPES.values(), MATMULS.values(), Summation))
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
        in_registers = blocks.body is Body.DECODING
        turned = blocks.transposed or (in_registers and blocks.decoded != "a")
        rows = blocks.block_n if turned else blocks.block_m
        low = not blocks.body.is_simple and blocks.block_m == SLAB and not in_registers
        low |= blocks.body.is_simple and blocks.decoded == "ab"
        low |= in_registers and blocks.warps == 16  # two warpgroups have the same rows
        assert rows >= 16 * blocks.warps // (1 + low), (
            "wgmma wants 64 rows a warpgroup, or half of the columns"
        )
        if not blocks.body.is_simple:
            a_specialized_one_fits(plan, blocks, device)
        else:
            a_simple_one_fits(plan, blocks, device)


def a_simple_one_fits(plan: GemmPlan, blocks: Blocks, device) -> None:
    element = 2 if plan.meaning.arithmetic is Arithmetic.DEQUANTIZED else 1
    taken = blocks.stages * blocks.operand_bytes(element) + blocks.decoded_bytes()
    assert taken <= device.shared_memory_bytes
    held = blocks.block_m * blocks.block_n // (32 * blocks.warps)
    assert held <= (128 if plan.meaning.promotion is WHOLE else 64)
    if plan.meaning.spec.out.bits == 32 and held == 128:
        assert blocks.split_k == 1, "these spill"
        assert not blocks.persistent, "these spill"


def a_specialized_one_fits(plan: GemmPlan, blocks: Blocks, device) -> None:
    """A warpgroup holds half of a chained block and as many numbers of the block before, two in a register.
    Of a promoted one it holds half and the partial sum of a slab; decoding, D of 64 codes and all values.
    """
    storage = dataclasses.replace(plan, blocks=blocks).storage
    assert storage.bytes <= device.shared_memory_bytes
    assert blocks.stages >= 2
    threads = 32 * blocks.warps
    held = blocks.block_m * blocks.block_n // threads
    match blocks.body:
        case Body.DECODING:
            each = decoding_blocks.runs_each(blocks, blocks.block_k * blocks.split_k)
            limit = 32 if each > 1 else 128, "of 96, 112 and 232 registers"
            held = decoding_blocks.value_rows(blocks) // 2
        case Body.CHAINED:
            held, limit = held * 3 // 2, (192, "of at most 240 registers")
        case Body.PROMOTED_THREE:
            held, limit = 2 * held, (128, "of 160 registers")
        case Body.NARROW:
            limit = 16, "one warpgroup holds it"
        case _:
            partial = SLAB * storage.out_box[1] // (threads // CONSUMERS)
            held, limit = held + partial, (192, "of at most 240 registers")
    assert held <= limit[0], limit[1]
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
    tuned = {str(simple_plan(job, HOPPER).meaning.family) for job in JOBS.values()}
    asked = (meaning_of(recipe.spec(matmul), HOPPER, how) for recipe, matmul, how in EVERY)
    assert tuned == {str(made.family) for made in asked if isinstance(made, Meaning)}
    assert {16, 64, 256} <= {job.m for job in JOBS.values()}
    only = jobs(HOPPER, {"64-tokens": SHAPES["64-tokens"]})
    assert {job.m for job in only.values() if job.matmul != "wgrad"} == {64}
    assert {job.k for job in only.values() if job.matmul == "wgrad"} == {64}


def test_every_plan_of_the_app_is_compiled_once():
    made = distinct_jobs(HOPPER, SHAPES)
    plans = [
        plan_gemm(job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), HOPPER, job.accumulation)
        for job in made.values()
    ]
    runs = {
        (plan.meaning.seen, plan.blocks, plan.blocks.runs(job.k)[0])
        for plan, job in zip(plans, made.values(), strict=True)
    }
    assert len(runs) == len(made)
    multiplied = {str(plan.meaning.family) for plan in plans}
    assert multiplied == {str(simple_plan(job, HOPPER).meaning.family) for job in JOBS.values()}


def test_a_body_s_candidates_come_from_its_entry(monkeypatch):
    own = Blocks(block_m=128, block_n=256, block_k=128, warps=8, stages=2, persistent=True)
    entry = dataclasses.replace(BODIES[Body.SIMPLE], candidates=lambda meaning, mnk, device: iter([own, own]))
    monkeypatch.setattr("kernels.gemm.bodies.BODIES", {**BODIES, Body.SIMPLE: entry})
    _, found = tries(next(iter(JOBS.values())), HOPPER)
    assert [blocks for blocks in found if blocks.body is Body.SIMPLE] == [own]
