"""One dot product, step by step: alignment, dropped bits and sums.

The last total equals `fp8core.accumulators.matmul` bit for bit. Only units with the step TRUNCATED can be
traced.
"""

import math
from dataclasses import dataclass

import numpy as np

from fp8core.accumulators.model import Accumulator, Step, check_codes
from fp8core.accumulators.multiply import laid_out
from fp8core.accumulators.terms import exponents as exponents_of
from fp8core.accumulators.terms import rounded
from fp8core.arrays import Float64, Int64, Integers
from fp8core.checks import instance
from fp8core.formats import FloatFormat
from fp8core.tiles import WHOLE


@dataclass(frozen=True, kw_only=True)
class TracedStep:
    """One step's p products and, last, the running sum c.

    places: int64[p], the k of each product; K and more for padding. terms: float64[p + 1], exact. kept:
    float64[p + 1], terms without bits below 2**cut. largest: exponent of the alignment. chain: c after the
    step. total: the result so far, with promoted chains. exact: exact sum so far, rounded to float64.
    promotes: the chain ends here and is added to the fp32 register.
    """

    places: Int64
    terms: Float64
    kept: Float64
    largest: int
    fraction_bits: int
    chain: float
    total: float
    exact: float
    promotes: bool

    @property
    def cut(self) -> int:
        """Bits of a weight below 2**cut are dropped."""
        return self.largest - self.fraction_bits

    @property
    def lost(self) -> Float64:
        """float64[p + 1]: cut part of each term, signed."""
        return self.terms - self.kept

    @property
    def exact_sum(self) -> float:
        return math.fsum(self.terms.tolist())

    @property
    def kept_sum(self) -> float:
        """Exact sum of c and the products after the cut."""
        return math.fsum(self.kept.tolist())


def is_traceable(accumulator: Accumulator) -> bool:
    """Return True if the unit aligns a whole step to one exponent and cuts there."""
    return accumulator.step is Step.TRUNCATED


def trace(
    a: Integers,
    b: Integers,
    a_format: FloatFormat,
    b_format: FloatFormat,
    accumulator: Accumulator,
    start: float = 0.0,
) -> tuple[TracedStep, ...]:
    """Steps of the dot product of codes a [K] and b [K], added to `start` in the unit's order.

    `start` is in the fp32 register of a unit that promotes, else in c. Raises ValueError for a unit that
    cannot be traced, formats that it does not multiply, shapes that do not fit, and non-finite codes.
    """
    if not is_traceable(instance("accumulator", accumulator, Accumulator)):
        raise ValueError(
            f"a traced unit aligns a whole step to one exponent; {accumulator.title} does this instead: "
            f"{accumulator.step.value}"
        )
    check_codes(accumulator, a=(a, a_format), b=(b, b_format))
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"a and b are [K] with one K, got {a.shape} and {b.shape}")
    order = accumulator.order_of(a.size)
    operands = laid_out(a[None], b[None], a_format, b_format, accumulator)
    left, right = operands.a.value[:, 0], operands.b.value[:, 0]
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise ValueError("a traced dot product has finite operands, got NaN or infinity")
    products, unit = left * right, accumulator
    steps: list[TracedStep] = []
    exponents = (operands.a.exponent + operands.b.exponent)[:, 0]
    exponents = np.where(products == 0, unit.zero_exponent, exponents)
    width, every = unit.fused_products, [start, *products.tolist()]
    chain, register = (start, np.float32(0)) if unit.promotion is WHOLE else (0.0, np.float32(start))
    for first in range(0, order.size, width):
        stop = first + width
        terms = np.append(products[first:stop], chain)
        of_chain = exponents_of(terms[-1:], unit.out, of_zero=unit.zero_exponent)[0]
        largest = int(max(exponents[first:stop].max(), of_chain))
        scale = 2.0 ** (unit.fraction_bits - largest)
        kept = np.trunc(terms * scale) / scale
        chain = float(rounded(kept.sum(keepdims=True), unit.out, unit.out_rounding)[0])
        promotes = unit.promotion is not WHOLE and stop % unit.promotion == 0
        total = register + np.float32(chain)
        step = TracedStep(
            places=order[first:stop],
            terms=terms,
            kept=kept,
            largest=largest,
            fraction_bits=unit.fraction_bits,
            chain=chain,
            total=float(total),
            exact=math.fsum(every[: stop + 1]),
            promotes=promotes,
        )
        steps.append(step)
        if promotes:
            register, chain = total, 0.0
    return tuple(steps)
