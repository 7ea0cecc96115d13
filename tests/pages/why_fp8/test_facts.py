"""Facts and pictures of the page "Why FP8" against figures found another way."""

import pytest

from kernels.measure.peak_rates import PEAK_RATES
from pages.kit.charts.ink import LIGHT
from pages.kit.lesson.facts import fact
from pages.why_fp8 import history, rates
from pages.why_fp8.charts.rows import MARKS, ROWS
from pages.why_fp8.scaled import shares
from pages.why_fp8.sourced import sourced
from tests.pages.specs import rows


def test_arithmetic_outgrew_memory():
    assert fact("why_fp8.newest", {}) == "B200 SXM"
    assert fact("why_fp8.rate_growth", {}) == pytest.approx(2250 / 312)
    assert fact("why_fp8.memory_growth", {}) == pytest.approx(8000 / 2039)


@pytest.mark.parametrize("unit", rates.UNIT.options)
def test_each_rate_is_a_mark_and_memory_is_one_beside_the_first_gpu_only(unit):
    spec = rates.picture(unit, LIGHT, 500)
    every = [
        rates.rate(one, of, unit) for one in rates.alike().values() for of in rates.RATES if one.tflop_s[of]
    ]
    marks = rows(spec, MARKS)
    assert [mark["at"] for mark in marks if mark["what"] != "memory"] == every
    assert ("memory" in {mark["what"] for mark in marks}) is (unit == "first")
    assert len(rows(spec, ROWS)) == len(rates.alike())
    assert {name for one in rates.alike() for name in one.split("/")} == {
        name.split()[0] for name in PEAK_RATES
    }


def test_the_matmuls_between_norms_are_most_of_the_work_in_short_sequences_only():
    for model in sourced().models.values():
        short, long = shares(model, 1 << 10), shares(model, 1 << 20)
        assert short["ffn"] > 0.5 > 10 * short["attention"]
        assert long["attention"] > 0.9 > 10 * long["ffn"]


def test_no_loss_scale_costs_bf16_a_gradient_as_the_notice_says():
    assert set(history.shares()["bf16"]) == {0}
