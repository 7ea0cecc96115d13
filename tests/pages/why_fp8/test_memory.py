"""Memory: a layer against its recipe and Transformer Engine, the KV cache against a count by hand."""

import pytest

from fp8core.linear import LayerShape
from fp8core.recipes import RECIPES
from kernels.measure.peak_rates import PEAK_RATES
from pages.why_fp8 import memory
from pages.why_fp8.controls import model_of
from pages.why_fp8.facts import CONTROLS
from pages.why_fp8.sourced import sourced

DEFAULTS = {control.key: control.default for control in CONTROLS}
LAYER = LayerShape(256, 512, 1024)
WEIGHTS, INPUTS, RESULTS = 512 * 1024, 256 * 512, 256 * 1024


def total(*case) -> int:
    return sum(memory.footprint(*case).values())


@pytest.mark.parametrize("one", sourced().measured, ids=lambda one: one.name)
def test_the_sum_agrees_with_what_transformer_engine_measured(one):
    assert memory.counted_mib(one) == pytest.approx(one.mib, rel=0.01)


def test_bf16_keeps_the_weight_the_input_and_the_result():
    assert memory.footprint(None, LAYER, "forward", "bf16") == {
        memory.WEIGHT: 2 * WEIGHTS,
        memory.COPIES: 0,
        memory.INPUT: 2 * INPUTS,
        memory.GRADIENT: 0,
        memory.RESULT: 2 * RESULTS,
    }
    assert memory.footprint(None, LAYER, "forward", "fp32")[memory.COPIES] == 2 * WEIGHTS
    assert total(None, LAYER, "inference", "bf16") == 2 * WEIGHTS + 2 * RESULTS


def test_the_backward_pass_holds_both_layouts_of_the_weight():
    forward, backward = (
        memory.footprint(RECIPES["per_tensor"], LAYER, moment, "bf16") for moment in ("forward", "backward")
    )
    scale = 4
    assert forward[memory.COPIES] == WEIGHTS + scale
    assert backward[memory.COPIES] == 2 * WEIGHTS + scale
    assert forward[memory.INPUT] == backward[memory.INPUT] == INPUTS + scale
    assert memory.footprint(RECIPES["rowwise_hp_wgrad"], LAYER, "forward", "bf16")[memory.INPUT] == 2 * INPUTS


@pytest.mark.parametrize("name", RECIPES)
def test_fewer_bits_are_larger_with_few_tokens_and_smaller_with_many(name):
    few, many = LayerShape(128, 4096, 4096), LayerShape(1 << 17, 4096, 4096)
    assert total(RECIPES[name], few, "forward", "bf16") > total(None, few, "forward", "bf16")
    if name != "rowwise_hp_wgrad":
        assert total(RECIPES[name], many, "forward", "bf16") < total(None, many, "forward", "bf16")


def test_a_token_keeps_a_key_and_a_value_in_each_layer():
    model = model_of({**DEFAULTS, "why_model": "llama31_8b"})
    assert memory.token_bytes(model, memory.BF16) == 2 * 32 * 8 * 128 * 2
    assert memory.token_bytes(model, memory.FP8) == memory.token_bytes(model, memory.BF16) / 2


def test_tokens_per_second_are_bandwidth_over_all_bytes():
    settings = {**DEFAULTS, "why_model": "llama31_8b", "why_batch": 4, "why_context": 10}
    bf16, cache, both = memory.steps({**settings, "why_gpu": "h200_sxm"})
    numbers, weights = 4 * 1024 * 2 * 32 * 8 * 128, sourced().models["llama31_8b"].parameters
    bandwidth = PEAK_RATES["H200 SXM"].memory_gb_s * 1e9
    assert bf16.tokens_s == pytest.approx(4 * bandwidth / (2 * weights + 2 * numbers))
    assert cache.tokens_s == pytest.approx(4 * bandwidth / (2 * weights + numbers))
    assert both.tokens_s == pytest.approx(2 * bf16.tokens_s)
    assert memory.cache_share(settings) == pytest.approx(numbers / (weights + numbers))
    assert memory.gains(settings) == pytest.approx((cache.tokens_s / bf16.tokens_s, 2))
