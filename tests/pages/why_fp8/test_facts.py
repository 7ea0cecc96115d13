"""Facts of the page "Why FP8" against figures found another way."""

import pytest

from kernels.bench.ceilings.peak_rates import PEAK_RATES, Rate
from pages.kit.lesson.facts import fact
from pages.kit.sourced import sourced
from pages.why_fp8 import history
from pages.why_fp8.cache import cache_share, gains
from pages.why_fp8.facts import FACTS
from pages.why_fp8.work import shares


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_is_known_where_the_page_opens(name):
    assert isinstance(fact(f"why.{name}", {}), int | float | str)


def test_the_gain_is_at_most_twofold_and_the_turn_lies_at_the_ridge():
    assert fact("why.fp8_gain", {"why_tokens": 17}) == pytest.approx(1979 / 989)
    assert fact("why.fp8_gain", {"why_gpu": "a100_sxm_80_gb"}) == 1.0
    turn, ridge = fact("why.turn_tokens", {}), PEAK_RATES["H200 SXM"].ridge(Rate.BF16)
    before, at = (tokens * 4096 / (2 * tokens + 4096) for tokens in (turn - 1, turn))  # FLOP a byte
    assert before < ridge <= at


def test_arithmetic_outgrew_memory():
    assert fact("why.newest", {}) == "B200 SXM"
    assert fact("why.rate_growth", {}) == pytest.approx(2250 / 312)
    assert fact("why.memory_growth", {}) == pytest.approx(8000 / 2039)


def test_the_matmuls_between_norms_are_most_of_the_work_in_short_sequences_only():
    for model in sourced().models.values():
        short, long = shares(model, 1 << 10), shares(model, 1 << 20)
        assert short["ffn"] > 0.5 > 10 * short["attention"]
        assert long["attention"] > 0.9 > 10 * long["ffn"]


def test_the_notice_on_loss_scales_has_the_share_of_its_curve():
    found = history.shares()
    assert found["fp16"][0] != found["fp16"][7]
    for scale in (0, 7):
        assert f"fp16 loses **{found['fp16'][scale]:.1%}" in history.notice(scale)
        assert found["bf16"][scale] == 0, "the notice says so"


def test_the_cache_s_share_is_that_of_its_bytes():
    settings = {"why_model": "own", "why_layers": 2, "why_kv_heads": 4, "why_head_dim": 64, "why_billions": 1}
    settings |= {"why_context": 10, "why_batch": 8, "why_gpu": "h200_sxm"}
    weights, cached = 2e9, 8 * 1024 * (2 * 2 * 4 * 64 * 2)
    assert cache_share(settings) == pytest.approx(cached / (weights + cached))
    alone, both = gains(settings)
    assert alone == pytest.approx((weights + cached) / (weights + cached / 2))
    assert both == pytest.approx(2)
