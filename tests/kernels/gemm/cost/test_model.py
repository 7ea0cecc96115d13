"""Contract: a predicted time obeys what hardware obeys, and every plan that follows from it can run."""

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.bench.any_shape import draw_shapes
from kernels.device import ADA, BLACKWELL, HOPPER
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import refusal
from kernels.gemm.cost import choose
from kernels.gemm.cost.choose import predicted_us, ranked
from kernels.gemm.cost.constants import constants_of, cost_path, read
from kernels.gemm.cost.model import predict_us
from kernels.gemm.cost.work import work_of
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import GemmPlan, plan_built_in, plan_gemm

CASES = [("rowwise", "fprop"), ("rowwise", "wgrad"), ("deepseek_v3", "fprop"), ("mxfp8", "fprop")]
by_case = pytest.mark.parametrize(("recipe", "matmul"), CASES)
OUT = {"bf16": 2, "fp32": 4}
MEMORY_GB_S, FP8_TFLOP_S = 4916.0, 1979.0
"""An H200's datasheet."""


def meaning(recipe, matmul, device=HOPPER):
    spec = RECIPES[recipe].spec(MATMULS[matmul])
    return plan_built_in(spec, (4096, 4096, 4096), device, Summation.RECIPE).meaning


@by_case
def test_more_of_k_is_never_faster(recipe, matmul):
    made, found = meaning(recipe, matmul), {}
    for k in (128, 512, 2048, 8192, 32768):
        for each in ranked(made, (1024, 4096, k), HOPPER, Body):
            if each.blocks.split_k == 1:
                found.setdefault(each.blocks, []).append(each.us)
    assert len(found) > 3
    for blocks, times in found.items():
        assert all(less <= more for less, more in pairwise(times)), blocks.title


@by_case
def test_nothing_is_faster_than_the_datasheet_allows(recipe, matmul):
    made = meaning(recipe, matmul)
    for mnk in ((16, 14336, 4096), (4096, 4096, 7168), (8192, 8192, 8192), (14336, 4096, 16)):
        m, n, k = mnk
        out = m * n * OUT[made.spec.out.name] / MEMORY_GB_S / 1e3
        least = max(2 * m * n * k / FP8_TFLOP_S / 1e6, out)
        assert ranked(made, mnk, HOPPER, Body)[0].us > least, mnk


def test_one_block_more_than_a_wave_costs_a_wave():
    made = meaning("rowwise", "fprop")
    blocks = next(
        each.blocks
        for each in ranked(made, (128 * 132, 256, 4096), HOPPER, [Body.CHAINED])
        if each.blocks.block_n == 256
    )
    one, more, two = (
        predicted_us(made, blocks, (128 * count, 256, 4096), HOPPER) for count in (132, 133, 264)
    )
    assert more > 1.5 * one
    assert more == pytest.approx(two, rel=0.25)


def test_a_split_pays_where_sms_would_stand_idle_and_only_there():
    made = meaning("rowwise", "wgrad")
    idle, full = (ranked(made, mnk, HOPPER, Body)[0] for mnk in ((512, 512, 32768), (8192, 8192, 32768)))
    assert idle.blocks.split_k > 1
    assert full.blocks.split_k == 1


