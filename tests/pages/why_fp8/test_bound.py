"""The least times of a matmul against bytes and operations counted by hand, and the lines that show them."""

import pytest

from fp8core.linear import LayerShape
from kernels.measure.peak_rates import PEAK_RATES, Rate
from pages.kit.charts.ink import LIGHT
from pages.kit.lesson.facts import fact
from pages.why_fp8 import bound
from pages.why_fp8.bound import ARITHMETIC, MEMORY, bounds
from pages.why_fp8.charts.sliders import ENDS, LINES, TURN
from pages.why_fp8.facts import CONTROLS
from tests.pages.specs import rows

DEFAULTS = {control.key: control.default for control in CONTROLS}


def test_bytes_and_times_are_those_counted_by_hand():
    b200 = PEAK_RATES["B200 SXM"]
    every = bounds(b200, LayerShape(64, 256, 512))
    operands, result = 64 * 256 + 512 * 256, 64 * 512
    assert [one.bytes for one in every.values()] == [
        2 * operands + 2 * result,
        operands + 2 * result,
        operands // 2 + 2 * result,
    ]
    for rate, one in every.items():
        assert one.flop == 2 * 64 * 256 * 512
        assert one.memory_us == pytest.approx(1e6 * one.bytes / (b200.memory_gb_s * 1e9))
        assert one.arithmetic_us == pytest.approx(1e6 * one.flop / (b200.tflop_s[rate] * 1e12))


@pytest.mark.parametrize("card", PEAK_RATES)
def test_few_tokens_wait_for_memory_and_many_for_the_tensor_cores(card):
    few = bounds(PEAK_RATES[card], LayerShape(1, 4096, 4096))
    many = bounds(PEAK_RATES[card], LayerShape(1 << 17, 8192, 8192))
    assert {one.limit for one in few.values()} == {MEMORY}
    assert {one.limit for one in many.values()} == {ARITHMETIC}
    assert (Rate.FP8 in few) is (PEAK_RATES[card].tflop_s[Rate.FP8] is not None)
    for rate, one in many.items():
        assert one.tflop_s == pytest.approx(PEAK_RATES[card].tflop_s[rate])


def test_the_gain_is_at_most_twofold_and_the_turn_lies_at_the_ridge():
    assert fact("why_fp8.fp8_gain", {"why_tokens": 17}) == pytest.approx(1979 / 989)
    assert fact("why_fp8.fp8_gain", {"why_gpu": "a100_sxm_80_gb"}) == 1.0
    turn, ridge = fact("why_fp8.turn_tokens", {}), PEAK_RATES["H200 SXM"].ridge(Rate.BF16)
    before, at = (tokens * 4096 / (2 * tokens + 4096) for tokens in (turn - 1, turn))  # FLOP per byte
    assert before < ridge <= at


def test_the_lines_end_at_the_peaks_and_the_limit_changes_at_the_rule():
    spec = bound.picture(DEFAULTS, 12, 17, LIGHT, 500)
    peaks = PEAK_RATES["H200 SXM"].tflop_s
    words = {row["words"] for row in rows(spec, ENDS)}
    assert words == {f"{of.value}: {peaks[of]:,.0f}" for of in peaks if of.value in ("bf16", "fp8")}
    (turn,) = rows(spec, TURN)
    bf16 = [row for row in rows(spec, LINES) if row["format"] == "bf16"]
    assert {row["limit"] for row in bf16 if row["tokens"] < turn["tokens"]} == {MEMORY}
    assert {row["limit"] for row in bf16 if row["tokens"] >= turn["tokens"]} == {ARITHMETIC}
    gains = {row["tokens"]: row["gain"] for row in bf16}
    assert gains[1 << 17] == "2.0 ×"
    assert {1 << k for k in range(18)} <= set(gains), "one at every stop of the slider"
