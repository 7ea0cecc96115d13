"""Contract: a predicted time obeys what hardware obeys, and every plan that follows from it can run."""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from math import log
from pathlib import Path
from random import Random

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.bench.any_shape import draw_shapes, percentile
from kernels.device import ADA, BLACKWELL, HOPPER
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import refusal
from kernels.gemm.cost import choose
from kernels.gemm.cost.choose import predicted_us, ranked
from kernels.gemm.cost.constants import constants_of, cost_path, read
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import GemmPlan, plan_built_in, plan_gemm
from kernels.tune.sample import read_samples

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


def test_the_shipped_constants_say_how_well_they_fit():
    constants = read(cost_path((9, 0)))
    assert constants.error.measurements > 100
    assert 0 < constants.error.median < constants.error.p95 < 0.5
    assert all(rate.step_ns > 0 and rate.fixed_ns > 0 for rate in constants.variants)
    assert len({rate.variant for rate in constants.variants}) == len(constants.variants)


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


SAMPLES = read_samples(Path(__file__).parent / "samples.jsonl")


@pytest.fixture(scope="module")
def predicted():
    """The model's microseconds for each sample."""
    return [
        predicted_us(sample.gemm.meaning(HOPPER), sample.blocks, sample.gemm.mnk, HOPPER)
        for sample in SAMPLES
    ]


def test_the_error_is_the_one_that_the_file_says(predicted):
    error = constants_of(HOPPER).error
    found = [abs(log(us / sample.us)) for us, sample in zip(predicted, SAMPLES, strict=True)]
    assert len(found) > 100
    assert percentile(found, 0.5) < 1.5 * error.median
    assert percentile(found, 0.95) < 1.5 * error.p95


def test_the_models_choice_is_near_the_best_that_was_measured(predicted):
    gemms = defaultdict(list)
    for us, sample in zip(predicted, SAMPLES, strict=True):
        gemms[sample.gemm].append((us, sample.us))
    regrets = [min(each)[1] / min(us for _, us in each) - 1 for each in gemms.values()]
    assert len(regrets) > 30
    assert percentile(regrets, 0.5) <= 0.03
    assert percentile(regrets, 0.95) <= 0.12
