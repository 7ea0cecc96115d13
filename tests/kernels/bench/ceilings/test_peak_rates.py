"""Contract: every datasheet row names its source, and its figures hang together as dense rates do."""

from urllib.parse import urlparse

import pytest

from kernels.bench.ceilings.peak_rates import PEAK_RATES, Rate, peak_rates_of


@pytest.mark.parametrize("rates", PEAK_RATES.values(), ids=PEAK_RATES)
def test_a_row_is_dense_complete_and_sourced(rates):
    assert set(rates.tflop_s) == set(Rate)
    sixteen = rates.tflop_s[Rate.BF16]
    assert rates.tflop_s[Rate.FP16] == sixteen
    assert rates.tflop_s[Rate.FP32] < sixteen
    fp8 = rates.tflop_s[Rate.FP8]
    assert (fp8 is not None) == (rates.capability >= (8, 9))
    assert fp8 is None or fp8 == pytest.approx(2 * sixteen, rel=0.02)
    fp4 = rates.tflop_s[Rate.FP4]
    assert (fp4 is not None) == (rates.capability >= (10, 0))
    assert fp4 is None or fp4 == pytest.approx(2 * fp8, rel=0.02)
    assert rates.sources
    for source in rates.sources:
        assert source.title
        assert urlparse(source.url).scheme == "https"


def test_a_card_is_known_by_the_name_that_cuda_gives_it():
    for rates in PEAK_RATES.values():
        assert peak_rates_of(rates.device_name) is rates
    assert peak_rates_of("NVIDIA H200 NVL") is None
    assert peak_rates_of("") is None


def test_the_rates_of_the_mi300x_are_those_of_its_units_and_clock():
    """304 compute units at 2,100 MHz, of which each does so many operations in a cycle."""
    rates, a_cycle = PEAK_RATES["MI300X"].tflop_s, 304 * 2100e6 * 1e-12
    for rate, operations in ((Rate.FP8, 4096), (Rate.BF16, 2048), (Rate.TF32, 1024), (Rate.FP32, 256)):
        assert rates[rate] == pytest.approx(operations * a_cycle, abs=0.06)
