"""How matrix units add: fraction bits kept, products fused in one step, and when partial sums are promoted.

`matmul` reproduces a unit's result bit for bit from codes; `Accumulator.error_bound` says how far from the
exact product it can be. The units themselves are listed in `fp8core.accumulators`.

Sources: MMA-Sim (arXiv 2511.10909) and Khattak & Mikaitis (arXiv 2512.07004) for the steps; DeepSeek-V3
(arXiv 2412.19437, section 3.3.2) for promotion every 128.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from fp8core import fused_steps
from fp8core.formats import FORMATS, Format
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE, Extent

Array = NDArray[np.float64]
ScalesOf = Callable[[slice], tuple[fused_steps.Terms, fused_steps.Terms] | None]

_FP32 = FORMATS["fp32"]
_FP32_HALF_ULP = 2.0 ** -(_FP32.mantissa_bits + 1)
_SUBNORMAL_SLACK = 8.0
_ROWS_AT_ONCE = 64
_THREADS = 2
CANONICAL_NAN = 0x7FFFFFFF
"""The bits of every NaN that NVIDIA's tensor cores return."""


class Step(Enum):
    """Which addition one step makes; `fp8core.fused_steps` has them."""

    TRUNCATED = "align all terms and the sum, drop the bits below, add, truncate"
    SCALED_GROUPS = "the same on exact sums of groups that share a pair of scales"
    EXACT = "add exactly, round once"
    FLUSHED_PAIRS = "fp32 additions in pairs, subnormals flushed"
    FLOORED = "truncate products, round down with the sum, round to nearest"
    FLOORED_BY_PARITY = "the same, even and odd products apart"
    FP32_CHAIN = "one fp32 fused multiply-add after the other"
    FP64_CHAIN = "one fp64 addition after the other"


_IEEE = (Step.FLUSHED_PAIRS, Step.FP64_CHAIN)
"""Steps made of IEEE additions, which know NaN and infinities by themselves."""


class Evidence(Enum):
    """What says that the model is the unit."""

    CAPTURED = "bit-equal to vectors captured on an H200, shipped with this project"
    PUBLISHED = "as a published model gives it, checked by its authors on the hardware"
    DEFINITION = "a definition, not a unit"


