"""How matrix units add: fraction bits kept, products fused in one step, and when partial sums are promoted.

`matmul` reproduces a unit's result bit for bit from codes. `Accumulator.error_bound` says how far that result
can be from the exact product. `fp8core.accumulators` lists the units.

Sources: MMA-Sim (arXiv 2511.10909) and Khattak & Mikaitis (arXiv 2512.07004) for the steps; DeepSeek-V3
(arXiv 2412.19437, section 3.3.2) for promotion every 128.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from fp8core.accumulators import steps as fused_steps
from fp8core.accumulators.model import Accumulator, Evidence, Step, check_operand
from fp8core.checks import codes_array, instance, reals, whole
from fp8core.formats import FORMATS, FloatFormat
from fp8core.rounding import Overflow
from fp8core.tiles import WHOLE

__all__ = ["CANONICAL_NAN", "Accumulator", "Evidence", "GroupScales", "Step", "matmul"]

Array = NDArray[np.float64]
ScalesOf = Callable[[slice], tuple[fused_steps.Terms, fused_steps.Terms] | None]

_ROWS_AT_ONCE = 64
_THREADS = 2
_SCALED_PRODUCTS = (fused_steps.GROUP, 2 * fused_steps.GROUP)
_SCALE_FORMATS = ("e4m3", "e8m0")
CANONICAL_NAN = 0x7FFFFFFF
"""The bits of every NaN that NVIDIA's tensor cores return."""


_IEEE = (Step.FLUSHED_PAIRS, Step.FP64_CHAIN)
"""Steps made of IEEE additions, which know NaN and infinities by themselves."""
_PRODUCT_LIMITS = {Step.FLOORED: 2.0 ** (FORMATS["fp32"].e_max + 1)}
"""Steps in which a product by itself is infinite from here on, whatever is added to it."""


@dataclass(frozen=True, kw_only=True)
class GroupScales:
    """Scales that a block-scaled unit multiplies in: one for `size` products, 16 or 32.

    a[M, groups] and b[N, groups] are values of `format`, e4m3 or e8m0, and not negative. The last group of K
    may be shorter than `size`.

    Raises ValueError for another size, format or value, and where a and b differ in groups.
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    format: FloatFormat
    size: int

    def __post_init__(self) -> None:
        if whole("the products of a scale", self.size) not in _SCALED_PRODUCTS:
            raise ValueError(f"one scale is for 16 or 32 products, got {self.size}")
        if instance("format", self.format, FloatFormat).name not in _SCALE_FORMATS:
            raise ValueError(f"scales are of {' or '.join(_SCALE_FORMATS)}, got {self.format.name}")
        for name in ("a", "b"):
            scale = reals(name, getattr(self, name), ndim=2).astype(np.float64)
            exact = self.format.decode(self.format.encode(scale, overflow=Overflow.NAN))
            if not np.array_equal(exact, scale, equal_nan=True) or (scale < 0).any():
                raise ValueError(f"{name} holds scales that are no values of {self.format.name} from 0 on")
            object.__setattr__(self, name, scale)
        if self.a.shape[1] != self.b.shape[1]:
            raise ValueError(f"a and b have one number of groups, got {self.a.shape} and {self.b.shape}")

    def of(self, rows: slice, products: slice) -> tuple[fused_steps.Terms, fused_steps.Terms]:
        """The scales of some rows of a, and of all of b, along a stretch of K."""
        places = np.arange(products.start, products.stop, fused_steps.GROUP) // self.size
        places = np.minimum(places, self.a.shape[1] - 1)
        return tuple(fused_steps.terms(scale[:, places], self.format) for scale in (self.a[rows], self.b))


def matmul(
    a: NDArray[np.integer],
    b: NDArray[np.integer],
    a_format: FloatFormat,
    b_format: FloatFormat,
    accumulator: Accumulator,
    c: NDArray[np.float32] | None = None,
    scales: GroupScales | None = None,
) -> NDArray[np.float32]:
    """float32[M, N]: the product of codes a [M, K] and b [N, K] as the unit computes it, added to c [M, N].

    `scales` are for a SCALED_GROUPS accumulator only. A K that is no multiple of the step is padded with
    zeros, as kernels do.

    Raises ValueError where shapes do not fit and where scales are missing or not wanted. It also refuses
    operands that the unit does not multiply, and anything that is no array of codes.
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
    a_format: FloatFormat,
    b_format: FloatFormat,
    accumulator: Accumulator,
    scales: GroupScales | None,
) -> None:
    instance("accumulator", accumulator, Accumulator)
    codes_array("a", a), codes_array("b", b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(f"a is [M, K] and b is [N, K] with one K, got {a.shape} and {b.shape}")
    if c is not None and (
        instance("c", c, np.ndarray).shape != (a.shape[0], b.shape[0]) or c.dtype != np.float32
    ):
        raise ValueError(f"c is float32[{a.shape[0]}, {b.shape[0]}], got {c.dtype}{list(c.shape)}")
    for format_ in (a_format, b_format):
        check_operand(accumulator, format_)
    if scales is not None:
        instance("scales", scales, GroupScales)
    if (scales is not None) != (accumulator.step is Step.SCALED_GROUPS):
        needed = "needs" if scales is None else "takes no"
        raise ValueError(f"{accumulator.title} {needed} group scales")
    if scales is not None:
        groups = -(-a.shape[1] // scales.size)
        need, got = [(x.shape[0], groups) for x in (a, b)], [scales.a.shape, scales.b.shape]
        if got != need:
            raise ValueError(
                f"{accumulator.title}, one scale for {scales.size} products: scales are {need[0]} and "
                f"{need[1]}, got {got[0]} and {got[1]}"
            )


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
        # A signaling NaN in c is quieted, and a sum in fp64 may be beyond fp32: infinity.
        with np.errstate(invalid="ignore", over="ignore"):
            begin = start.astype(np.float64)
            return _chain(a, b, begin, accumulator, scales_of, slice(0, k)).astype(np.float32)
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
        limit = _PRODUCT_LIMITS.get(accumulator.step, np.inf)
        if accumulator.step in _IEEE or fused_steps.all_below(limit, left.value, right.value, c):
            c = _step(left, right, c, accumulator, scales_of(part))
        else:
            finite, special = fused_steps.split_special(left, right, c, limit)
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
