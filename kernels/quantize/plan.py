"""Launch decisions of the quantizer: blocks, copies of one launch, operands without a kernel. No torch."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from fp8core.formats import TableFormat
from fp8core.recipes import Operand, OperandSpec
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE, Extent, TileShape
from kernels.device import Device, DeviceKind, Unsupported
from kernels.quantize.facts import LEAST_K, MXINT8, element_facts, holds, is_packed

K_PADDING = 128
"""Codes are stored with zeros up to a multiple of this along K, for TMA and torch's own ops."""
HELD = 128 * 128
"""Numbers that one program holds at most."""
SIDE_BY_SIDE = 8
"""Numbers of 16 bits that a thread loads at once."""
_CODE_BITS = (4, 6, 8)
_FEWEST = 2
"""The fewest numbers of 16 bits that a thread loads at once: a word."""
_PATCH = 64
"""The most neighbors in memory that a warp has of a block to transpose: it loads 128 bytes of a row, and
stores whole sectors of 32 bytes, along both dims.
"""
_NARROWEST = 32
"""Neighbors along mn that a block has at least where they are neighbors in memory: two sectors of 16 bits."""
_THREADS, _EACH = 32, 32
"""Threads of a warp, and the elements of each."""
_USUAL_BLOCK = 64 * 128
_USUAL_K, _PACKED_K = 128, 256
"""A row of a block: 256 bytes of bf16, or 128 bytes of 4-bit codes."""
_SHORT = 2048
"""Elements of a block at least, if there are more: sixteen a thread."""
_ENOUGH = 256
"""Programs that keep a large GPU busy, about two an SM: of fewer, lower blocks make more."""
_SHORT_BLOCK = 16 * 256
_LONG_K = 512
_BOTH_EACH, _BOTH_USUAL = 64, (64, 128)
"""For two copies of x: elements of a thread, and a block's rows and columns."""
_LONGEST = 256
"""A longer block is too narrow: along its short dim it writes only a few bytes of a row."""
_MOST_SCALES = 2**31 - 1
"""The place of a scale is 32 bits wide in the kernels."""
_TENSOR = TileShape(WHOLE, WHOLE)
_KEPT = 4096


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The parts into which an operand [mn, K] cuts a block, each in one tile.

    - fused: a part is a whole tile, so that its amax needs no pass of its own.
    - saved: the part of a block that is a tile of the saved copy; None without such a copy, or if a launch of
      its own writes it first.
    - casts: the hardware's cast may encode. Triton compiles a dim of 1 in, and most codes of a block are then
      casts of a constant: the ptxas of CUDA 12.8 and 12.9 packs these wrong beside other codes.
    - padded: rows of codes end in zeros beyond K.
    """

    part_mn: int
    part_k: int
    fused: bool
    saved: tuple[int, int] | None = None
    casts: bool = True
    padded: bool = False


@dataclass(frozen=True, kw_only=True)
class QuantizePlan:
    """A block of a result [rows, columns], its warps, and how each operand cuts it.

    - along, down: the operand with K along the rows, and the one with K down the columns; or None.
    - thread_rows: neighboring rows of a thread, which transposes the block; 0: rows in their order.
    - patch: neighbors along a row of a warp; 0 for Triton's own choice: for a rotation, or if too narrow.
    - at_once: neighbors in memory that a thread of a transposed block loads at once. Few for a rotation, so
      that a thread has all numbers of a sum.
    - sixteens: a thread loads sixteen neighbors along K. They must lie side by side in memory: else Triton
      3.6 spreads K over warps in an order in which it does not sum (ReduceOpToLLVM.cpp, `delinearize`).
    - in_runs: `along` takes rows in the order of their load, since each of its parts spans one row, or all.
    - shared: both operands need the same amax of the whole result.
    - cooperative: a cooperative launch; programs find the whole tensor's amax together before they scale.
    - split: a program has a block of one half of the result, not of both. It needs half as many registers.
    """

    rows: int
    columns: int
    warps: int
    along: Cut | None = None
    down: Cut | None = None
    thread_rows: int = 0
    patch: int = 0
    at_once: int = SIDE_BY_SIDE
    sixteens: bool = False
    in_runs: bool = True
    shared: bool = False
    cooperative: bool = False
    split: bool = False

    @property
    def only(self) -> Cut:
        """The cut of a plan for one operand."""
        cut = self.along or self.down
        assert cut is not None, "this plan writes no copy"
        return cut

    @property
    def block(self) -> tuple[int, int]:
        """(mn, K) of a block of one operand."""
        return (self.columns, self.rows) if self.down else (self.rows, self.columns)

    def alone(self, cut: Cut) -> "QuantizePlan":
        """Plan of the passes before two copies: the same blocks for one operand, rows in order."""
        if self.along is None or self.down is None:
            return self
        block = (self.columns, self.rows) if cut is self.down else (self.rows, self.columns)
        return QuantizePlan(
            rows=block[0], columns=block[1], warps=max(4, prod(block) // (_THREADS * _EACH)), along=cut
        )

    def without_patches(self) -> "QuantizePlan":
        """Plan of the same blocks of one operand, rows in order.

        A GPU needs patches of two-byte neighbors: of others, Triton 3.6 would give threads and warps
        interleaved parts, and does not find the largest of these (ReduceOpToLLVM.cpp).
        """
        mn, k = self.block
        return replace(
            self, rows=mn, columns=k, along=self.only, down=None, thread_rows=0, patch=0, at_once=SIDE_BY_SIDE
        )

    def reads(self, spec: OperandSpec) -> int:
        """Times that x is read for one operand: twice where a scale needs the amax of more than a block."""
        rule = spec.scale_rule
        waits = rule.has_fitted_outer or not (self.only.fused or rule.history)
        return 2 if waits and not self.cooperative else 1

    def blocks(self, rows: int, columns: int) -> tuple[int, int]:
        """Blocks along the columns and the rows of a result, or of each half. Codes are padded along K."""
        across = padded(columns) if self.along else columns
        high = padded(rows) if self.down else rows
        return -(-across // self.columns), -(-high // self.rows)


def padded(k: int) -> int:
    """K up to the zeros that codes end in."""
    return -(-k // K_PADDING) * K_PADDING


@lru_cache(maxsize=_KEPT)
def plan_quantize(
    spec: OperandSpec, mn: int, k: int, *, side_by_side: bool = True, programs: int = 0
) -> QuantizePlan:
    """The blocks for an operand [mn, k] of x: one pass where a tile fits a block, else two.

    side_by_side: neighbors along K are neighbors in memory. Else the load transposes a block, except for a
    rotated saved copy: Triton 3.6 gets its sums wrong if neighbors lie in different warps. programs: the most
    of a cooperative launch, which finds a small tensor's amax. Raises Unsupported for too many scales.
    """
    scales = prod(
        -(-size // (extent or max(size, 1))) for size, extent in ((mn, spec.tile.mn), (k, spec.tile.k))
    )
    if scales > _MOST_SCALES:
        raise Unsupported(
            f"the kernels write at most {_MOST_SCALES:,} scales, got {scales:,} for {spec.tile}"
        )
    ways = [(True, True), (False, True), (True, False), (False, False)]
    for fused, with_saved in ways:
        least = _least_block(spec, mn, k, fused=fused, with_saved=with_saved)
        if least is None:
            continue
        narrowest = 1 if side_by_side else min(_NARROWEST, _power_over(mn))
        if max(least[0], narrowest) * least[1] <= HELD:
            break
    else:
        least, fused, with_saved = (1, _least_k(spec)), False, False
    least_mn, least_k = least
    sixteens = is_packed(spec) and side_by_side
    usual, usual_k, each = _usual(spec, sixteens) if side_by_side else _usual_down(spec)
    block_k = max(least_k, min(usual_k, HELD // least_mn))
    block_mn = max(least_mn, min(usual // usual_k, usual // block_k, usual))
    while side_by_side and block_mn // 2 >= least_mn and block_mn * block_k > _SHORT:
        if -(-mn // block_mn) * -(-k // block_k) >= _ENOUGH:
            break
        block_mn //= 2
    block, cooperative = (block_mn, block_k), False
    if mn * k and whole_amax_of(spec, fused=fused) is not None:
        other = _cooperative_block(block, (mn, k), least_mn, programs)
        if other is not None:
            block, each, cooperative = other, _EACH, True
    cut = cut_of(spec, mn, k, block, fused=fused, with_saved=with_saved)
    warps = max(4, prod(block) // (_THREADS * each))
    if side_by_side or (spec.rotation is not None and spec.saved_as is not None):
        plan = QuantizePlan(rows=block[0], columns=block[1], warps=warps, along=cut, sixteens=sixteens)
        return replace(plan, cooperative=cooperative)
    patch, at_once, own = min(block[0], _PATCH), SIDE_BY_SIDE, prod(block) // (_THREADS * warps)
    if spec.rotation is not None:
        patch, at_once = 0, min(max(own // spec.rotation.size, _FEWEST), SIDE_BY_SIDE)
    return QuantizePlan(
        rows=block[1],
        columns=block[0],
        warps=warps,
        down=cut,
        thread_rows=min(max(prod(block) // (_THREADS * warps * at_once), 1), block[1]),
        patch=patch if patch >= _NARROWEST else 0,
        at_once=at_once,
        cooperative=cooperative,
    )


@lru_cache(maxsize=_KEPT)
def plan_both(
    along: OperandSpec, down: OperandSpec, rows: int, columns: int, *, programs: int = 0
) -> QuantizePlan | None:
    """The block for two operands of x [rows, columns]; None where each needs a launch of its own.

    So it is for a saved copy that does not fit a block, and for more work on a number than a cast: two reads
    are then faster than a block that waits in registers. programs: as in `plan_quantize`.
    """
    if not all(_takes_few_steps(spec) for spec in (along, down)):
        return None
    for fused in ((True, True), (True, False), (False, True), (False, False)):
        first = _least_block(along, rows, columns, fused=fused[0])
        second = _least_block(down, columns, rows, fused=fused[1])
        if first is None or second is None:
            continue
        least = max(first[0], second[1]), max(first[1], second[0])
        if least[0] * least[1] <= HELD and max(least) <= _LONGEST:
            break
    else:
        return None
    waits = [spec.scale_rule.history or not each for spec, each in zip((along, down), fused, strict=True)]
    if any(
        each and WHOLE in (spec.tile.mn, spec.tile.k) and spec.tile.mn != spec.tile.k
        for spec, each in zip((along, down), waits, strict=True)
    ):
        # Rows and columns would each be read for an amax before.
        return None
    block_rows, block_columns = (max(pair) for pair in zip(least, _BOTH_USUAL, strict=True))
    while block_rows * block_columns > HELD:
        if block_rows > least[0]:
            block_rows //= 2
        else:
            block_columns //= 2
    block, cooperative = (block_rows, block_columns), False
    wholes = [whole_amax_of(spec, fused=each) for spec, each in zip((along, down), fused, strict=True)]
    shared = wholes[0] is not None and wholes[0] == wholes[1]
    if shared:
        other = _cooperative_block(block, (padded(rows), columns), least[0], programs)
        block, cooperative = other or block, other is not None
    cuts = (
        cut_of(along, rows, columns, block, fused=fused[0]),
        cut_of(down, columns, rows, block[::-1], fused=fused[1]),
    )
    warps = max(4, prod(block) // (_THREADS * _BOTH_EACH))
    return _turned(cuts, block, warps, shared=shared, cooperative=cooperative)


def _turned(
    cuts: tuple[Cut | None, Cut | None],
    block: tuple[int, int],
    warps: int,
    *,
    shared: bool,
    cooperative: bool,
) -> QuantizePlan:
    """A plan that transposes blocks for the second of two operands."""
    along, down = cuts
    saved = () if along is None or along.saved is None else (along.saved[0],)
    parts = () if along is None else (along.part_mn, *saved)
    return QuantizePlan(
        rows=block[0],
        columns=block[1],
        warps=warps,
        along=along,
        down=down,
        thread_rows=min(max(1, prod(block) // (_THREADS * warps * SIDE_BY_SIDE)), block[0]),
        patch=patch_of(block[1]),
        in_runs=all(part in (1, block[0]) for part in parts),
        shared=shared,
        cooperative=cooperative,
    )


def patch_of(columns: int) -> int:
    """Neighbors along a row that a warp has of a block that is written along rows and down columns."""
    return min(columns, _PATCH // 2)


@dataclass(frozen=True, kw_only=True)
class _Usual:
    """A block, elements of a thread, and the fewest warps of a program: the fastest on an H200."""

    rows: int
    columns: int
    each: int
    warps: int = 4


_ALONG = _Usual(rows=32, columns=128, each=32)
_ALONG_OF_HALVES = _Usual(rows=8, columns=256, each=16)
"""Codes lie along rows alone. A program that computes both halves has as many numbers of each."""
_DOWN = _Usual(rows=128, columns=64, each=64)
"""Codes lie down columns, too: many elements of a thread share the work for a tile."""
_DOWN_OF_HALVES = _Usual(rows=128, columns=32, each=32)
"""A program computes both halves. With tiles that need a larger block, it computes one of them."""
_ROWS = _Usual(rows=1, columns=64, each=64, warps=2)
"""A block has whole rows: few warps meet at its barriers."""
_ROWS_OF_BYTES = replace(_ROWS, warps=4)
"""Twice as many rows: scales of neighboring rows are neighbors, and a byte by itself is a sector written."""
_EACH_OF_HEAVY = 32
"""Elements of a thread at most, where encoding takes many registers for each."""


@lru_cache(maxsize=_KEPT)
def plan_computed(
    along: OperandSpec | None,
    down: OperandSpec | None,
    rows: int,
    columns: int,
    *,
    halves: int = 1,
    whole_rows: bool = False,
) -> QuantizePlan | None:
    """The blocks of one launch that computes a result [rows, halves · columns]; None where there is none.

    - halves: a block lies in each half, at the same place, so that a half is a whole number of blocks and
      needs no padding.
    - whole_rows: a block has whole rows, and codes lie along them.

    Tiles fit a block, or are the whole tensor, whose amax comes from a pass before. A scale is not searched.
    """
    least_rows, least_columns = 1, 1
    for spec, size, step in ((along, (rows, columns * halves), 1), (down, (columns * halves, rows), -1)):
        if spec is None:
            continue
        own = _least_block(spec, *size, fused=spec.tile != _TENSOR, with_saved=spec.saved_as is not None)
        if own is None or not _is_computed(spec):
            return None
        least_rows, least_columns = max(least_rows, own[::step][0]), max(least_columns, own[::step][1])
    usual = (_DOWN if down else _ALONG) if halves == 1 else (_DOWN_OF_HALVES if down else _ALONG_OF_HALVES)
    if whole_rows:
        if down is not None:
            return None
        in_bytes = along is not None and _is_cast(along) and along.scale_rule.format.bits == 8
        usual = _ROWS_OF_BYTES if in_bytes else _ROWS
        least_columns = max(least_columns, usual.columns, _power_over(columns))
        usual = replace(usual, rows=max(1, _THREADS * usual.warps * usual.each // least_columns))
    block = max(least_rows, usual.rows), max(least_columns, usual.columns)
    while prod(block) > HELD and block[0] > least_rows:
        block = block[0] // 2, block[1]
    # Codes are padded along K behind the last half alone.
    crosses = halves > 1 and columns % max(block[1], K_PADDING) and (along or down)
    if prod(block) > (HELD if along or down else 2 * HELD) or crosses:
        return None
    split = usual is _DOWN_OF_HALVES and prod(block) > usual.rows * usual.columns
    usual = _DOWN if split else usual
    light = all(spec is None or _is_cast(spec) for spec in (along, down))
    each = usual.each if light else min(usual.each, _EACH_OF_HEAVY)
    warps = max(usual.warps, prod(block) // (_THREADS * each))
    sides = ((along, (rows, columns * halves), block), (down, (columns * halves, rows), block[::-1]))
    cuts = [spec and cut_of(spec, *size, own, fused=spec.tile != _TENSOR) for spec, size, own in sides]
    wholes = [
        spec and whole_amax_of(spec, fused=cut.fused) for spec, cut in zip((along, down), cuts, strict=True)
    ]
    shared = wholes[0] is not None and wholes[0] == wholes[1]
    if down is None:
        return QuantizePlan(rows=block[0], columns=block[1], warps=warps, along=cuts[0])
    return replace(_turned((cuts[0], cuts[1]), block, warps, shared=shared, cooperative=False), split=split)


def sides_of(operands: Sequence[Operand | None]) -> tuple[int | None, int | None] | None:
    """The numbers of the operands along the rows and down the columns; None where there are two of a kind."""
    along = [number for number, each in enumerate(operands) if each is not None and not each.k_is_rows]
    down = [number for number, each in enumerate(operands) if each is not None and each.k_is_rows]
    if max(len(along), len(down)) > 1:
        return None
    return along[0] if along else None, down[0] if down else None


def fuses(operands: Sequence[Operand | None], rows: int, columns: int, halves: int) -> bool:
    """True where one launch gives all copies of a result [rows, halves · columns]."""
    sides = sides_of(operands)
    if sides is None:
        return False
    along, down = (None if number is None else operands[number].spec for number in sides)
    return plan_computed(along, down, rows, columns, halves=halves) is not None


def stores_result(operands: Sequence[Operand | None], plan: QuantizePlan, reads: float) -> bool:
    """True if storing the result in bf16 for its amax, then reading it, beats computing it twice.

    Computing twice reads the inputs twice: `reads` numbers for each of the result. A stored result is written
    and read. With equal bytes, computing once is faster. A delayed scale waits for no pass over the result.
    """
    cuts = [(each.spec.scale_rule, plan.down if each.k_is_rows else plan.along) for each in operands if each]
    waits = any((rule.has_fitted_outer or not cut.fused) and not rule.history for rule, cut in cuts if cut)
    moves = 1 if None in operands else 2
    return waits and reads >= moves and not any(rule.history for rule, _ in cuts)


@lru_cache(maxsize=_KEPT)
def whole_amax_of(spec: OperandSpec, *, fused: bool) -> Hashable:
    """Key of the whole tensor's amax that a scale needs, equal for operands that need the same.

    None for scales that need no amax beforehand, or one of smaller tiles, or of rotated or saved numbers.
    """
    rule = spec.scale_rule
    tiles, outer = bool(rule.history) or not fused, rule.has_fitted_outer
    own = spec.rotation is None and spec.saved_as is None
    around = _TENSOR if rule.outer is None else rule.outer.tile
    smaller = (tiles and spec.tile != _TENSOR) or (outer and around != _TENSOR)
    return (tiles, rule.history, outer) if own and not smaller and (tiles or outer) else None


def cooperative_programs(device: Device) -> int:
    """The most programs of a cooperative launch, one an SM. The interpreter runs one after the other."""
    return 1 if device.kind is DeviceKind.INTERPRETER else device.sms


def _cooperative_block(
    block: tuple[int, int], sizes: tuple[int, int], least: int, programs: int
) -> tuple[int, int] | None:
    """The smallest block, by powers of two, of which x has at most one a program, from `least` rows on."""
    rows, columns = block

    def count(rows: int) -> int:
        return -(-sizes[0] // rows) * -(-padded(sizes[1]) // columns)

    while count(rows) > programs and 2 * rows * columns <= HELD:
        rows *= 2
    while rows // 2 >= least and rows * columns > _SHORT and count(rows // 2) <= programs:
        rows //= 2
    return (rows, columns) if count(rows) <= programs else None


def _least_block(
    spec: OperandSpec, mn: int, k: int, *, fused: bool = True, with_saved: bool = True
) -> tuple[int, int] | None:
    """(mn, K) of the smallest block of whole tiles, if `fused`, and of a saved copy's, if `with_saved`."""
    extents = [(1, _least_k(spec))]
    if fused:
        extents.append(_whole_part(spec.tile, mn, k))
    if with_saved and spec.saved_as is not None:
        extents.append(_whole_part(spec.saved_as.tile, mn, k) if _is_plain(spec.saved_as) else None)
    if None in extents:
        return None
    return max(each[0] for each in extents), max(each[1] for each in extents)


