"""A matrix unit as data: its step, its bits, and the bound of its error."""

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from fp8core.arrays import Float64, Floats, Int64, Integers
from fp8core.checks import codes_array, instance, reals
from fp8core.formats import FORMATS, FloatFormat, Format
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE, Extent

_FP32 = FORMATS["fp32"]
_FP32_HALF_ULP = 2.0 ** -(_FP32.mantissa_bits + 1)
_LONGEST_K = 2.0**24
_SCALED_SLACK = 2.0**8
"""For a block-scaled product: 1/2 · 1/2 of two FP4 codes and 2**-3 · 2**-3 of two subnormal E4M3 scales."""


class Step(Enum):
    """Addition of one step. `fp8core.accumulators.steps` has a function for each."""

    TRUNCATED = "align all terms and the sum, drop the bits below, add, truncate"
    SCALED_GROUPS = "the same on exact sums of groups that share a pair of scales"
    EXACT = "add exactly, round once"
    FLUSHED_PAIRS = "fp32 additions in pairs, subnormals flushed"
    FLOORED = "truncate products, round down with the sum, round to nearest"
    FLOORED_BY_PARITY = "the same, even and odd products apart"
    FP32_CHAIN = "one fp32 fused multiply-add after the other"
    FP64_CHAIN = "one fp64 addition after the other"


class Evidence(Enum):
    """Grounds for the claim that the model equals the unit."""

    CAPTURED = "bit-equal to vectors captured on an H200, shipped with this project"
    PUBLISHED = "as a published model gives it, checked by its authors on the hardware"
    DEFINITION = "a definition, not a unit"


