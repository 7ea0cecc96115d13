"""Contract: what the pool computes for "Accumulation" are the errors of whole matmuls of the same codes."""

import pytest

from fp8core.accumulators import matmul, promoted
from fp8core.accumulators.error_over_k import SumError, sum_error
from fp8core.experiments.dot_terms import TermKind, draw_terms
from fp8core.formats import FORMATS
from kernels.probe.job import ROWS, SWEPT, swept
from pages.accumulation import sweeps

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
        ("hopper_fast", sweeps.NEVER, "e4m3"),
        ("hopper_fast", 64, "e5m2"),
        ("cdna1_bf16", sweeps.NEVER, "bf16"),
    ],
)
def test_the_errors_of_a_unit_are_those_of_whole_matmuls(name, every, operands):
    found = sweeps.errors(name, every, KIND.value, operands, K, SEED)
    assert found == of_matmuls(sweeps.unit_of(name, every), operands, sweeps.SUMS)


@pytest.mark.parametrize("operation", SWEPT)
def test_what_is_predicted_for_an_operation_is_what_its_unit_gives(operation):
    found = sweeps.errors_of_operation(operation, KIND.value, "e5m2", K, SEED)
    assert found == of_matmuls(swept(operation).accumulator, "e5m2", ROWS)


def test_the_errors_by_interval_are_those_of_the_promoted_units():
    found = sweeps.errors_by_interval("hopper_fast", KIND.value, "e4m3", K, SEED)
    units = [promoted(sweeps.unit_of("hopper_fast"), every) for every in LENGTHS]
    assert found == tuple(of_matmuls(unit, "e4m3", sweeps.SUMS)[-1].rms for unit in units)
