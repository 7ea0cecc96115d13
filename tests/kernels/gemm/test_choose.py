"""Contract: the model picks blocks near the best that were measured, every plan that follows can run, and a
plan of a new shape takes few calls.
"""

import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from random import Random

import numpy as np
import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import ADA, BLACKWELL, HOPPER
from kernels.gemm import choose
from kernels.gemm.blocks import Blocks, Offer, Variant
from kernels.gemm.choose import Expanded, class_of, facts_of, predict_us, rates_of, read
from kernels.gemm.hopper.storage import takes_pairs
from kernels.gemm.meaning import Summation, meaning_of
from kernels.gemm.plan import GemmPlan, plan_built_in, plan_gemm
from kernels.gemm.variants import refusal
from kernels.measure.jobs import GemmJob
from kernels.measure.random_shapes import draw_shapes, percentile
from kernels.paths import TOP
from kernels.typed import Positive, from_data


def meaning(recipe, matmul, device=HOPPER):
    spec = RECIPES[recipe].spec(MATMULS[matmul])
    return plan_built_in(spec, (4096, 4096, 4096), device, Summation.RECIPE).meaning


def test_a_file_without_rates_is_named(tmp_path):
    (tmp_path / "sm_90.json").write_text("{}")
    with pytest.raises(ValueError, match=r"^sm_90.json has no rates of a cost model: "):
        read(tmp_path / "sm_90.json")


@pytest.mark.parametrize("device", [HOPPER, ADA, BLACKWELL], ids=lambda device: device.name)
def test_every_plan_of_a_random_draw_can_run(device):
    """GemmPlan refuses blocks that its variant does not carry out; a variant, shapes that it cannot load."""
    dice = Random(5)
    for layer in draw_shapes(60, seed=11):
        recipe, matmul = dice.choice([*RECIPES]), dice.choice([*MATMULS.values()])
        mnk = matmul.mnk(layer)
        plan = plan_gemm(RECIPES[recipe].spec(matmul), mnk, device, Summation.RECIPE)
        assert isinstance(plan, GemmPlan), (recipe, mnk, plan)
        assert refusal(plan.variant, plan.meaning, mnk, device) == "", (recipe, mnk)
        assert isinstance(plan.blocks, Blocks)
        assert plan.blocks.runs(mnk[2])[0] <= plan.blocks.split_k


def test_a_variant_that_was_never_measured_runs_only_where_no_other_can(monkeypatch):
    made, mnk, known = meaning("rowwise", "fprop"), (4096, 4352, 512), rates_of(HOPPER)
    assert choose.chosen(made, mnk, HOPPER, frozenset(Variant)).blocks.variant is not Variant.SIMPLE
    only = replace(known, variants={Variant.SIMPLE.value: known.variants[Variant.SIMPLE.value]})
    monkeypatch.setattr(choose, "rates_of", lambda device: only)
    choose.candidates_of.cache_clear()
    choose.chosen.cache_clear()
    assert choose.chosen(made, mnk, HOPPER, frozenset(Variant)).blocks.variant is Variant.SIMPLE
    assert choose.chosen(made, mnk, HOPPER, frozenset({Variant.CHAINED})).blocks.variant is Variant.CHAINED
    choose.candidates_of.cache_clear()
    choose.chosen.cache_clear()


@pytest.mark.parametrize("recipe", ["rowwise", "deepseek_v3", "mxfp8", "nvfp4"])
def test_a_plan_of_a_shape_that_no_table_has_takes_few_calls(recipe):
    spec, calls = RECIPES[recipe].fprop, Counter()
    for n in (4112, 4128):  # the first looks up what no shape changes
        plan_gemm(spec, (71, n, 7168), HOPPER, Summation.RECIPE)

    def count(frame, event, argument):
        if event == "call":
            calls[frame.f_code.co_filename] += 1

    sys.setprofile(count)
    try:
        plan_gemm(spec, (71, 4144, 7168), HOPPER, Summation.RECIPE)
    finally:
        sys.setprofile(None)
    own = [path for path in calls if path.startswith(str(TOP)) and "site-packages" not in path]
    assert sum(calls.values()) < 1000
    assert len(own) <= 8, own


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The time of a GEMM under some blocks on an H200."""

    gemm: GemmJob
    blocks: Blocks
    us: Positive


SAMPLES = [
    from_data(Sample, data)
    for data in map(json.loads, (Path(__file__).parent / "samples.jsonl").read_text().splitlines())
    if data["blocks"]
]


def predicted_us(samples: list[Sample]) -> list[float]:
    """The model's times of all samples at once."""
    rates, facts, of = rates_of(HOPPER), [], {"variants": [], "classes": []}
    for each in samples:
        meaning = meaning_of(
            each.gemm.recipe_data.spec(each.gemm.matmul_data), HOPPER, each.gemm.accumulation
        )
        is_pair = each.blocks.variant is Variant.DECODING and takes_pairs(each.blocks)
        offer = Offer(blocks=each.blocks, each=1 + is_pair)
        facts.append(facts_of(meaning, offer))
        of["variants"].append(each.blocks.variant.value)
        of["classes"].append(class_of(meaning, offer))
    numbers = {
        name: rates.vector(name, kind, keys)
        for kind, keys in of.items()
        for name in next(iter(getattr(rates, kind).values()))
    }
    split, group = (
        np.array([getattr(each.blocks, name) for each in samples]) for name in ("split_k", "group")
    )
    mnk = tuple(np.array(sizes) for sizes in zip(*(each.gemm.mnk for each in samples), strict=True))
    columns = {name: np.array([each[name] for each in facts]) for name in facts[0]}
    found = Expanded(np.arange(len(samples)), split, group)
    return predict_us(columns, numbers, rates.shared, found, mnk, HOPPER).tolist()


def test_the_models_choice_is_near_the_best_that_was_measured():
    predicted = predicted_us(SAMPLES)
    errors = [abs(log(us / each.us)) for us, each in zip(predicted, SAMPLES, strict=True)]
    assert percentile(errors, 0.5) < 0.08
    gemms = defaultdict(list)
    for us, each in zip(predicted, SAMPLES, strict=True):
        gemms[each.gemm].append((us, each.us))
    regrets = [min(each)[1] / min(us for _, us in each) - 1 for each in gemms.values() if len(each) > 1]
    assert len(regrets) > 30
    assert percentile(regrets, 0.5) <= 0.03
    assert percentile(regrets, 0.95) <= 0.12