def cut_of(
    spec: OperandSpec, mn: int, k: int, block: tuple[int, int], *, fused: bool, with_saved: bool = True
) -> Cut:
    """The cut of blocks (mn, K) that are large enough for an operand [mn, k]."""
    part = _whole_part(spec.tile, mn, k) if fused else part_within(spec.tile, *block)
    assert part is not None, "a block holds a tile only where a tile has a size"
    saved = None
    if with_saved and spec.saved_as is not None:
        saved = _whole_part(spec.saved_as.tile, mn, k)
    return Cut(
        part_mn=part[0],
        part_k=part[1],
        fused=fused,
        saved=saved,
        casts=1 not in (mn, k),
        padded=k % K_PADDING > 0,
    )


def _usual(spec: OperandSpec, sixteens: bool) -> tuple[int, int, int]:
    """(elements of a block, along K, of a thread): the fastest on an H200.

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


def _usual_down(spec: OperandSpec) -> tuple[int, int, int]:
    """As `_usual`, for neighbors in memory that lie along mn. Each thread has a patch of them."""
    if len(spec.scale_rule.search) > 1:
        return _USUAL_BLOCK, _PACKED_K if is_packed(spec) else _USUAL_K, _EACH
    if spec.rotation is not None:
        return _USUAL_BLOCK, _PACKED_K if is_packed(spec) else _USUAL_K, 2 * _EACH
    if not is_packed(spec) and element_facts(spec.format, spec.rounding, DeviceKind.GPU).encode_by != "cast":
        return _USUAL_BLOCK // 2, _USUAL_K, _EACH
    return _USUAL_BLOCK, _USUAL_K, 2 * _EACH


def _least_k(spec: OperandSpec) -> int:
    """The fewest elements of a block along K."""
    run = 1 if spec.rotation is None else spec.rotation.size
    return max(run, LEAST_K if spec.is_random or is_packed(spec) else 1)


def _is_plain(saved: OperandSpec) -> bool:
    """True for a saved copy that a block can compute: one level of scales, no search, no table."""
    rule = saved.scale_rule
    facts = element_facts(saved.format, saved.rounding, DeviceKind.INTERPRETER)
    return rule.outer is None and len(rule.search) == 1 and facts.encode_by != "table"


def _takes_few_steps(spec: OperandSpec) -> bool:
    heavy = spec.rotation is not None or spec.is_random or len(spec.scale_rule.search) > 1
    way = element_facts(spec.format, spec.rounding, DeviceKind.GPU).encode_by
    return not heavy and way in ("cast", "few binades")


def _is_cast(spec: OperandSpec) -> bool:
    """True where a scaled number needs the hardware's cast alone."""
    plain = spec.rotation is None and spec.saved_as is None and spec.rounding is Rounding.NEAREST_EVEN
    return plain and spec.format.name in ("e4m3", "e5m2")


