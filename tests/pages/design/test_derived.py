"""Contract: what follows from a recipe: the rule's verdict, exactness in bf16, bits, saved copies."""

import random
from dataclasses import replace

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS
from fp8core.contraction import contract
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, MatmulSpec, OperandSpec
from fp8core.recipes.text import to_text
from fp8core.scales import FP32_SCALE
from fp8core.tiles import WHOLE, TileShape
from kernels.measure.jobs import LAYER
from pages.design.derived import facts, verdict
from pages.kit.lesson.facts import fact

K = 1024
E4M3, E2M1 = FORMATS["e4m3"], FORMATS["e2m1"]
by_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)


def operand(k, element=E4M3, rule=FP32_SCALE) -> OperandSpec:
    return OperandSpec(format=element, tile=TileShape(1, k), scale_rule=rule)


def scales(k, seed):
    """[K]: a scale for each run of k, all different."""
    runs = 1 if k is WHOLE else -(-K // k)
    values = np.random.default_rng(seed).uniform(1, 2, runs)
    return np.repeat(values, K if k is WHOLE else k)[:K]


@pytest.mark.parametrize("unit", ["hopper_fast", "hopper_promoted", "fp32"])
def test_the_verdict_is_what_the_numbers_say(unit) -> None:
    chance = random.Random(unit)
    accumulator = ACCUMULATORS[unit]
    codes = np.random.default_rng(1).standard_normal((2, K))
    for _ in range(20):
        a, b = (chance.choice((WHOLE, 32, 64, 128, 256, 96)) for _ in range(2))
        spec = MatmulSpec(a=operand(a), b=operand(b), accumulator=accumulator, out=FORMATS["bf16"])
        sums = contract(*codes, scales(a, 2), scales(b, 3), accumulator.promotion)
        assert verdict(spec, K).holds == (abs(sums.right - sums.pulled_out) < 1e-9 * abs(sums.right))


@by_recipe
def test_every_published_recipe_holds(recipe) -> None:
    assert all(verdict(recipe.spec(matmul), K).holds for matmul in MATMULS.values())


def test_a_unit_without_the_format_is_named() -> None:
    spec = replace(RECIPES["mxfp4"].fprop, accumulator=ACCUMULATORS["hopper_fast"])
    judgment = verdict(spec, K)
    assert not judgment.holds
    assert "multiplies e4m3, e5m2, and A is e2m1" in judgment.reason


def test_mxfp8_has_six_copies_of_eight_bits_and_a_quarter():
    assert fact("design.copies", {"design_from": "mxfp8"}) == 6
    assert fact("design.bits", {"design_from": "mxfp8"}) == pytest.approx(8.25)
    assert fact("design.copies", {"design_from": "nvfp4"}) == 5


def test_a_matmul_in_bf16_rescales_nothing_and_others_once_a_tile_of_k():
    matmuls = {
        name: facts(to_text(RECIPES[name])).matmuls["fprop"] for name in ("mxfp4_train", "deepseek_v3")
    }
    assert matmuls["mxfp4_train"].rescales == 0
    assert matmuls["deepseek_v3"].rescales == LAYER.in_ // 128