@dataclass(frozen=True, kw_only=True)
class Accumulator:
    """A matrix unit: the sizes and rules of its additions.

    One step adds `fused_products` products and the running sum by the rule `step`, with `fraction_bits` below
    the largest term. After `promotion` products (WHOLE: never) the sum is added to an fp32 register, and the
    chain restarts from zero.

    `out`, `out_rounding`: format and rounding of a step's sum. `sum_bits`: bits that a step of CDNA3 keeps
    below its own leading one. `zero_exponent`: exponent of a zero term in the alignment. `operands`: names of
    the formats that the unit multiplies.

    `order`: the place of each product within a run of len(order), for kernels that pass products out of
    order. `unpacked`: a wider format to which operands are converted first; their subnormals become normal
    there.
    """

    name: str
    title: str
    source: str
    evidence: Evidence
    operands: tuple[str, ...]
    fraction_bits: int
    fused_products: int
    promotion: Extent = WHOLE
    step: Step = Step.TRUNCATED
    out: FloatFormat = _FP32
    out_rounding: Rounding = Rounding.TOWARD_ZERO
    zero_exponent: int = -133
    sum_bits: int = 0
    order: tuple[int, ...] = ()
    unpacked: FloatFormat | None = None

    def order_of(self, k: int) -> Int64:
        """Places of 0..k, rounded up to whole steps, in order of addition."""
        run = len(self.order) or self.fused_products
        starts = np.arange(0, -(-k // run) * run, run)
        return (starts[:, None] + np.array(self.order or range(run))).ravel()

    def error_bound(
        self, a: Floats, b: Floats, a_format: Format | None = None, b_format: Format | None = None
    ) -> Float64:
        """float64[M, N]: bound of |computed - exact| of a[M, K] · b[N, K]ᵀ in this accumulator.

        With formats, a and b are values of these. Without, they are of any format of the unit, possibly times
        a scale that is constant on every chain.

        A step of p products and c loses less than 2**-F · t of each term to the alignment, and 2**-F of its
        sum, with F fraction bits and t the size of alignment:
        - of a product: that of its operands' exponents; a subnormal code has its format's smallest normal
          exponent. Without formats, t is at most 2**m times the product, m their mantissa bits; a product of
          two subnormals has more, but no bit below the cut;
        - of c: |c|, or its format's smallest normal number if larger; of a zero term, 2**zero_exponent. These
          two count only where products can be that small.
        There a sum also loses up to its format's smallest positive number. A unit that flushes subnormals
        loses every product with one, and up to the smallest normal number in each operation. A promotion adds
        half an fp32 ulp of the running sum. |c| and the sums are at most Σ|a||b| so far, errors included.
        Where they may become infinite, so is the bound.

        Raises ValueError for non-finite numbers, shapes that do not fit, and other operands.
        """
        a, b = _magnitudes("a", a), _magnitudes("b", b)
        if a.shape[1] != b.shape[1]:
            raise ValueError(f"a is [M, K] and b is [N, K] with one K, got {a.shape} and {b.shape}")
        limits = _Limits.of(self, a_format, b_format)
        if self.order:
            order = self.order_of(a.shape[1])
            a, b = (np.pad(x, ((0, 0), (0, order.size - x.shape[1])))[:, order] for x in (a, b))
        unit = 2.0 ** -min(self.fraction_bits, self.out.mantissa_bits)
        size = a.shape[1] if self.promotion is WHOLE else self.promotion
        bound = np.zeros((a.shape[0], b.shape[0]))
        total = np.zeros_like(bound)
        for start in range(0, a.shape[1], max(size, 1)):
            chain_bound, chain = np.zeros_like(bound), np.zeros_like(bound)
            for step in range(start, min(start + size, a.shape[1]), self.fused_products):
                stop = min(step + self.fused_products, start + size, a.shape[1])
                left, right = a[:, step:stop], b[:, step:stop]
                largest = np.maximum(limits.aligned(left, right), chain + chain_bound)
                chain = chain + left @ right.T
                rounding = (stop - step + 1) * (largest + limits.floor) + chain + chain_bound
                chain_bound = chain_bound + unit * rounding + limits.least
                chain_bound = chain_bound + limits.flushed(left, right)
            total = total + chain
            bound = bound + chain_bound
            if self.promotion is not WHOLE:
                bound = bound + _FP32_HALF_ULP * (total + bound)
        return np.where(limits.may_overflow & (total + bound > limits.top), np.inf, bound)


@dataclass(frozen=True, kw_only=True)
class _Limits:
    """Errors at the ends of the formats.

    lowest: smallest normal numbers of a's and b's format, None if unknown. slack: the largest t without them,
    in products. floor: the least size of alignment. least: a sum's loss at the lower end of its format, 0 if
    products stay above. normal: size below which operands are flushed. flush: a step's loss of products and
    sums to flushing. top: the largest sum.
    """

    lowest: tuple[float, float] | None
    slack: float
    floor: float
    least: float
    normal: tuple[float, float]
    flush: float
    top: float
    may_overflow: bool

    @classmethod
    def of(cls, unit: Accumulator, a_format: Format | None, b_format: Format | None) -> "_Limits":
        pair = []
        for format_ in (a_format, b_format):
            if format_ is not None:
                check_operand(unit, format_)
            pair.append([FORMATS[name] for name in unit.operands] if format_ is None else [format_])
        bits = max(f.mantissa_bits if isinstance(f, FloatFormat) else 0 for formats in pair for f in formats)
        finest = math.prod(min(f.min_subnormal for f in formats) for formats in pair)
        largest = math.prod(max(f.max for f in formats) for formats in pair)
        slack, has_scales = 2.0**bits, unit.step is Step.SCALED_GROUPS
        is_exact = not has_scales and all(
            isinstance(format_, FloatFormat) for format_ in (a_format, b_format)
        )
        floor = max(unit.out.min_normal, 2.0**unit.zero_exponent)
        underflows = has_scales or finest < max(unit.out.min_subnormal, floor * 2.0**-unit.fraction_bits)
        flushes = unit.step is Step.FLUSHED_PAIRS
        return cls(
            lowest=tuple(f.min_normal for (f,) in pair) if is_exact else None,
            slack=_SCALED_SLACK if has_scales else slack,
            floor=floor if underflows else 0.0,
            least=unit.out.min_subnormal if underflows else 0.0,
            normal=tuple(max(f.min_normal for f in formats) if flushes else 0.0 for formats in pair),
            flush=(2 * unit.fused_products + 1) * unit.out.min_normal if flushes and underflows else 0.0,
            top=unit.out.max,
            may_overflow=has_scales or largest > unit.out.max / _LONGEST_K,
        )

    def aligned(self, left: Float64, right: Float64) -> Float64:
        """float64[M, N]: largest size to which a step's product is aligned."""
        if self.lowest is None:
            return self.slack * (left[:, None] * right[None]).max(2)
        sizes = (
            np.where(x == 0, 0.0, np.maximum(np.ldexp(1.0, np.frexp(x)[1] - 1), lowest))
            for x, lowest in zip((left, right), self.lowest, strict=True)
        )
        left, right = sizes
        return (left[:, None] * right[None]).max(2)

    def flushed(self, left: Float64, right: Float64) -> Float64:
        """float64[M, N]: a step's loss to flushed subnormals."""
        if not any(self.normal):
            return np.zeros((left.shape[0], right.shape[0]))
        lost_a, lost_b = (
            np.where(x < normal, x, 0.0) for x, normal in zip((left, right), self.normal, strict=True)
        )
        return lost_a @ right.T + left @ lost_b.T + self.flush


def check_codes(unit: Accumulator, **sides: tuple[Integers, Format]) -> None:
    """Refuse codes by name that are no array of integers, or of a format that the unit does not multiply."""
    instance("accumulator", unit, Accumulator)
    for name, (codes, format_) in sides.items():
        codes_array(name, codes)
        check_operand(unit, format_)


def check_operand(unit: Accumulator, format_: Format) -> None:
    instance("a format", format_, Format)
    if format_.name not in unit.operands:
        raise ValueError(f"{unit.title} multiplies {', '.join(unit.operands)}, got {format_.name}")


def _magnitudes(name: str, x: Floats) -> Float64:
    x = np.abs(reals(name, x, ndim=2).astype(np.float64))
    if not np.isfinite(x).all():
        raise ValueError(f"an error bound needs finite numbers, got NaN or infinity in {name}")
    return x