@dataclass(frozen=True, kw_only=True)
class Accumulator:
    """One step adds `fused_products` products and the running sum by the rule `step`, keeping
    `fraction_bits` below the largest term; after `promotion` products (WHOLE: never) the sum is added to an
    fp32 register by an ordinary fp32 addition and the chain restarts from zero.

    `out` and `out_rounding` are what a step's sum is rounded to; `sum_bits` the bits below its own leading
    one that a step of CDNA3 keeps. `zero_exponent` is the exponent at which a zero term takes part in the
    alignment. `operands` names the formats the unit multiplies. `order` says which place of each run of
    len(order) products comes when, where a kernel hands them over out of order; `unpacked` the wider format
    that operands are converted to first, where they are: their subnormals become normal there.
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
    out: Format = _FP32
    out_rounding: Rounding = Rounding.TOWARD_ZERO
    zero_exponent: int = -133
    sum_bits: int = 0
    order: tuple[int, ...] = ()
    unpacked: Format | None = None

    def order_of(self, k: int) -> NDArray[np.int64]:
        """The places of 0..k, rounded up to whole steps, in the order in which they are added."""
        run = len(self.order) or self.fused_products
        starts = np.arange(0, -(-k // run) * run, run)
        return (starts[:, None] + np.array(self.order or range(run))).ravel()

    def error_bound(self, a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.float64]:
        """float64[M, N]: what |computed - exact| of a[M, K] · b[N, K]ᵀ cannot exceed in this accumulator.

        A step of p products and c, the largest of magnitude t: each of the p + 1 terms loses less than
        2**-F · t' to the alignment and the sum less than 2**-F of itself, F the fraction bits and t' <= 8 t
        for subnormal codes, whose products are aligned by the exponent their format has, not their own
        (t' = t without them). A promotion adds half an fp32 ulp of the running sum. |c| and the sums are at
        most Σ|a||b| so far, the errors already made included.
        """
        a, b = np.abs(np.asarray(a, np.float64)), np.abs(np.asarray(b, np.float64))
        unit = 2.0 ** -min(self.fraction_bits, self.out.mantissa_bits)
        size = a.shape[1] if self.promotion is WHOLE else self.promotion
        bound = np.zeros((a.shape[0], b.shape[0]))
        total = np.zeros_like(bound)
        for start in range(0, a.shape[1], max(size, 1)):
            chain_bound, chain = np.zeros_like(bound), np.zeros_like(bound)
            for step in range(start, min(start + size, a.shape[1]), self.fused_products):
                stop = min(step + self.fused_products, start + size, a.shape[1])
                left, right = a[:, step:stop], b[:, step:stop]
                largest = np.maximum(
                    _SUBNORMAL_SLACK * (left[:, None] * right[None]).max(2), chain + chain_bound
                )
                chain = chain + left @ right.T
                chain_bound = chain_bound + unit * ((stop - step + 1) * largest + chain + chain_bound)
            total = total + chain
            bound = bound + chain_bound
            if self.promotion is not WHOLE:
                bound = bound + _FP32_HALF_ULP * (total + bound)
        return bound


@dataclass(frozen=True, kw_only=True)
class GroupScales:
    """Scales that a block-scaled unit multiplies in, one for `size` products: a[M, K // size] and
    b[N, K // size], values of `format` (e4m3 or e8m0).
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    format: Format
    size: int

    def of(self, rows: slice, products: slice) -> tuple[fused_steps.Terms, fused_steps.Terms]:
        """The scales of some rows of a, and of all of b, along a stretch of K."""
        groups = slice(products.start // self.size, products.stop // self.size)
        return tuple(
            fused_steps.terms(scale, self.format) for scale in (self.a[rows, groups], self.b[:, groups])
        )


def matmul(
    a: NDArray[np.integer],
    b: NDArray[np.integer],
    a_format: Format,
    b_format: Format,
    accumulator: Accumulator,
    c: NDArray[np.float32] | None = None,
    scales: GroupScales | None = None,
) -> NDArray[np.float32]:
    """float32[M, N]: the product of codes a [M, K] and b [N, K] as the unit computes it, added to c [M, N].

    `scales` are for a SCALED_GROUPS accumulator. A K that is no multiple of the step is padded with zeros, as
    kernels do.

    Raises ValueError where shapes do not fit, where scales are missing or not meant, and for operands the
    accumulator's unit does not multiply.
    """
    _check(a, b, c, a_format, b_format, accumulator, scales)
    start = np.zeros((a.shape[0], b.shape[0]), np.float32) if c is None else c
    order = accumulator.order_of(a.shape[1])
    left, right = (
        np.pad(format_.decode(codes), ((0, 0), (0, order.size - codes.shape[1])))[:, order]
        for codes, format_ in ((a, a_format), (b, b_format))
    )
    a_format, b_format = (accumulator.unpacked or format_ for format_ in (a_format, b_format))
    columns = fused_steps.terms(right, b_format)

    def block(row: int) -> NDArray[np.float32]:
        rows = slice(row, row + _ROWS_AT_ONCE)
        operands = fused_steps.terms(left[rows], a_format), columns
        return _chains(*operands, start[rows], accumulator, lambda part: scales and scales.of(rows, part))

    with ThreadPoolExecutor(_THREADS) as pool:
        blocks = list(pool.map(block, range(0, a.shape[0], _ROWS_AT_ONCE)))
    result = np.concatenate(blocks) if blocks else start
    bits = np.where(np.isnan(result), np.uint32(CANONICAL_NAN), result.view(np.uint32))
    return bits.view(np.float32)


def _check(
    a: NDArray[np.integer],
    b: NDArray[np.integer],
    c: NDArray[np.float32] | None,
    a_format: Format,
    b_format: Format,
    accumulator: Accumulator,
    scales: GroupScales | None,
) -> None:
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(f"a is [M, K] and b is [N, K] with one K, got {a.shape} and {b.shape}")
    if c is not None and (c.shape != (a.shape[0], b.shape[0]) or c.dtype != np.float32):
        raise ValueError(f"c is float32[{a.shape[0]}, {b.shape[0]}], got {c.dtype}{list(c.shape)}")
    for format_ in (a_format, b_format):
        if format_.name not in accumulator.operands:
            raise ValueError(
                f"{accumulator.title} multiplies {', '.join(accumulator.operands)}, got {format_.name}"
            )

    if (scales is not None) != (accumulator.step is Step.SCALED_GROUPS):
        needed = "needs" if scales is None else "takes no"
        raise ValueError(f"{accumulator.title} {needed} group scales")


def _chains(
    a: fused_steps.Terms,
    b: fused_steps.Terms,
    start: NDArray[np.float32],
    accumulator: Accumulator,
    scales_of: ScalesOf,
) -> NDArray[np.float32]:
    """All of K: one chain from `start`, or chains of `promotion` products, each added to it in fp32."""
    k, size = a.value.shape[1], accumulator.promotion
    if size is WHOLE:
        return _chain(a, b, start.astype(np.float64), accumulator, scales_of, slice(0, k)).astype(np.float32)
    total = start
    for begin in range(0, k, size):
        part = slice(begin, min(begin + size, k))
        chain = _chain(a, b, np.zeros(start.shape), accumulator, scales_of, part)
        with np.errstate(invalid="ignore"):
            total = total + chain.astype(np.float32)
    return total


def _chain(
    a: fused_steps.Terms,
    b: fused_steps.Terms,
    c: Array,
    accumulator: Accumulator,
    scales_of: ScalesOf,
    products: slice,
) -> Array:
    """c after the steps over a stretch of K."""
    for k in range(products.start, products.stop, accumulator.fused_products):
        part = slice(k, min(k + accumulator.fused_products, products.stop))
        left, right = a.columns(part), b.columns(part)
        if accumulator.step in _IEEE or fused_steps.all_finite(left.value, right.value, c):
            c = _step(left, right, c, accumulator, scales_of(part))
        else:
            finite, special = fused_steps.split_special(left, right, c)
            c = np.where(np.isfinite(special), _step(*finite, accumulator, scales_of(part)), special)
    return c


def _step(
    a: fused_steps.Terms,
    b: fused_steps.Terms,
    c: Array,
    unit: Accumulator,
    scales: tuple[fused_steps.Terms, fused_steps.Terms] | None,
) -> Array:
    aligned = {
        "fraction_bits": unit.fraction_bits,
        "zero_exponent": unit.zero_exponent,
        "out": unit.out,
        "rounding": unit.out_rounding,
    }
    match unit.step:
        case Step.TRUNCATED:
            return fused_steps.truncated(a, b, c, **aligned)
        case Step.SCALED_GROUPS:
            return fused_steps.scaled_groups(a, b, c, scales=scales, **aligned)
        case Step.EXACT:
            return fused_steps.exact(a, b, c)
        case Step.FLUSHED_PAIRS:
            return fused_steps.flushed_pairs(a, b, c)
        case Step.FLOORED | Step.FLOORED_BY_PARITY:
            by_parity = unit.step is Step.FLOORED_BY_PARITY
            bits = {"fraction_bits": unit.fraction_bits, "sum_bits": unit.sum_bits}
            return fused_steps.floored(a, b, c, by_parity=by_parity, **bits)
        case Step.FP32_CHAIN:
            return fused_steps.fp32_chain(a, b, c)
        case Step.FP64_CHAIN:
            return fused_steps.fp64_chain(a, b, c)
        case _:
            assert_never(unit.step)
