"""The least times of a matmul against bytes and operations counted by hand."""

import pytest

from fp8core.linear import LayerShape
from kernels.bench.ceilings.peak_rates import PEAK_RATES, Rate
from pages.why_fp8.times import ARITHMETIC, MEMORY, bounds

B200 = PEAK_RATES["B200 SXM"]


def test_bytes_and_times_are_those_counted_by_hand():
    every = bounds(B200, LayerShape(64, 256, 512))
    operands, result = 64 * 256 + 512 * 256, 64 * 512
    assert [one.bytes for one in every.values()] == [
        2 * operands + 2 * result,
        operands + 2 * result,
        operands // 2 + 2 * result,
    ]
    for rate, one in every.items():
        assert one.flop == 2 * 64 * 256 * 512
        assert one.memory_us == pytest.approx(1e6 * one.bytes / (B200.memory_gb_s * 1e9))
        assert one.arithmetic_us == pytest.approx(1e6 * one.flop / (B200.tflop_s[rate] * 1e12))


@pytest.mark.parametrize("card", PEAK_RATES)
def test_few_tokens_wait_for_memory_and_many_for_the_tensor_cores(card):
    few = bounds(PEAK_RATES[card], LayerShape(1, 4096, 4096))
    many = bounds(PEAK_RATES[card], LayerShape(1 << 17, 8192, 8192))
    assert {one.limit for one in few.values()} == {MEMORY}
    assert {one.limit for one in many.values()} == {ARITHMETIC}
    for rate, one in many.items():
        assert one.tflop_s == pytest.approx(PEAK_RATES[card].tflop_s[rate])


def test_a_card_without_fp8_has_no_bound_for_it():
    assert set(bounds(PEAK_RATES["A100 SXM 80 GB"], LayerShape(1, 8, 8))) == {Rate.BF16}
