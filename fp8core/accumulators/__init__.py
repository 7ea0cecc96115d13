"""Models of how tensor cores add: `ACCUMULATORS` by name, and `matmul` with one of them."""

from fp8core.accumulators.model import Accumulator, Evidence, Step
from fp8core.accumulators.multiply import GroupScales, matmul
from fp8core.accumulators.units import ACCUMULATORS, promoted

__all__ = ["ACCUMULATORS", "Accumulator", "Evidence", "GroupScales", "Step", "matmul", "promoted"]
