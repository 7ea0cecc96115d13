"""Seeded operands for a matrix unit."""

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, Accumulator, GroupScales, Step
from fp8core.formats import FORMATS, FloatFormat
from fp8core.rounding import Rounding


def codes(format_: FloatFormat, shape: tuple[int, int], seed: int, spread: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    size = 2.0 ** rng.integers(-spread, spread + 1, shape)
    return format_.encode(rng.standard_normal(shape) * size)


def operands(
    unit: Accumulator, m: int, n: int, k: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, FloatFormat]:
    format_ = FORMATS[unit.operands[0]]
    return codes(format_, (m, k), seed), codes(format_, (n, k), seed + 1), format_


def ones(unit: Accumulator, m: int, n: int, k: int) -> GroupScales | None:
    if unit.step is not Step.SCALED_GROUPS:
        return None
    return GroupScales(a=np.ones((m, k // 16)), b=np.ones((n, k // 16)), format=FORMATS["e4m3"], size=16)


TRUNCATING = [
    a
    for a in ACCUMULATORS.values()
    if a.step is Step.TRUNCATED and a.out_rounding is Rounding.TOWARD_ZERO and not a.order
]
by_truncating = pytest.mark.parametrize("unit", TRUNCATING, ids=lambda a: a.name)
by_unit = pytest.mark.parametrize("unit", ACCUMULATORS.values(), ids=ACCUMULATORS)
