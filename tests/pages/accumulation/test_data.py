"""Contract: errors are those of whole matmuls of the same codes; facts are what the model is known to do."""

import pytest

from fp8core.accumulators import matmul, promoted
from fp8core.accumulators.error_over_k import SumError, sum_error
from fp8core.experiments.dot_terms import TermKind, draw_terms
from fp8core.formats import FORMATS
from kernels.probe.sweep import ROWS, SWEPT, swept
from pages.accumulation import data
from pages.kit.lesson.facts import fact

KIND, K, SEED = TermKind.ONE_LARGE, 256, 3
LENGTHS = (32, 64, 128, 256)


def of_matmuls(unit, operands: str, rows: tuple[int, int]) -> tuple[SumError, ...]:
    """The errors of one whole matmul for each length."""
    format_, found = FORMATS[operands], []
    for k in LENGTHS:
        a, b = (format_.encode(x)[:, :k] for x in draw_terms(KIND, rows, K, SEED))
        exact = format_.decode(a) @ format_.decode(b).T
        found.append(sum_error(matmul(a, b, format_, format_, unit), exact, k))
    return tuple(found)


@pytest.mark.parametrize(
    ("name", "every", "operands"),
    [
        ("hopper_fast", data.NEVER, "e4m3"),
        ("hopper_fast", 64, "e5m2"),
        ("cdna1_bf16", data.NEVER, "bf16"),
    ],
)
def test_the_errors_of_a_unit_are_those_of_whole_matmuls(name, every, operands):
    found = data.errors(name, every, KIND.value, operands, K, SEED)
    assert found == of_matmuls(data.unit_of(name, every), operands, data.SUMS)


@pytest.mark.parametrize("operation", SWEPT)
def test_what_is_predicted_for_an_operation_is_what_its_unit_gives(operation):
    found = data.errors_of_operation(operation, KIND.value, "e5m2", K, SEED)
    assert found == of_matmuls(swept(operation).accumulator, "e5m2", ROWS)


def test_the_errors_by_interval_are_those_of_the_promoted_units():
    found = data.errors_by_interval("hopper_fast", KIND.value, "e4m3", K, SEED)
    units = [promoted(data.unit_of("hopper_fast"), every) for every in LENGTHS]
    assert found == tuple(of_matmuls(unit, "e4m3", data.SUMS)[-1].rms for unit in units)


def test_longer_sums_cut_a_larger_share_of_the_products():
    short, long = ({"sum_k": k} for k in (64, 512))
    assert fact("accumulation.cut_share", short) == fact("accumulation.cut_count", short) / 64
    assert fact("accumulation.cut_share", long) > 5 * fact("accumulation.cut_share", short)


def test_the_cut_pulls_sums_of_one_sign_toward_zero_by_the_measured_share():
    assert fact("accumulation.chain_side", {}) == "small"
    assert fact("accumulation.chain_side", {"terms": "zero_mean"}) == "both"
    assert fact("accumulation.chain_bias", {}) == pytest.approx(0.066, rel=0.02)


def test_promotion_takes_the_error_away_for_one_addition_in_256_flop():
    assert fact("accumulation.promoted_error", {}) < fact("accumulation.chain_error", {}) / 100
    percent = 100 * fact("accumulation.promoted_error", {})
    assert fact("accumulation.promoted_percent", {}) == pytest.approx(percent)
    assert fact("accumulation.promotion_price", {}) == pytest.approx(1000 / 256)
