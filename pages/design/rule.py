"""The rule's verdict on a matmul: does its scale leave the sum, with the reason."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from fp8core.accumulators import Accumulator, Step
from fp8core.contraction import summed_stretches
from fp8core.formats import FORMATS, Format
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.tiles import WHOLE
from pages.kit.charts.words import span

_BF16 = FORMATS["bf16"]
_BF16_DIGITS = 8
"""Significand bits of bf16, the leading one included."""


@dataclass(frozen=True)
class Verdict:
    """`holds`: no scale changes inside of what is summed. `short` is a word or two, `reason` sentences."""

    holds: bool
    short: str
    reason: str


def verdict(spec: MatmulSpec, k: int) -> Verdict:
    """Judge a matmul that sums over k products: do its scales leave the sum, and how?"""
    unit = spec.accumulator
    quantized = {side: operand for side in Side if (operand := spec.operand(side)) is not None}
    if not quantized:
        return Verdict(True, "no scale", "Both operands stay bf16 and have no scale.")
    names = {side: _BF16 if side not in quantized else quantized[side].format for side in Side}
    if all(format_.name in unit.operands for format_ in names.values()):
        return _of_codes(spec, unit, k)
    if _BF16.name in unit.operands:
        return _of_bf16(spec, quantized)
    side, format_ = next((s, f) for s, f in names.items() if f.name not in unit.operands)
    return Verdict(
        False,
        "no such unit",
        f"{unit.title} multiplies {', '.join(unit.operands)}, and {side.value} is {format_.name}. Take an "
        "accumulation that has this format, or one of bf16, for which the codes are dequantized.",
    )


def _of_codes(spec: MatmulSpec, unit: Accumulator, k: int) -> Verdict:
    """The tensor core adds products of codes."""
    if not spec.extents_along_k:
        reason = (
            "Each scale is one number along all of K. It moves in front of the sum and comes in at the end."
        )
        return Verdict(True, "yes, once", reason)
    if unit.step is Step.SCALED_GROUPS:
        return Verdict(True, "in the unit", f"{unit.title} multiplies the scales itself, group by group.")
    broken = next(
        (
            part
            for part in summed_stretches(k, unit.promotion, spec.extent(Side.A), spec.extent(Side.B))
            if not part.scale_leaves_sum
        ),
        None,
    )
    if broken is None:
        return Verdict(
            True,
            f"yes, every {unit.promotion}",
            f"The sum leaves the tensor core every {unit.promotion} products, and no scale changes in "
            "between. Each partial sum is multiplied by its scales, and these are added in fp32.",
        )
    side = Side.B if broken.a_constant else Side.A
    extent = spec.extent(side)
    stretch = "all of K" if unit.promotion is WHOLE else f"k = {span(broken.k)}"
    return Verdict(
        False,
        "no",
        f"{unit.title} adds {stretch} before the sum leaves it, and {side.value}'s scale changes every "
        f"{extent} along K: codes of different scales would be added. Take longer tiles along K, an "
        f"accumulation that is promoted at least every {extent}, or one of bf16.",
    )


def _of_bf16(spec: MatmulSpec, quantized: dict[Side, OperandSpec]) -> Verdict:
    """The codes times their scales are made bf16 before they are multiplied."""
    rounded = [side.value for side, operand in quantized.items() if not is_exact_in_bf16(operand)]
    formats = " or ".join(sorted({operand.format.name for operand in quantized.values()}))
    exact = (
        f"That rounds {' and '.join(rounded)} once more: there are more digits than bf16 has."
        if rounded
        else "That is exact: there are no more digits than bf16 has."
    )
    if not spec.extents_along_k:
        how = (
            "codes are made bf16, and each scale, which is one number along all of K, comes in after the sum"
        )
        short = "yes, once"
    else:
        how, short = "each code is made bf16 with its scale before it is multiplied", "before the sum"
    return Verdict(True, short, f"{spec.accumulator.title} multiplies no {formats}: {how}. {exact}")


def is_exact_in_bf16(operand: OperandSpec) -> bool:
    """Each code times each scale of its tile is a bf16 number, as far as its digits go.

    An outer scale that holds for all of K does not count: it comes in after the sum.
    """
    rule = operand.scale_rule
    if rule.outer is not None and rule.has_fitted_outer and rule.outer.tile.k is not WHOLE:
        return False
    if operand.tile.k is WHOLE and rule.outer is None:
        return digits(operand.format) <= _BF16_DIGITS
    scale = 1 if rule.powers_of_two else digits(rule.format)
    return digits(operand.format) + scale - (1 if scale == 1 else 0) <= _BF16_DIGITS


@cache
def digits(format_: Format) -> int:
    """The most significand bits that a code has; of a format of many bits, as its name says."""
    if format_.bits > 16:
        return 24
    values = format_.decode(np.arange(1 << format_.bits))
    values = np.abs(values[np.isfinite(values) & (values != 0)])
    whole = np.frexp(values)[0] * 2.0**24
    lowest = np.bitwise_and(whole.astype(np.int64), -whole.astype(np.int64))
    return int(24 - np.log2(lowest).min())
