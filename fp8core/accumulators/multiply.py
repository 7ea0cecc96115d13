"""Products of codes, added bit for bit as a matrix unit does.

Sources: MMA-Sim (arXiv 2511.10909) and Khattak & Mikaitis (arXiv 2512.07004) for the steps; DeepSeek-V3
(arXiv 2412.19437, section 3.3.2) for promotion every 128.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from fp8core.accumulators.chains import AT_ONCE, Operands, running_sums
from fp8core.accumulators.model import Accumulator, Step, check_codes
from fp8core.accumulators.steps import GROUP
from fp8core.accumulators.terms import Terms, terms
from fp8core.arrays import Float32, Float64, Integers
from fp8core.checks import instance, reals, whole
from fp8core.formats import FloatFormat
from fp8core.rounding import Overflow

_THREADS = 2
_SCALED_PRODUCTS = (GROUP, 2 * GROUP)
_SCALE_FORMATS = ("e4m3", "e8m0")
CANONICAL_NAN = 0x7FFFFFFF
"""The bits of every NaN that NVIDIA's tensor cores return."""


@dataclass(frozen=True, kw_only=True)
class GroupScales:
    """Scales of a block-scaled unit: one for `size` products, 16 or 32.

    a[M, groups], b[N, groups] are values of `format` (e4m3 or e8m0) from 0 on. The last group of K may be
    shorter. Raises ValueError for another size, format or value, and for different numbers of groups.
    """

    a: Float64
    b: Float64
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

    def terms(self, k: int) -> tuple[Terms, Terms]:
        places = np.minimum(np.arange(0, k, GROUP) // self.size, self.a.shape[1] - 1)
        return tuple(terms(scale.T[places], self.format) for scale in (self.a, self.b))


def matmul(
    a: Integers,
    b: Integers,
    a_format: FloatFormat,
    b_format: FloatFormat,
    accumulator: Accumulator,
    c: Float32 | None = None,
    scales: GroupScales | None = None,
) -> Float32:
    """float32[M, N]: product of codes a [M, K] and b [N, K] as the unit computes it, added to c [M, N].

    `scales` are for a SCALED_GROUPS accumulator only. K is padded with zeros to whole steps, as kernels do.

    Raises ValueError for shapes that do not fit, missing or surplus scales, formats that the unit does not
    multiply, and non-integer codes.
    """
    check_codes(accumulator, a=(a, a_format), b=(b, b_format))
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(f"a is [M, K] and b is [N, K] with one K, got {a.shape} and {b.shape}")
    if c is not None and (
        instance("c", c, np.ndarray).shape != (a.shape[0], b.shape[0]) or c.dtype != np.float32
    ):
        raise ValueError(f"c is float32[{a.shape[0]}, {b.shape[0]}], got {c.dtype}{list(c.shape)}")
    if (scales is not None) != (accumulator.step is Step.SCALED_GROUPS):
        verb = "needs" if scales is None else "takes no"
        raise ValueError(f"{accumulator.title} {verb} group scales")
    if scales is not None:
        groups = -(-a.shape[1] // instance("scales", scales, GroupScales).size)
        need, shapes = [(x.shape[0], groups) for x in (a, b)], [scales.a.shape, scales.b.shape]
        if shapes != need:
            raise ValueError(
                f"{accumulator.title}, one scale for {scales.size} products: scales are {need[0]} and "
                f"{need[1]}, got {shapes[0]} and {shapes[1]}"
            )
    start = np.zeros((a.shape[0], b.shape[0]), np.float32) if c is None else c
    operands = laid_out(a, b, a_format, b_format, accumulator, scales)
    (result,) = prefix_results(operands, accumulator, start, (operands.a.value.shape[0],))
    return result


def laid_out(
    a: Integers,
    b: Integers,
    a_format: FloatFormat,
    b_format: FloatFormat,
    accumulator: Accumulator,
    scales: GroupScales | None = None,
) -> Operands:
    """Codes a [M, K] and b [N, K] as the unit takes them: whole steps, in its order, K first."""
    order = accumulator.order_of(a.shape[1])
    sides = (
        terms(
            np.pad(format_.decode(codes).T, ((0, order.size - codes.shape[1]), (0, 0)))[order],
            accumulator.unpacked or format_,
        )
        for codes, format_ in ((a, a_format), (b, b_format))
    )
    return Operands(*sides, scales and scales.terms(order.size))


def prefix_results(
    operands: Operands, accumulator: Accumulator, start: Float32, lengths: Sequence[int]
) -> tuple[Float32, ...]:
    """float32[M, N] for each of `lengths`, multiples of the step: start plus the first k products.

    A few rows of a at a time fit a cache.
    """
    rows = max(1, AT_ONCE // max(1, accumulator.fused_products * start.shape[1]))
    blocks = [slice(row, row + rows) for row in range(0, start.shape[0], rows)] or [slice(0)]

    def of_block(block: slice) -> list[Float32]:
        return running_sums(operands.rows(block), accumulator, start[block], lengths)

    if len(blocks) == 1:
        parts = [of_block(blocks[0])]
    else:
        with ThreadPoolExecutor(_THREADS) as pool:
            parts = list(pool.map(of_block, blocks))
    return tuple(canonical(np.concatenate(blocks_of_one)) for blocks_of_one in zip(*parts, strict=True))


def canonical(result: Float32) -> Float32:
    """Replace NaNs by the one that NVIDIA's tensor cores return."""
    bits = np.where(np.isnan(result), np.uint32(CANONICAL_NAN), result.view(np.uint32))
    return bits.view(np.float32)
