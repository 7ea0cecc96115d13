"""The units that a test goes through."""

import pytest

from fp8core.accumulators import ACCUMULATORS, Step
from fp8core.rounding import Rounding

TRUNCATING = [
    a
    for a in ACCUMULATORS.values()
    if a.step is Step.TRUNCATED and a.out_rounding is Rounding.TOWARD_ZERO and not a.order
]
by_truncating = pytest.mark.parametrize("unit", TRUNCATING, ids=lambda a: a.name)
by_unit = pytest.mark.parametrize("unit", ACCUMULATORS.values(), ids=ACCUMULATORS)
