"""Contract: every candidate is a plan that a kernel can carry out within the GPU's memory, and each family
and shape class that the app can ask for has one GEMM to tune.
"""

import dataclasses
from itertools import product

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.bench.job import GemmJob
from kernels.device import HOPPER
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import BODIES
from kernels.gemm.meaning import Meaning, Summation, meaning_of
from kernels.gemm.plan import GemmPlan
from kernels.tune.candidates import coarse
from kernels.tune.jobs import SHAPES, jobs, simple_plan

EVERY = tuple(product(RECIPES.values(), MATMULS.values(), Summation))
JOBS = jobs(HOPPER, SHAPES)


def tries(job: GemmJob, device) -> tuple[GemmPlan, list[Blocks]]:
    plan = simple_plan(job, device)
    return plan, coarse(plan, (job.m, job.n, job.k), device)


def test_every_recipe_and_every_shape_is_tuned():
    tuned = {str(simple_plan(job, HOPPER).meaning.family) for job in JOBS.values()}
    asked = (meaning_of(recipe.spec(matmul), HOPPER, how) for recipe, matmul, how in EVERY)
    assert tuned == {str(made.family) for made in asked if isinstance(made, Meaning)}
    assert {16, 64, 256} <= {job.m for job in JOBS.values()}
    only = jobs(HOPPER, {"64-tokens": SHAPES["64-tokens"]})
    assert {job.m for job in only.values() if job.matmul != "wgrad"} == {64}
    assert {job.k for job in only.values() if job.matmul == "wgrad"} == {64}


def test_a_body_s_candidates_come_from_its_entry(monkeypatch):
    own = Blocks(block_m=128, block_n=256, block_k=128, warps=8, stages=2, persistent=True)
    entry = dataclasses.replace(BODIES[Body.SIMPLE], candidates=lambda meaning, mnk, device: iter([own, own]))
    monkeypatch.setattr("kernels.gemm.bodies.BODIES", {**BODIES, Body.SIMPLE: entry})
    _, found = tries(next(iter(JOBS.values())), HOPPER)
    assert [blocks for blocks in found if blocks.body is Body.SIMPLE] == [own]
