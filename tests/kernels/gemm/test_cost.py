"""Contract: the cost model is as exact as its file says, and every plan that follows from it can run."""

from collections import defaultdict
from dataclasses import replace
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
from kernels.gemm.cost.constants import constants_of, read
from kernels.gemm.cost.model import predict_us
from kernels.gemm.cost.work import work_of
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import GemmPlan, plan_built_in, plan_gemm
from kernels.tune.sample import read_samples


def meaning(recipe, matmul, device=HOPPER):
    spec = RECIPES[recipe].spec(MATMULS[matmul])
    return plan_built_in(spec, (4096, 4096, 4096), device, Summation.RECIPE).meaning


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
    known = constants_of(HOPPER)
    return [
        predict_us(work_of(sample.gemm.meaning(HOPPER), sample.blocks, sample.gemm.mnk, HOPPER), known)
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
