"""Launch decisions of the quantizer: its blocks, and which operands it takes. Pure; no torch, no GPU."""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from fp8core.formats import TableFormat
from fp8core.recipes import OperandSpec
from fp8core.tiles import WHOLE, Extent, TileShape
from kernels.device import DeviceKind, Unsupported
from kernels.quantize.facts import MXINT8, element_facts, holds

K_PADDING = 128
"""Codes are stored with zeros up to a multiple of this along K: what TMA and torch's own ops ask for."""

PARTIALS = 512
"""Programs that look for the amax of a whole tensor, at most: as many as an H200 runs at once."""
_CODE_BITS = (4, 6, 8)
HELD = 128 * 128
"""Numbers that one program holds at most."""
SIDE_BY_SIDE = 8
"""Numbers of 16 bits that a thread loads at once."""
_FEWEST = 2
"""Numbers of 16 bits that a thread loads at once, at least: a word."""
PATCH = 64
"""Neighbors in memory that a warp has at most of what it turns over: what it loads is 128 bytes in a row, and
what it stores fills sectors of 32 bytes, along both dims.
"""
_NARROWEST = 32
"""Neighbors along mn that a block has at least where they are neighbors in memory: two sectors of 16 bits."""
THREADS, _EACH = 32, 32
"""Threads of a warp, and the elements of each."""
_USUAL_BLOCK = 64 * 128
_USUAL_K, _PACKED_K = 128, 256
"""A row of a block: 256 bytes of bf16, or 128 bytes of 4-bit codes."""
SHORT = 2048
"""Elements of a block at least, if there are more: sixteen a thread."""
_ENOUGH = 256
"""Programs that keep a large GPU busy, about two an SM: of fewer, lower blocks make more."""
_SHORT_BLOCK = 16 * 256
_LONG_K = 512
LEAST_K = 16
"""Elements along K that one draw of random bits serves, and that packing takes together."""
_KEPT = 4096
_MOST_SCALES = 2**31 - 1
"""The place of a scale is 32 bits wide in the kernels."""


