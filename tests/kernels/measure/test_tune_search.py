"""Contract: the tuner times only blocks that run and give the right bits, with clocks that they have to
themselves, and keeps the fastest of each schedule, hot and cold.
"""

import dataclasses
from itertools import product

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.numerics import Numerics, Summation, numerics_of
from kernels.gemm.plan import GemmPlan
from kernels.gemm.tuned import shape_class, table
from kernels.measure.jobs import Cache, GemmJob
from kernels.measure.tune import SHAPES, Outcome, coarse, jobs, search, simple_plan
from tests.kernels.gemm.tuned_rows import SPLIT

JOB = GemmJob(recipe="rowwise", matmul="dgrad", m=64, n=4096, k=14336)
SPECIALIZED = tuple(variant for variant in Variant if not variant.is_simple)
MNK = (JOB.m, JOB.n, JOB.k)


class Stand:
    """A bench whose blocks take as long as they have warps and stages; `wrong` ones give wrong bits."""

    def __init__(self, wrong=lambda blocks: False) -> None:
        self.wrong, self.checked, self.timed = wrong, [], []

    def fault(self, blocks):
        self.checked.append(blocks)
        return f"wrong: {blocks.title}" if self.wrong(blocks) else ""

    def times_us(self, tries, *, cache=Cache.HOT, **how):
        GemmJob(**{**vars(JOB), **how, "cache": cache})  # fields of a job
        if cache is Cache.COLD:
            return dict.fromkeys(tries, 50.0)
        self.timed += tries
        return {blocks: 100.0 * blocks.warps - blocks.split_k + blocks.stages for blocks in tries}


def found_by(bench, device=HOPPER, compile_=lambda tries: [""] * len(tries), variants=(), job=JOB) -> Outcome:
    return search(
        simple_plan(job, device),
        (job.m, job.n, job.k),
        device,
        compile_=compile_,
        bench=bench,
        tell=lambda fraction, note: None,
        variants=variants,
    )


def test_bodies_are_searched_anew_beside_what_the_table_has_of_the_others():
    bench = Stand()
    found = found_by(bench, variants=SPECIALIZED)
    plan = simple_plan(JOB, HOPPER)
    own = {b for b in coarse(plan, MNK, HOPPER) if not b.variant.is_simple}
    shape = shape_class(MNK, HOPPER.sms)
    tabled = {r.blocks for r in table(HOPPER.capability)[plan.numerics.family] if r.shape == shape}
    simple = {blocks for blocks in tabled if blocks.variant.is_simple}
    assert own
    assert simple
    assert set(bench.checked) == own | simple, "no candidate of the other variants, and none varied"
    assert {blocks.variant.is_simple for blocks in found.fastest()} == {True, False}


def test_the_fastest_right_blocks_are_found():
    bench = Stand()
    found = found_by(bench)
    best, specialized = found.fastest()
    assert [best.variant.is_simple, specialized.variant.is_simple] == [True, False]
    assert found.times[best] == min(found.times.values())
    assert best not in coarse(simple_plan(JOB, HOPPER), MNK, HOPPER), "a variation of the best did better"
    assert set(bench.timed) <= set(bench.checked)
    assert found.dropped == found.wrong == []


def test_wrong_bits_and_what_does_not_compile_are_not_timed():
    bench = Stand(wrong=lambda blocks: blocks.split_k == 4)
    found = found_by(bench, compile_=lambda tries: ["no" if b.block_n == 64 else "" for b in tries])
    assert found.wrong
    assert all("K split in 4" in fault for fault in found.wrong)
    assert found.dropped
    assert not any(blocks.split_k == 4 or blocks.block_n == 64 for blocks in bench.timed)
    assert not any(blocks.block_n == 64 for blocks in bench.checked)


def test_a_cold_launch_weighs_as_much_as_a_hot_one():
    two_stages = dataclasses.replace(SPLIT, stages=2)
    times = {SPLIT: 100.0, two_stages: 103.0}
    assert Outcome(times=times, cold={SPLIT: 100.0, two_stages: 96.0}).fastest() == [two_stages]
    assert Outcome(times=times, cold={SPLIT: 100.0, two_stages: 98.0}).fastest() == [SPLIT]
    found = found_by(bench := Stand())
    assert found.cold == dict.fromkeys(found.times, 50.0)
    assert set(found.times) <= set(bench.timed)


EVERY = tuple(product(RECIPES.values(), MATMULS.values(), Summation))


def tries(job: GemmJob, device) -> tuple[GemmPlan, list[Blocks]]:
    plan = simple_plan(job, device)
    return plan, coarse(plan, (job.m, job.n, job.k), device)


def test_every_recipe_and_every_shape_is_tuned():
    every = jobs(HOPPER, SHAPES).values()
    tuned = {simple_plan(job, HOPPER).numerics.family for job in every}
    asked = (numerics_of(recipe.spec(matmul), HOPPER, how) for recipe, matmul, how in EVERY)
    assert tuned == {str(made.family) for made in asked if isinstance(made, Numerics)}
    assert {16, 64, 256} <= {job.m for job in every}
    only = jobs(HOPPER, {"64-tokens": SHAPES["64-tokens"]})
    assert {job.m for job in only.values() if job.matmul != "wgrad"} == {64}
    assert {job.k for job in only.values() if job.matmul == "wgrad"} == {64}
