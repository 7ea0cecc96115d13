"""Launch plans of the quantizer: a program's block and warps, and the facts of each operand. No torch.

    plan_quantize   one operand of x
    plan_both       two operands of x, from one read
    plan_computed   copies of a result that the launch computes

An operand cuts a block into parts, each in one tile. It fits a block if a part is a whole tile: a tile's amax
then needs no earlier pass. A planner takes four steps:

    1. the smallest block with whole tiles; with parts of tiles, if that is too large
    2. the block that is fastest on an H200, but at least the smallest
    3. for the amax of a whole small tensor: a block an SM, and a cooperative launch
    4. the parts of each operand, and warps
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from fp8core.recipes import Operand, OperandSpec
from fp8core.tiles import WHOLE
from kernels.device import Device, DeviceKind, Unsupported
from kernels.quantize.facts import (
    K_PADDING,
    MOST_ELEMENTS,
    TENSOR,
    Block,
    OperandFacts,
    element_facts,
    holds,
    is_packed,
    least_k,
    operand_facts,
    padded,
    power_over,
    whole_part,
)

GPU = DeviceKind.GPU
SIDE_BY_SIDE = 8
"""Numbers of 16 bits that a thread loads at once."""
_MOST_SCALES = 2**31 - 1
"""The place of a scale is 32 bits wide in the kernels."""
_LEAST_AT_ONCE = 2
"""Numbers of 16 bits in a word."""
_PATCH = 64
"""The most neighbors in memory that a warp has of a block to transpose: it loads 128 bytes of a row, and
stores whole sectors of 32 bytes along both dims.
"""
_LEAST_PATCH = 32
"""Two sectors of 16-bit numbers."""
_WARP = 32
_PER_THREAD = 32
_ELEMENTS, _LESS_ELEMENTS, _LEAST_ELEMENTS = 64 * 128, 16 * 256, 2048
"""Elements of a block: usually; for a search; at least, if the tensor has more: sixteen a thread."""
_K, _PACKED_K, _LONG_K = 128, 256, 512
"""Elements of a block along K: 256 bytes of bf16 in a row; 128 bytes of 4-bit codes; twice that."""
_MANY_PROGRAMS = 256
"""They keep a large GPU busy, about two an SM: of fewer, lower blocks make more."""
_BOTH, _BOTH_PER_THREAD = (64, 128), 64
"""For two copies of x: a block's rows and columns, and elements of a thread."""
_LONGEST = 256
"""A longer block is too narrow: along its short dim it writes only a few bytes of a row."""
_CACHE_SIZE = 4096