def test_no_sm_takes_more_from_the_l2_than_any_was_seen_to():
    """Low blocks load many bytes for each product."""
    made, mnk = meaning("per_tensor", "fprop"), (424, 5120, 8192)
    found = {each.blocks: each.us for each in ranked(made, mnk, HOPPER, [Body.CHAINED_SHARED])}
    low = next(each for each in found if (each.block_m, each.block_n, each.split_k) == (64, 128, 1))
    loaded = 3 * (8192 // 128) * (64 + 128) * 128  # three blocks of an SM
    assert found[low] > loaded / constants_of(HOPPER).shared.sm_gb_s / 1e3
    assert min(found, key=lambda each: found[each]).block_m > 64


def test_rows_that_tma_makes_of_zeros_are_those_of_blocks_that_cannot_begin_earlier():
    made, mnk = meaning("per_tensor", "dgrad"), (1601, 1536, 4096)
    blocks = {
        (each.blocks.block_m, each.blocks.split_k, each.blocks.persistent): each.blocks
        for each in ranked(made, mnk, HOPPER, [Body.PROMOTED])
    }
    known = next(each for each in blocks.values() if each.block_m == 192 and each.split_k == 1)
    assert work_of(made, known, mnk, HOPPER).zero_rows == 15  # 1601 - 192 is no multiple of 16
    last = replace(known, split_k=2)
    assert (
        work_of(made, last, mnk, HOPPER).zero_rows == 127
    )  # some programs have runs of what others have whole
    assert work_of(made, known, (1728, 1536, 4096), HOPPER).zero_rows == 0


def test_shares_of_equal_length_shorten_a_last_wave_that_is_not_full():
    """200 blocks of 256 × 128: 146 µs on an H200, where two waves of whole ones took 168."""
    made, mnk = meaning("mxfp8", "fprop"), (1172, 5120, 8192)
    best = ranked(made, mnk, HOPPER, Body)[0].blocks
    assert best.uneven
    whole = replace(best, uneven=False)
    shares, waves = (work_of(made, blocks, mnk, HOPPER) for blocks in (best, whole))
    assert (shares.units, shares.steps, shares.all_steps) == (132, 194, waves.all_steps)
    assert shares.zero_rows == waves.zero_rows
    assert 1.05 < predicted_us(made, whole, mnk, HOPPER) / predicted_us(made, best, mnk, HOPPER) < 1.3


def test_programs_out_of_step_read_for_themselves_what_the_l2_cannot_hold():
    """384 blocks of 448 steps: 1011 µs with equal shares, 921 in waves, whose programs are in step."""
    made = meaning("mxfp8", "fprop")
    best = ranked(made, (1345, 8192, 28672), HOPPER, [Body.DECODING])[0].blocks
    assert not best.uneven
    for k, held in ((4096, True), (28672, False)):
        mnk = (1345, 8192, k)
        cases = [replace(best, uneven=uneven) for uneven in (False, True)]
        waves, shares = (work_of(made, blocks, mnk, HOPPER).read_bytes for blocks in cases)
        assert (shares < 1.2 * waves) if held else (shares > 2 * waves)


def test_programs_that_end_with_their_run_pay_for_each_wave():
    """380 programs of seven steps took twice as long as 190 of thirteen on 132 SMs."""
    made, mnk = meaning("per_tensor", "fprop"), (308, 9552, 1648)
    known = next(
        each.blocks
        for each in ranked(made, mnk, HOPPER, [Body.CHAINED_SHARED])
        if (each.blocks.block_m, each.blocks.block_n, each.blocks.split_k) == (64, 256, 1)
    )
    split = replace(known, split_k=2, persistent=False)
    assert predicted_us(made, split, mnk, HOPPER) > 1.3 * predicted_us(made, known, mnk, HOPPER)


def test_two_programs_an_sm_read_faster_than_one_on_some_of_them():
    """80 blocks of 64 × 128 took 18.2 µs, 160 of 16 × 64 took 15.6."""
    made, mnk = meaning("per_tensor", "fprop"), (2, 10240, 5120)
    best = ranked(made, mnk, HOPPER, Body)[0].blocks
    assert best.count(*mnk[:2]) > HOPPER.sms


def test_three_warpgroups_promote_high_blocks_faster_than_two():
    """1601 × 1536 × 4096: 19.5 µs beside 24.8, of blocks of one size."""
    made, mnk = meaning("per_tensor", "dgrad"), (1601, 1536, 4096)
    found = [each.blocks for each in ranked(made, mnk, HOPPER, Body)]
    bodies = [each.body for each in found if (each.block_m, each.block_n) == (192, 128)]
    assert bodies[0] is found[0].body is Body.PROMOTED_THREE


def test_a_pass_before_the_kernel_costs_its_bytes():
    made = meaning("mxfp8", "wgrad")
    decoded = {len(each.blocks.decoded): each for each in ranked(made, (512, 512, 256), HOPPER, Body)}
    passes = [work_of(made, decoded[count].blocks, (512, 512, 256), HOPPER).passes for count in range(3)]
    assert [each.bytes for each in passes[0]] == [512 * 256 * 3] * 2
    assert [len(each) for each in passes] == [2, 1, 0]


def test_scales_that_tma_cannot_load_are_copied_before_the_kernel():
    made = meaning("mxfp8", "fprop")
    for m, copies in ((4096, 0), (4097, 1)):
        found = next(
            e for e in ranked(made, (m, 256, 4096), HOPPER, [Body.DECODING]) if e.blocks.decoded == "a"
        )
        b, *copied = sorted(
            each.bytes for each in work_of(made, found.blocks, (m, 256, 4096), HOPPER).passes
        )[::-1]
        assert b == 256 * 4096 * 3
        assert copied == [2 * m * 4096 / 32] * copies


def test_the_shipped_constants_say_how_well_they_fit():
    constants = read(cost_path((9, 0)))
    assert constants.error.measurements > 100
    assert 0 < constants.error.median < constants.error.p95 < 0.5
    assert all(rate.step_ns > 0 and rate.fixed_ns > 0 for rate in constants.variants)
    assert len({rate.variant for rate in constants.variants}) == len(constants.variants)


def test_constants_follow_the_facts_of_a_device():
    there = replace(HOPPER, clock_mhz=1980.0, memory_gb_s=4916.0)
    slower = replace(there, memory_gb_s=3352.0)
    made, mnk = meaning("rowwise", "fprop"), (16, 14336, 4096)
    one, other = (ranked(made, mnk, device, Body)[0].us for device in (there, slower))
    assert 1.2 < other / one < 4916 / 3352
    fewer = replace(there, sms=114)
    work = [work_of(made, each.blocks, mnk, fewer) for each in ranked(made, mnk, fewer, Body)]
    assert all(each.sms == 114 for each in work)
    assert constants_of(HOPPER).shared == read(cost_path((9, 0))).shared, "unknown facts change nothing"


def test_blocks_that_nobody_measured_are_predicted_by_the_nearest(monkeypatch):
    made, constants = meaning("rowwise", "fprop"), constants_of(HOPPER)
    known = ranked(made, (4096, 4096, 4096), HOPPER, [Body.CHAINED])[0].blocks
    other = replace(known, stages=known.stages - 1)
    mnk = (4096, 4096, 4096)
    assert constants.rate(work_of(made, other, mnk, HOPPER).variant).count == 0
    times = [predict_us(work_of(made, blocks, mnk, HOPPER), constants) for blocks in (known, other)]
    assert times[0] == pytest.approx(times[1], rel=0.05)


def test_a_file_without_constants_is_named(tmp_path):
    (tmp_path / "sm_90.json").write_text("{}")
    with pytest.raises(ValueError, match=r"^sm_90.json has no constants of a cost model: "):
        read(tmp_path / "sm_90.json")


@pytest.mark.parametrize("device", [HOPPER, ADA, BLACKWELL], ids=lambda device: device.name)
def test_every_plan_of_a_random_draw_can_run(device):
    """GemmPlan refuses blocks that its body does not carry out; a body refuses shapes that it cannot load."""
    dice = Random(5)
    for layer in draw_shapes(60, seed=11):
        recipe, matmul = dice.choice([*RECIPES]), dice.choice([*MATMULS.values()])
        mnk = matmul.mnk(layer)
        plan = plan_gemm(RECIPES[recipe].spec(matmul), mnk, device, Summation.RECIPE)
        assert isinstance(plan, GemmPlan), (recipe, mnk, plan)
        assert refusal(plan.body, plan.meaning, mnk, device) == "", (recipe, mnk)
        assert isinstance(plan.blocks, Blocks)
        assert plan.blocks.runs(mnk[2])[0] <= plan.blocks.split_k


def test_a_body_that_was_never_measured_runs_only_where_no_other_can(monkeypatch):
    made, mnk, known = meaning("rowwise", "fprop"), (4096, 4352, 512), constants_of(HOPPER)
    assert choose.chosen(made, mnk, HOPPER, frozenset(Body)).blocks.body is not Body.SIMPLE
    only = replace(known, bodies={Body.SIMPLE.value: known.body(Body.SIMPLE.value)})
    monkeypatch.setattr(choose, "constants_of", lambda device: only)
    choose.chosen.cache_clear()
    assert choose.chosen(made, mnk, HOPPER, frozenset(Body)).blocks.body is Body.SIMPLE
    assert choose.chosen(made, mnk, HOPPER, frozenset({Body.CHAINED})).blocks.body is Body.CHAINED
    choose.chosen.cache_clear()
