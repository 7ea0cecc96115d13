"""A sweep over K on the tensor core (ProbeJob) and its result (ProbeRow): plain data that travels as JSON.

Importing this needs neither torch nor a GPU.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp8core.experiments.dot_terms import TERM_NOTES, TermKind, draw_terms
from fp8core.formats import FORMATS
from kernels.bench.job import MAX_SEED
from kernels.bench.machine import Machine
from kernels.probe.operations import WGMMA_ROWS, Operation, operations
from kernels.typed import Count, whole

ROWS = (WGMMA_ROWS, 16)
"""M and N of every product of a sweep: one block of the kernel."""
LONGEST = 1 << 14
MAX_LENGTHS = 16
SWEPT = ("wgmma", "promoted", "hmma")
"""Operations of kernels.probe that a sweep can ask for; each starts from a sum of zero."""
SHORTEST = WGMMA_ROWS // 2


def swept(name: str) -> Operation:
    """One of SWEPT by name."""
    return next(operation for operation in operations() if operation.name == name)


@dataclass(frozen=True, kw_only=True)
class ProbeJob:
    """Sums of the first k products, for each k of `lengths`, by one operation of the probe.

    Raises ValueError where a field is outside its range.
    """

    operation: str
    terms: TermKind
    format: str
    seed: int
    lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.operation not in SWEPT:
            raise ValueError(f"unknown operation {self.operation!r}; there are {', '.join(SWEPT)}")
        if self.format not in self.operation_data.accumulator.operands:
            formats = ", ".join(self.operation_data.accumulator.operands)
            raise ValueError(f"{self.operation_data.title} multiplies {formats}, got {self.format!r}")
        if not whole(self.seed, 0, MAX_SEED):
            raise ValueError(f"the seed is a whole number from 0 to 2**32 - 1, got {self.seed!r}")
        rising = all(x < y for x, y in zip(self.lengths, self.lengths[1:], strict=False))
        fit = all(whole(k, SHORTEST, LONGEST) and k & (k - 1) == 0 for k in self.lengths)
        if not (0 < len(self.lengths) <= MAX_LENGTHS and fit and rising):
            raise ValueError(
                f"lengths are 1 to {MAX_LENGTHS} powers of two from {SHORTEST} to {LONGEST}, rising, "
                f"got {self.lengths!r}"
            )

    @property
    def operation_data(self) -> Operation:
        return swept(self.operation)

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        terms = TERM_NOTES[self.terms].title.lower()
        return f"{self.operation_data.title}, {terms} {self.format}, K up to {self.lengths[-1]:,}"

    @property
    def size(self) -> str:
        """The fields that decide how much memory it needs, and their values."""
        return f"K = {self.lengths[-1]}"

    @property
    def size_advice(self) -> str:
        """Advice on how to need less memory."""
        return "Make the longest K smaller"

    def codes(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """uint8 a[M, K] and b[N, K] for the longest K; a shorter one takes the first columns."""
        x = draw_terms(self.terms, ROWS, self.lengths[-1], self.seed)
        return tuple(FORMATS[self.format].encode(part) for part in x)


@dataclass(frozen=True, kw_only=True)
class SweepPoint:
    """One K: the device's errors, counted as fp8core.accumulators.error_over_k counts them.

    It also says how many of the M · N sums differ in a bit from the model.
    """

    k: int
    rms: float
    bias: float
    outputs: Count
    mismatches: Count


@dataclass(frozen=True, kw_only=True)
class ProbeRow:
    """The result of one ProbeJob. `first_difference` is empty where every sum equals the model."""

    job: ProbeJob
    machine: Machine
    date: str
    points: tuple[SweepPoint, ...]
    first_difference: str = ""

    @property
    def outputs(self) -> int:
        return sum(point.outputs for point in self.points)

    @property
    def mismatches(self) -> int:
        return sum(point.mismatches for point in self.points)
