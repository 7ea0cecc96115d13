"""Contract: many steps at once, and numbers of any size, come out as one step after the other does."""

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, chains, matmul, steps
from fp8core.formats import FORMATS
from tests.fp8core.accumulators.operands import ones

by_unit = pytest.mark.parametrize("unit", ACCUMULATORS.values(), ids=ACCUMULATORS)


@by_unit
def test_sums_far_below_one_are_those_of_larger_numbers_scaled_down(unit) -> None:
    format_ = FORMATS[unit.operands[-1]]
    rng = np.random.default_rng(1)
    room = -8 - format_.e_min  # so that every product, its last bit and c stay normal numbers of fp32
    down = 2.0 ** -min(40, max(room, 0))
    x = [rng.uniform(1, 2, (6, 128)) * rng.choice((-1, 1), (6, 128)) for _ in range(2)]
    a, b = (format_.encode(side) for side in x)
    small_a, small_b = (format_.encode(down * format_.decode(side)) for side in (a, b))
    scales = ones(unit, 6, 6, 128)
    result = matmul(a, b, format_, format_, unit, scales=scales)
    small = matmul(small_a, small_b, format_, format_, unit, scales=scales)
    if unit.out.name == "fp32":
        np.testing.assert_array_equal(small, result * np.float32(down) * np.float32(down))
    else:
        assert np.isfinite(small).all()


@pytest.mark.parametrize("size", [-68, -60, 0, 62, None], ids=lambda size: f"size {size}")
@by_unit
def test_working_on_many_steps_at_once_changes_no_bit(unit, size, monkeypatch) -> None:
    """Operands around 2**size, where the format has them: products near the ends of fp32; None: specials."""
    format_, rng = FORMATS[unit.operands[-1]], np.random.default_rng(4)
    a, b = (format_.encode(rng.standard_normal((rows, 192)) * 2.0 ** (size or 0)) for rows in (9, 7))
    c = rng.standard_normal((9, 7)).astype(np.float32)
    if size is None:
        a = np.where(rng.random(a.shape) < 0.01, rng.integers(0, 1 << format_.bits, a.shape), a)
        c[2, 3], c[5, 5], c[0, 0] = np.inf, np.nan, 2.0**-140
    else:
        c *= np.float32(4.0**size)
    scales = ones(unit, 9, 7, 192)

    def bits() -> np.ndarray:
        return matmul(a, b, format_, format_, unit, c, scales).view(np.uint32)

    at_once = bits()
    monkeypatch.setattr(chains, "AT_ONCE", 1)
    np.testing.assert_array_equal(bits(), at_once)
    monkeypatch.setattr(steps, "_stays_normal", lambda *_: False)
    np.testing.assert_array_equal(bits(), at_once)


def test_a_sum_that_float64_cannot_hold_is_rounded_once() -> None:
    """Rounded to float64 first, each of these sums would be a tie, and go to the wrong side."""
    bf16, fp32 = FORMATS["bf16"], FORMATS["fp32"]
    a, b = bf16.encode([[2.0**-24, 2.0**-60]]), bf16.encode([[1.0, 1.0]])
    one = np.ones((1, 1), np.float32)
    assert matmul(a, b, bf16, bf16, ACCUMULATORS["cdna1_bf16"], one)[0, 0] == 1 + 2.0**-23
    a, b = fp32.encode([[2.0**-24 * (1 + 2.0**-15)]]), fp32.encode([[1 - 2.0**-15]])
    start = one + np.float32(2.0**-23)
    assert matmul(a, b, fp32, fp32, ACCUMULATORS["fp32"], start)[0, 0] == 1 + 2.0**-23