def _is_computed(spec: OperandSpec) -> bool:
    """True where scales need a block's own numbers, and at most the amax of the whole unrotated result.

    A rotation's sums would go from thread to thread: storing the result in bf16 and rotating that is faster.
    """
    rule = spec.scale_rule
    outer = rule.outer if rule.has_fitted_outer else None
    whole = spec.tile == _TENSOR or (outer is not None and outer.tile == _TENSOR)
    one_scale = len(rule.search) == 1 and (outer is None or outer.tile == _TENSOR)
    return spec.rotation is None and one_scale and (spec.saved_as is None or not whole)


def _whole_part(tile: TileShape, mn: int, k: int) -> tuple[int, int] | None:
    """The part of a block that holds exactly one tile, in powers of two; None if there is none."""
    sizes = [_power_of_two_over(extent, size) for extent, size in ((tile.mn, mn), (tile.k, k))]
    return None if None in sizes else (sizes[0], sizes[1])


def _power_of_two_over(extent: Extent, size: int) -> int | None:
    """An extent that is a power of two; for a dim of one tile, the power above it; None for others."""
    if extent is not WHOLE and not extent & (extent - 1):
        return extent
    return _power_over(size) if extent is WHOLE or extent >= size else None


def _power_over(size: int) -> int:
    return 1 << max(size - 1, 0).bit_length()


def part_within(tile: TileShape, block_mn: int, block_k: int) -> tuple[int, int]:
    """The largest part of a block, in powers of two, that lies in one tile wherever the block starts."""
    mn, k = (
        block if extent is WHOLE else min(extent & -extent, block)
        for extent, block in ((tile.mn, block_mn), (tile.k, block_k))
    )
    return mn, k


def check_operand(spec: OperandSpec | None) -> Unsupported | None:
    """The reason why no kernel quantizes `spec`, or None. A bf16 operand has no spec."""
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
    """True where tiles fit a block, whatever the tensor."""
    extents = (spec.tile.mn, spec.tile.k)
    if any(extent is WHOLE or extent & (extent - 1) for extent in extents):
        return False
    return spec.tile.mn * max(spec.tile.k, _least_k(spec)) <= HELD
