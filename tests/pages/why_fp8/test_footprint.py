"""The memory of a layer: against Transformer Engine's figures, and its pieces against the recipe."""

import pytest

from fp8core.linear import LayerShape
from fp8core.recipes import RECIPES
from pages.kit.sourced import sourced
from pages.why_fp8.footprint import (
    GRADIENT,
    INPUT,
    RESULT,
    WEIGHT,
    WEIGHT_COPIES,
    footprint,
    total,
)
from pages.why_fp8.table_of_checks import counted_mib

LAYER = LayerShape(256, 512, 1024)
WEIGHTS, INPUTS, RESULTS = 512 * 1024, 256 * 512, 256 * 1024


@pytest.mark.parametrize("one", sourced().measured, ids=lambda one: one.name)
def test_the_sum_agrees_with_what_transformer_engine_measured(one):
    assert counted_mib(one) == pytest.approx(one.mib, rel=0.01)


def test_bf16_keeps_the_weight_the_input_and_the_result():
    found = footprint(None, LAYER, "forward", "bf16")
    assert found == {
        WEIGHT: 2 * WEIGHTS,
        WEIGHT_COPIES: 0,
        INPUT: 2 * INPUTS,
        GRADIENT: 0,
        RESULT: 2 * RESULTS,
    }
    assert footprint(None, LAYER, "forward", "fp32")[WEIGHT_COPIES] == 2 * WEIGHTS
    assert total(None, LAYER, "inference", "bf16") == 2 * WEIGHTS + 2 * RESULTS


def test_the_backward_pass_holds_both_layouts_of_the_weight():
    forward, backward = (
        footprint(RECIPES["per_tensor"], LAYER, moment, "bf16") for moment in ("forward", "backward")
    )
    scale = 4
    assert forward[WEIGHT_COPIES] == WEIGHTS + scale
    assert backward[WEIGHT_COPIES] == 2 * WEIGHTS + scale
    assert forward[INPUT] == backward[INPUT] == INPUTS + scale


def test_wgrad_in_bf16_keeps_its_input_in_bf16():
    assert footprint(RECIPES["rowwise_hp_wgrad"], LAYER, "forward", "bf16")[INPUT] == 2 * INPUTS


@pytest.mark.parametrize("name", RECIPES)
def test_fewer_bits_are_larger_with_few_tokens_and_smaller_with_many(name):
    few, many = LayerShape(128, 4096, 4096), LayerShape(1 << 17, 4096, 4096)
    assert total(RECIPES[name], few, "forward", "bf16") > total(None, few, "forward", "bf16")
    if name != "rowwise_hp_wgrad":
        assert total(RECIPES[name], many, "forward", "bf16") < total(None, many, "forward", "bf16")