@dataclass(frozen=True, kw_only=True)
class QuantizePlan:
    """Blocks of the quantizer. A block is cut into parts that lie in one tile each.

    - fused: a part is a whole tile, so that its amax needs no pass of its own.
    - saved: the part of a block that is a tile of the saved copy; None where there is no such copy, or where
      it is made by itself first.
    - sixteens: a thread loads sixteen neighbors along K. They must lie side by side in memory: else Triton
      3.6 spreads K over warps in an order in which it does not sum (ReduceOpToLLVM.cpp, `delinearize`).
    - casts: the hardware's cast may encode. Where a dim is 1, Triton compiles that in, and most codes of a
      block are casts of a constant: the ptxas of CUDA 12.8 and 12.9 packs these wrong beside other codes.
    - side_by_side: neighbors along K are neighbors in memory. padded: rows of codes end in zeros beyond K.
    - turns: they are not, and a block is turned over as it is loaded. A saved copy that is rotated is not:
      Triton 3.6 gets its sums wrong where neighbors lie in different warps.
    - meets: all programs run at once, and find the whole tensor's amax together before they scale.
    - at_once: neighbors in memory that a thread loads at once, where a block is turned over. Of numbers that
      are rotated they are few, so that a thread has what is summed.
    """

    block_mn: int
    block_k: int
    part_mn: int
    part_k: int
    fused: bool
    saved: tuple[int, int] | None = None
    sixteens: bool = False
    casts: bool = True
    each: int = _EACH
    side_by_side: bool = True
    turns: bool = False
    padded: bool = False
    meets: bool = False
    at_once: int = SIDE_BY_SIDE

    @property
    def turned(self) -> int:
        """Neighbors along K that a thread has, where those along mn are neighbors in memory; else 0."""
        each = self.block_mn * self.block_k // (THREADS * self.warps * self.at_once)
        return min(max(each, 1), self.block_k) if self.turns else 0

    def across(self, spec: OperandSpec) -> int:
        """Neighbors along mn that a warp has.

        0 for as many as Triton gives it: that is how numbers are rotated, and where a patch is too narrow.
        """
        if spec.rotation is not None:
            return 0
        patch = min(self.block_mn, PATCH)
        return patch if patch >= _NARROWEST else 0

    def reads(self, spec: OperandSpec) -> int:
        """How often x is read: twice where a scale needs the amax of more than a block."""
        rule = spec.scale_rule
        waits = rule.has_fitted_outer or not (self.fused or rule.history)
        return 2 if waits and not self.meets else 1

    @property
    def warps(self) -> int:
        """Warps for at most `each` elements a thread."""
        return max(4, self.block_mn * self.block_k // (THREADS * self.each))


@lru_cache(maxsize=_KEPT)
def plan_quantize(spec: OperandSpec, mn: int, k: int, *, side_by_side: bool = True) -> QuantizePlan:
    """The blocks for an operand [mn, k]: one pass where a tile fits a block, else two.

    side_by_side: neighbors along K are neighbors in memory. Raises Unsupported for too many scales.
    """
    scales = prod(
        -(-size // (extent or max(size, 1))) for size, extent in ((mn, spec.tile.mn), (k, spec.tile.k))
    )
    if scales > _MOST_SCALES:
        raise Unsupported(
            f"the kernels write at most {_MOST_SCALES:,} scales, got {scales:,} for {spec.tile}"
        )
    ways = [(True, True), (False, True), (True, False), (False, False)]
    for fused, kept in ways:
        least = least_block(spec, mn, k, fused=fused, kept=kept)
        if least is None:
            continue
        narrowest = 1 if side_by_side else min(_NARROWEST, 1 << max(mn - 1, 0).bit_length())
        if max(least[0], narrowest) * least[1] <= HELD:
            break
    else:
        least, fused, kept = (1, _least_k(spec)), False, False
    least_mn, least_k = least
    sixteens = is_packed(spec) and side_by_side
    usual, usual_k, each = _usual(spec, sixteens) if side_by_side else _usual_down(spec)
    block_k = max(least_k, min(usual_k, HELD // least_mn))
    block_mn = max(least_mn, min(usual // usual_k, usual // block_k, usual))
    while side_by_side and block_mn // 2 >= least_mn and block_mn * block_k > SHORT:
        if -(-mn // block_mn) * -(-k // block_k) >= _ENOUGH:
            break
        block_mn //= 2
    made = plan_within(spec, mn, k, (block_mn, block_k), fused=fused, kept=kept)
    turns = not side_by_side and (spec.rotation is None or spec.saved_as is None)
    at_once = SIDE_BY_SIDE
    if turns and spec.rotation is not None:
        own = made.block_mn * made.block_k // (THREADS * replace(made, each=each).warps)
        at_once = min(max(own // spec.rotation.size, _FEWEST), SIDE_BY_SIDE)
    return replace(
        made, sixteens=sixteens, each=each, side_by_side=side_by_side, turns=turns, at_once=at_once
    )


def least_block(
    spec: OperandSpec, mn: int, k: int, *, fused: bool = True, kept: bool = True
) -> tuple[int, int] | None:
    """(mn, K) of the smallest block that holds whole tiles, if `fused`, and those of a saved copy, if `kept`.

    None where no block does, or where there is no saved copy to keep.
    """
    extents = [(1, _least_k(spec))]
    if fused:
        extents.append(_whole_part(spec.tile, mn, k))
    if kept and spec.saved_as is not None:
        extents.append(_whole_part(spec.saved_as.tile, mn, k) if _is_plain(spec.saved_as) else None)
    if None in extents:
        return None
    return max(each[0] for each in extents), max(each[1] for each in extents)


def plan_within(
    spec: OperandSpec, mn: int, k: int, block: tuple[int, int], *, fused: bool, kept: bool = True
) -> QuantizePlan:
    """The plan of an operand [mn, k] for blocks (mn, K) that are large enough."""
    part = _whole_part(spec.tile, mn, k) if fused else part_within(spec.tile, *block)
    assert part is not None, "a block holds a tile only where a tile has a size"
    saved = None
    if kept and spec.saved_as is not None:
        saved = _whole_part(spec.saved_as.tile, mn, k)
    return QuantizePlan(
        block_mn=block[0],
        block_k=block[1],
        part_mn=part[0],
        part_k=part[1],
        fused=fused,
        saved=saved,
        casts=1 not in (mn, k),
        padded=k % K_PADDING > 0,
    )


def _usual(spec: OperandSpec, sixteens: bool) -> tuple[int, int, int]:
    """(elements of a block, those along K, those of a thread), as they were fastest on an H200.

    A search keeps most numbers of a thread in registers, powers of two as scales the fewest.
    """
    rule = spec.scale_rule
    if not sixteens:
        return _USUAL_BLOCK, _USUAL_K, _EACH
    if len(rule.search) > 1:
        return _SHORT_BLOCK, _PACKED_K, _EACH
    if holds(rule, spec.format) and not spec.is_random:
        return _USUAL_BLOCK, _PACKED_K, 2 * _EACH
    return _USUAL_BLOCK, _LONG_K, _EACH


def patch_of(columns: int) -> int:
    """Neighbors along a row that a warp has of a block that is written along rows and down columns."""
    return min(columns, PATCH // 2)


def _usual_down(spec: OperandSpec) -> tuple[int, int, int]:
    """As `_usual`, for neighbors in memory that lie along mn.

    Each thread has a patch of them.
    """
    if len(spec.scale_rule.search) > 1:
        return _USUAL_BLOCK, _PACKED_K if is_packed(spec) else _USUAL_K, _EACH
    if spec.rotation is not None:
        return _USUAL_BLOCK, _PACKED_K if is_packed(spec) else _USUAL_K, 2 * _EACH
    if not is_packed(spec) and element_facts(spec.format, spec.rounding, DeviceKind.GPU).encode_by != "cast":
        return _USUAL_BLOCK // 2, _USUAL_K, _EACH
    return _USUAL_BLOCK, _USUAL_K, 2 * _EACH


def _least_k(spec: OperandSpec) -> int:
    """Elements along K that a block has at least."""
    run = 1 if spec.rotation is None else spec.rotation.size
    return max(run, LEAST_K if spec.is_random or is_packed(spec) else 1)


def is_packed(spec: OperandSpec) -> bool:
    """Several codes share a byte."""
    return spec.format.packed_bits < max(_CODE_BITS)


def _is_plain(saved: OperandSpec) -> bool:
    """A saved copy that a block can make on the way: one level of scales, no search, no table."""
    rule = saved.scale_rule
    facts = element_facts(saved.format, saved.rounding, DeviceKind.INTERPRETER)
    return rule.outer is None and len(rule.search) == 1 and facts.encode_by != "table"


def _whole_part(tile: TileShape, mn: int, k: int) -> tuple[int, int] | None:
    """The part of a block that holds one tile and no more, in powers of two; None where there is none."""
    sizes = [_power_of_two_over(extent, size) for extent, size in ((tile.mn, mn), (tile.k, k))]
    return None if None in sizes else (sizes[0], sizes[1])


def _power_of_two_over(extent: Extent, size: int) -> int | None:
    """An extent that is a power of two, or what a dim of one tile fills up to; None for other extents."""
    if extent is not WHOLE and not extent & (extent - 1):
        return extent
    return 1 << max(size - 1, 0).bit_length() if extent is WHOLE or extent >= size else None


def part_within(tile: TileShape, block_mn: int, block_k: int) -> tuple[int, int]:
    """The largest part of a block, in powers of two, that lies in one tile wherever the block starts."""
    mn, k = (
        block if extent is WHOLE else min(extent & -extent, block)
        for extent, block in ((tile.mn, block_mn), (tile.k, block_k))
    )
    return mn, k


def check_operand(spec: OperandSpec | None) -> Unsupported | None:
    """The reason why the device quantizer cannot do `spec`; None where it can. A bf16 operand has no spec."""
    if spec is None:
        return None
    format_ = spec.format
    if format_.bits not in _CODE_BITS or not format_.signed:
        sign = "" if format_.signed else " without a sign"
        return Unsupported(
            f"the kernels write codes of 4, 6 and 8 bits with a sign, not {format_.name}'s of "
            f"{format_.bits}{sign}"
        )
    if spec.is_random and isinstance(format_, TableFormat) and format_ != MXINT8:
        return Unsupported(f"the kernels have no stochastic rounding to {format_.name}")
    if len(spec.scale_rule.search) > 1 and not _fits_a_block(spec):
        return Unsupported(
            f"the kernels search a scale for tiles that fit a block, of powers of two and at most "
            f"{HELD:,} elements, not for {spec.tile}"
        )
    if _least_k(spec) > HELD:
        return Unsupported(
            f"the kernels rotate runs of at most {HELD:,} elements, not of {spec.rotation.size:,}"
        )
    return check_operand(spec.saved_as)


def _fits_a_block(spec: OperandSpec) -> bool:
    """Every tensor's tiles fit a block, as those of WHOLE extents need not."""
    extents = (spec.tile.mn, spec.tile.k)
    if any(extent is WHOLE or extent & (extent - 1) for extent in extents):
        return False
    return spec.tile.mn * max(spec.tile.k, _least_k(spec)) <= HELD