@dataclass(frozen=True, kw_only=True)
class QuantizePlan:
    """The block [rows, columns] of a program, its warps, and the facts of each operand.

    - along, down: the operand with K along the rows, and the one with K down the columns; or None.
    - patch: neighbors along a row of a warp; 0 for Triton's own choice: for a rotation, or if too narrow.
    - at_once: neighbors in memory that a thread of a transposed block loads at once. Few for a rotation, so
      that a thread has all numbers of a sum.
    - sixteens: a thread loads sixteen neighbors along K. They must lie side by side in memory: else Triton
      3.6 spreads K over warps in an order in which it does not sum (ReduceOpToLLVM.cpp, `delinearize`).
    - shared: both operands need the same amax of the whole result.
    - cooperative: a cooperative launch; programs find the whole tensor's amax together before they scale.
    - split: a program has a block of one half of the result, not of both, in half as many registers.
    """

    rows: int
    columns: int
    warps: int
    along: OperandFacts | None = None
    down: OperandFacts | None = None
    patch: int = 0
    at_once: int = SIDE_BY_SIDE
    sixteens: bool = False
    shared: bool = False
    cooperative: bool = False
    split: bool = False

    @property
    def thread_rows(self) -> int:
        """Neighboring rows of a thread, which transposes the block; 0: rows in order."""
        if self.down is None:
            return 0
        runs = self.rows * self.columns // (_WARP * self.warps * self.at_once)
        return min(max(runs, 1), self.rows)

    @property
    def in_runs(self) -> bool:
        """`along` takes rows in the order of their load: each of its parts spans one row, or all."""
        each = () if self.along is None else (self.along, self.along.saved)
        return all(one is None or one.part_mn in (1, self.rows) for one in each)

    @property
    def only(self) -> OperandFacts:
        facts = self.along or self.down
        assert facts is not None, "this plan writes no copy"
        return facts

    @property
    def block(self) -> Block:
        """(mn, K) of a block of one operand."""
        return (self.columns, self.rows) if self.down else (self.rows, self.columns)

    def alone(self, facts: OperandFacts) -> "QuantizePlan":
        """Plan of the passes before two copies: the same blocks for one operand, rows in order."""
        if self.along is None or self.down is None:
            return self
        rows, columns = (self.columns, self.rows) if facts is self.down else (self.rows, self.columns)
        return QuantizePlan(
            rows=rows, columns=columns, warps=_warps((rows, columns), _PER_THREAD), along=facts
        )

    def without_patches(self) -> "QuantizePlan":
        """Plan of the same blocks; for one operand, rows in order.

        A GPU needs patches of two-byte neighbors: of others, Triton 3.6 would give threads and warps
        interleaved parts, and does not find the largest of these (ReduceOpToLLVM.cpp).
        """
        if self.along is not None and self.down is not None:
            return replace(self, patch=0)
        mn, k = self.block
        return replace(self, rows=mn, columns=k, along=self.only, down=None, patch=0, at_once=SIDE_BY_SIDE)

    def reads(self, spec: OperandSpec) -> int:
        """Times that x is read for one operand: twice if a scale needs the amax of more than a block."""
        rule = spec.scale_rule
        waits = rule.has_fitted_outer or not (self.only.fits_block or rule.history)
        return 2 if waits and not self.cooperative else 1

    def blocks(self, rows: int, columns: int) -> tuple[int, int]:
        """Blocks along the columns and the rows of a result, or of each half. Codes are padded along K."""
        across = padded(columns) if self.along else columns
        high = padded(rows) if self.down else rows
        return -(-across // self.columns), -(-high // self.rows)


def cooperative_programs(device: Device) -> int:
    """The most programs of a cooperative launch: one an SM. The interpreter runs one after the other."""
    return 1 if device.kind is DeviceKind.INTERPRETER else device.sms


@lru_cache(maxsize=_CACHE_SIZE)
def plan_quantize(
    spec: OperandSpec,
    mn: int,
    k: int,
    kind: DeviceKind = GPU,
    *,
    side_by_side: bool = True,
    programs: int = 0,
) -> QuantizePlan:
    """The plan for an operand [mn, k] of x: one pass if a tile fits a block, else two.

    - side_by_side: neighbors along K are neighbors in memory. Else the load transposes a block, except for a
      rotated saved copy: Triton 3.6 gets its sums wrong if neighbors lie in different warps.
    - programs: the most of a cooperative launch.

    Raises Unsupported for too many scales.
    """
    sizes = (mn, spec.tile.mn), (k, spec.tile.k)
    scales = prod(-(-size // (extent or max(size, 1))) for size, extent in sizes)
    if scales > _MOST_SCALES:
        raise Unsupported(
            f"the kernels write at most {_MOST_SCALES:,} scales, got {scales:,} for {spec.tile}"
        )
    # 1
    narrowest = 1 if side_by_side else min(_LEAST_PATCH, power_over(mn))
    for fits, with_saved in ((True, True), (False, True), (True, False), (False, False)):
        least = _smallest_block(spec, mn, k, fits_block=fits, with_saved=with_saved)
        if least is not None and max(least[0], narrowest) * least[1] <= MOST_ELEMENTS:
            break
    # 2
    sixteens = is_packed(spec) and side_by_side
    elements, best_k, per_thread = _best_rows(spec, sixteens) if side_by_side else _best_columns(spec)
    block_k = max(least[1], min(best_k, MOST_ELEMENTS // least[0]))
    block_mn = max(least[0], min(elements // best_k, elements // block_k))
    while (
        side_by_side
        and block_mn // 2 >= least[0]
        and block_mn * block_k > _LEAST_ELEMENTS
        and _programs((mn, k), (block_mn, block_k)) < _MANY_PROGRAMS
    ):
        block_mn //= 2
    # 3
    block, cooperative = (block_mn, block_k), None
    if mn * k and whole_amax_of(spec, fits_block=fits) is not None:
        cooperative = _cooperative_block(block, (mn, k), least[0], programs)
    if cooperative is not None:
        block, per_thread = cooperative, _PER_THREAD
    # 4
    facts = operand_facts(spec, mn, k, block, kind, fits_block=fits, with_saved=with_saved)
    plan = QuantizePlan(rows=block[0], columns=block[1], warps=_warps(block, per_thread), along=facts)
    plan = replace(plan, sixteens=sixteens, cooperative=cooperative is not None)
    if side_by_side or (spec.rotation is not None and spec.saved_as is not None):
        return plan
    plan = replace(plan, rows=block[1], columns=block[0], along=None, down=facts)
    if spec.rotation is not None:
        runs = prod(block) // (_WARP * plan.warps) // spec.rotation.size
        return replace(plan, at_once=min(max(runs, _LEAST_AT_ONCE), SIDE_BY_SIDE))
    patch = _patch(block[0], plan.warps, _PATCH)
    return replace(plan, patch=patch if patch >= _LEAST_PATCH else 0)


@lru_cache(maxsize=_CACHE_SIZE)
def plan_both(
    along: OperandSpec,
    down: OperandSpec,
    rows: int,
    columns: int,
    kind: DeviceKind = GPU,
    *,
    programs: int = 0,
) -> QuantizePlan | None:
    """The plan for two operands of x [rows, columns]; None if each needs a launch of its own.

    A saved copy that does not fit a block needs one, and more work on a number than a cast: two reads are
    then faster than a block that waits in registers. programs: as in `plan_quantize`.
    """
    if not all(_takes_few_steps(spec) for spec in (along, down)):
        return None
    # 1
    for fits in ((True, True), (True, False), (False, True), (False, False)):
        least = _smallest_of_two(along, down, rows, columns, fits)
        if least is not None and prod(least) <= MOST_ELEMENTS and max(least) <= _LONGEST:
            break
    else:
        return None
    for spec, fits_block in zip((along, down), fits, strict=True):
        waits = spec.scale_rule.history or not fits_block
        if waits and WHOLE in (spec.tile.mn, spec.tile.k) and spec.tile.mn != spec.tile.k:
            # Rows and columns would each be read for an amax before.
            return None
    # 2
    block_rows, block_columns = (max(pair) for pair in zip(least, _BOTH, strict=True))
    while block_rows * block_columns > MOST_ELEMENTS:
        if block_rows > least[0]:
            block_rows //= 2
        else:
            block_columns //= 2
    # 3
    block, cooperative = (block_rows, block_columns), None
    shared = _share_amax(along, down, fits)
    if shared:
        cooperative = _cooperative_block(block, (padded(rows), columns), least[0], programs)
    block = cooperative or block
    # 4
    warps = _warps(block, _BOTH_PER_THREAD)
    return QuantizePlan(
        rows=block[0],
        columns=block[1],
        warps=warps,
        along=operand_facts(along, rows, columns, block, kind, fits_block=fits[0]),
        down=operand_facts(down, columns, rows, block[::-1], kind, fits_block=fits[1]),
        patch=_patch(block[1], warps, _PATCH // 2),
        shared=shared,
        cooperative=cooperative is not None,
    )


@dataclass(frozen=True, kw_only=True)
class _Best:
    """A block, elements of a thread, and the fewest warps of a program: the fastest on an H200."""

    rows: int
    columns: int
    per_thread: int
    warps: int = 4


_ALONG = _Best(rows=32, columns=128, per_thread=32)
_ALONG_HALVES = _Best(rows=8, columns=256, per_thread=16)
"""Codes lie along rows alone. A program that computes both halves has as many numbers of each."""
_DOWN = _Best(rows=128, columns=64, per_thread=64)
"""Codes lie down columns, too: many elements of a thread share the work for a tile."""
_DOWN_HALVES = _Best(rows=128, columns=32, per_thread=32)
"""A program computes both halves. With tiles that need a larger block, it computes one of them."""
_ROWS = _Best(rows=1, columns=64, per_thread=64, warps=2)
"""A block has whole rows: few warps wait at its barriers."""
_ROWS_OF_BYTES = replace(_ROWS, warps=4)
"""Twice as many rows: scales of neighboring rows are neighbors, and a byte by itself is a sector written."""
_PER_THREAD_HEAVY = 32
"""Elements of a thread at most, if encoding takes many registers for each."""


@lru_cache(maxsize=_CACHE_SIZE)
def plan_computed(
    along: OperandSpec | None,
    down: OperandSpec | None,
    rows: int,
    columns: int,
    kind: DeviceKind = GPU,
    *,
    halves: int = 1,
    whole_rows: bool = False,
) -> QuantizePlan | None:
    """The plan of one launch that computes a result [rows, halves · columns]; None if there is none.

    - halves: a block lies in each half, at the same place, so that a half is a whole number of blocks and
      needs no padding.
    - whole_rows: a block has whole rows, and codes lie along them.

    Tiles fit a block, or are the whole tensor, whose amax comes from a pass before. A scale is not searched.
    """
    # 1
    specs = [spec for spec in (along, down) if spec is not None]
    fits = tuple(spec is not None and spec.tile != TENSOR for spec in (along, down))
    least = _smallest_of_two(along, down, rows, columns * halves, fits)
    if least is None or not all(map(_is_computed, specs)) or (whole_rows and down is not None):
        return None
    # 2
    if whole_rows:
        in_bytes = along is not None and is_cast(along) and along.scale_rule.format.bits == 8
        best = _ROWS_OF_BYTES if in_bytes else _ROWS
        least = least[0], max(least[1], best.columns, power_over(columns))
        best = replace(best, rows=max(1, _WARP * best.warps * best.per_thread // least[1]))
    elif halves == 1:
        best = _DOWN if down else _ALONG
    else:
        best = _DOWN_HALVES if down else _ALONG_HALVES
    block = max(least[0], best.rows), max(least[1], best.columns)
    while prod(block) > MOST_ELEMENTS and block[0] > least[0]:
        block = block[0] // 2, block[1]
    # Codes are padded along K behind the last half alone.
    crosses = halves > 1 and columns % max(block[1], K_PADDING) and specs
    if crosses or prod(block) > (MOST_ELEMENTS if specs else 2 * MOST_ELEMENTS):
        return None
    # 4
    split = best is _DOWN_HALVES and prod(block) > best.rows * best.columns
    best = _DOWN if split else best
    per_thread = best.per_thread if all(map(is_cast, specs)) else min(best.per_thread, _PER_THREAD_HEAVY)
    width, turned, warps = columns * halves, block[::-1], _warps(block, per_thread, best.warps)
    return QuantizePlan(
        rows=block[0],
        columns=block[1],
        warps=warps,
        along=along and operand_facts(along, rows, width, block, kind, fits_block=fits[0]),
        down=down and operand_facts(down, width, rows, turned, kind, fits_block=fits[1]),
        patch=0 if down is None else _patch(block[1], warps, _PATCH // 2),
        shared=down is not None and _share_amax(along, down, fits),
        split=split,
    )


def specs_of(operands: Sequence[Operand | None]) -> tuple[OperandSpec | None, OperandSpec | None] | None:
    """Specs of the operands with K along the rows and down the columns; None if there are two of a kind."""
    along, down = (
        [each.spec for each in operands if each is not None and each.k_is_rows is k_is_rows]
        for k_is_rows in (False, True)
    )
    return None if len(along) > 1 or len(down) > 1 else ((*along, None)[0], (*down, None)[0])


def plan_copies(
    operands: Sequence[Operand | None],
    rows: int,
    columns: int,
    kind: DeviceKind = GPU,
    *,
    halves: int = 1,
    is_norm: bool = False,
) -> QuantizePlan | None:
    """As `plan_computed`, for operands in any order; for a norm with whole rows if it can."""
    specs = specs_of(operands)
    if specs is None:
        return None
    plan = plan_computed(*specs, rows, columns, kind, whole_rows=True) if is_norm else None
    return plan or plan_computed(*specs, rows, columns, kind, halves=halves)


def stores_result(operands: Sequence[Operand | None], plan: QuantizePlan, reads: float) -> bool:
    """True if storing the result in bf16 for its amax, then reading it, beats computing it twice.

    Computing twice reads the inputs twice: `reads` numbers for each of the result. A stored result is written
    and read. With equal bytes, computing once is faster. A delayed scale waits for no pass over the result.
    """
    rules = [(each.spec.scale_rule, plan.down if each.k_is_rows else plan.along) for each in operands if each]
    waits = any(rule.has_fitted_outer or not facts.fits_block for rule, facts in rules)
    moves = 1 if None in operands else 2
    return waits and reads >= moves and not any(rule.history for rule, _ in rules)


@lru_cache(maxsize=_CACHE_SIZE)
def whole_amax_of(spec: OperandSpec, *, fits_block: bool) -> Hashable:
    """Key of the whole tensor's amax that a scale needs, equal for operands that need the same.

    None for scales that need no amax beforehand, or one of smaller tiles, or of rotated or saved numbers.
    """
    rule = spec.scale_rule
    tiles, outer = bool(rule.history) or not fits_block, rule.has_fitted_outer
    own = spec.rotation is None and spec.saved_as is None
    around = TENSOR if rule.outer is None else rule.outer.tile
    smaller = (tiles and spec.tile != TENSOR) or (outer and around != TENSOR)
    return (tiles, rule.history, outer) if own and not smaller and (tiles or outer) else None


def _share_amax(along: OperandSpec | None, down: OperandSpec, fits: tuple[bool, ...]) -> bool:
    if along is None:
        return False
    key = whole_amax_of(along, fits_block=fits[0])
    return key is not None and key == whole_amax_of(down, fits_block=fits[1])


def _warps(block: Block, per_thread: int, least: int = 4) -> int:
    return max(least, prod(block) // (_WARP * per_thread))


def _patch(columns: int, warps: int, most: int) -> int:
    """Neighbors along a row of a warp: `most`, or all of a row's that it has.

    Triton 3.6 reduces over threads that are neighbors in their warp. With less than its part of a row, a warp
    would have columns, rows, then columns again: on an H200, RMSNorm of 10 × 800 mixed two rows.
    """
    return min(columns, max(most, min(columns // warps, _WARP * SIDE_BY_SIDE)))


def _programs(sizes: tuple[int, int], block: Block) -> int:
    return -(-sizes[0] // block[0]) * -(-sizes[1] // block[1])


def _cooperative_block(block: Block, sizes: tuple[int, int], least: int, programs: int) -> Block | None:
    """The smallest block, by powers of two, of which x has at most one a program, from `least` rows on."""
    rows, columns = block
    sizes = sizes[0], padded(sizes[1])
    while _programs(sizes, (rows, columns)) > programs and 2 * rows * columns <= MOST_ELEMENTS:
        rows *= 2
    while (
        rows // 2 >= least
        and rows * columns > _LEAST_ELEMENTS
        and _programs(sizes, (rows // 2, columns)) <= programs
    ):
        rows //= 2
    return (rows, columns) if _programs(sizes, (rows, columns)) <= programs else None


def _smallest_of_two(
    along: OperandSpec | None, down: OperandSpec | None, rows: int, columns: int, fits: tuple[bool, ...]
) -> Block | None:
    """(rows, columns) of the smallest block with saved tiles and, if `fits`, tiles of both operands."""
    blocks = [(1, 1)]
    if along is not None:
        blocks.append(_smallest_block(along, rows, columns, fits_block=fits[0]))
    if down is not None:
        block = _smallest_block(down, columns, rows, fits_block=fits[1])
        blocks.append(block and block[::-1])
    return None if None in blocks else (max(each[0] for each in blocks), max(each[1] for each in blocks))


def _smallest_block(
    spec: OperandSpec, mn: int, k: int, *, fits_block: bool, with_saved: bool = True
) -> Block | None:
    """(mn, K) of the smallest block of whole tiles if `fits_block`, and of a saved copy's if `with_saved`."""
    blocks = [(1, least_k(spec))]
    if fits_block:
        blocks.append(whole_part(spec.tile, mn, k))
    if with_saved and spec.saved_as is not None:
        blocks.append(whole_part(spec.saved_as.tile, mn, k) if _is_plain(spec.saved_as) else None)
    return None if None in blocks else (max(each[0] for each in blocks), max(each[1] for each in blocks))


def _best_rows(spec: OperandSpec, sixteens: bool) -> tuple[int, int, int]:
    """(elements of a block, along K, of a thread): the fastest on an H200 for neighbors along K.

    A search keeps most numbers of a thread in registers, powers of two as scales the fewest.
    """
    rule = spec.scale_rule
    if not sixteens:
        return _ELEMENTS, _K, _PER_THREAD
    if len(rule.search) > 1:
        return _LESS_ELEMENTS, _PACKED_K, _PER_THREAD
    if holds(rule, spec.format) and not spec.is_random:
        return _ELEMENTS, _PACKED_K, 2 * _PER_THREAD
    return _ELEMENTS, _LONG_K, _PER_THREAD


def _best_columns(spec: OperandSpec) -> tuple[int, int, int]:
    """As `_best_rows`, for neighbors along mn. Each thread has a patch of them."""
    k = _PACKED_K if is_packed(spec) else _K
    if len(spec.scale_rule.search) > 1:
        return _ELEMENTS, k, _PER_THREAD
    if spec.rotation is not None:
        return _ELEMENTS, k, 2 * _PER_THREAD
    if not is_packed(spec) and _encode_by(spec) != "cast":
        return _ELEMENTS // 2, _K, _PER_THREAD
    return _ELEMENTS, _K, 2 * _PER_THREAD


def _is_plain(saved: OperandSpec) -> bool:
    """True for a saved copy that a block can compute: one level of scales, no search, no table."""
    rule = saved.scale_rule
    facts = element_facts(saved.format, saved.rounding, DeviceKind.INTERPRETER)
    return rule.outer is None and len(rule.search) == 1 and facts.encode_by != "table"


def _takes_few_steps(spec: OperandSpec) -> bool:
    heavy = spec.rotation is not None or spec.is_random or len(spec.scale_rule.search) > 1
    return not heavy and _encode_by(spec) in ("cast", "few binades")


def _encode_by(spec: OperandSpec) -> str:
    return element_facts(spec.format, spec.rounding, GPU).encode_by


def is_cast(spec: OperandSpec) -> bool:
    """True if a scaled number needs the hardware's cast alone."""
    return _encode_by(spec) == "cast" and spec.rotation is None and spec.saved_as is None


def _is_computed(spec: OperandSpec) -> bool:
    """True if scales need a block's own numbers, and at most the amax of the whole unrotated result.

    A rotation's sums would go from thread to thread: storing the result in bf16 and rotating that is faster.
    """
    rule = spec.scale_rule
    outer = rule.outer if rule.has_fitted_outer else None
    whole = spec.tile == TENSOR or (outer is not None and outer.tile == TENSOR)
    one_scale = len(rule.search) == 1 and (outer is None or outer.tile == TENSOR)
    return spec.rotation is None and one_scale and (spec.saved_as is None or not whole)
