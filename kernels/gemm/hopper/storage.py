"""Shared memory of the warp-specialized kernels: contents, boxes of TMA, stages that fit. No torch."""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from fp8core.formats import FORMATS
from fp8core.linear import Side
from fp8core.packing import packed_bytes
from fp8core.tiles import TileShape
from kernels.device import HOPPER
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.hopper import sizes
from kernels.gemm.numerics import Numerics, ScaleAt
from kernels.gemm.passes.decode import read_as

Box = tuple[int, int]

_BARRIER_BYTES = 512
_LEAST_ROWS = 16
"""Rows of a small M's A, at least, in one load."""
_DECODED_PIECES_UNDER_WAY = 4
"""The most pieces of D that it has memory for; more would cost a stage."""
_DECODING_BARRIER_BYTES = 1024
_MOST_STEP = 8192
"""Rows of values times BLOCK_K, at most, for which four warpgroups can hold sums beside decoded codes."""
_MOST_STEP_WIDENED = 4096
"""The same where another warpgroup decodes the rows: it takes registers, too."""
_SUM_BYTES = 4
_MOST_WIDENED_STEPS, _WIDENED_SCALES = 8, 2048
"""Steps along K, and scales, at most, that the warpgroup that decodes the other operand fetches at a time."""


@dataclass(frozen=True, kw_only=True)
class Storage:
    """Shared memory of one program: a ring of stages, fixed parts, and the boxes that TMA moves.

    - fixed_bytes: all that is there once. spare_bytes: a second piece of D, if the stages leave room.
    - a_box, b_box, out_box: rows and columns of A, B and D in one load or store. least_rows: fewest rows of
      A.
    - buffers: pieces of D for which a warpgroup has memory of its own.
    - a_scales, b_scales: scales that come at a time. a_scale_box, b_scale_box: boxes of their descriptors,
      also if no scales come.
    - scale_tiles: tiles along K of the codes that a step decodes. widened_steps: steps whose scales of the
      other operand come at a time, if it is decoded too.
    """

    stages: int
    stage_bytes: int
    fixed_bytes: int
    spare_bytes: int = 0
    a_box: Box
    b_box: Box
    least_rows: int
    out_box: Box | None = None
    buffers: int = 0
    a_scales: int = 0
    b_scales: int = 0
    a_scale_box: int = 0
    b_scale_box: int = 0
    scale_tiles: int = 0
    widened_steps: int = 0

    @property
    def bytes(self) -> int:
        return self.stages * self.stage_bytes + self.fixed_bytes + self.spare_bytes

    def loaded(self, m: int) -> Box:
        """The box of A for M rows. Its height, a power of two, follows M: TMA is slow to write zeros."""
        rows, columns = self.a_box
        return min(rows, max(self.least_rows, 1 << (m - 1).bit_length())), columns


def writes_bf16(numerics: Numerics) -> bool:
    return numerics.spec.out == FORMATS["bf16"]


@lru_cache(maxsize=4096)
def ring(numerics: Numerics, blocks: Blocks) -> Storage:
    """Storage of the chained and the promoted variants: a ring, scales, and pieces of D on their way out.

    Two slabs of the promoted variant have a piece each if both fit. Raises ValueError for blocks that would
    wait for memory for ever, and for split-K without a kernel.
    """
    if blocks.variant is Variant.PROMOTED_REUSE and blocks.stages < sizes.REUSE_STAGES:
        raise ValueError(f"these blocks need {sizes.REUSE_STAGES} stages or more, got {blocks.stages} stages")
    if blocks.split_k > 1 and blocks.variant is not Variant.SMALL_M:
        raise ValueError(
            f"programs share a block where registers hold its whole sum, got {blocks.title} of the variant "
            f"{blocks.variant.value}"
        )
    spec, sides = numerics.spec, blocks.block_m + blocks.block_n
    a_lines, b_lines = (_has_lines(numerics.applied(side)) for side in Side)
    a_scale_box, b_scale_box = blocks.block_m, blocks.block_n if b_lines else sizes.FEW_SCALES
    in_loop, at_end = numerics.scale_at is ScaleAt.K_LOOP, numerics.scales_at_end
    out_box = _out_box(blocks, spec.out.bytes)
    piece_bytes = blocks.warps // sizes.WARPGROUP_WARPS * out_box[0] * out_box[1] * spec.out.bytes
    buffers = {Variant.PROMOTED_REUSE: 0, Variant.CHAINED: sizes.PIECES_UNDER_WAY}.get(blocks.variant, 1)
    stage_bytes = sides * sizes.BLOCK_K_BYTES + in_loop * (a_scale_box + b_scale_box) * sizes.SCALE_BYTES
    scale_bytes = at_end * (a_scale_box + blocks.block_n) * sizes.SCALE_BYTES
    fixed_bytes = buffers * piece_bytes + scale_bytes + _BARRIER_BYTES
    left = HOPPER.shared_memory_bytes - blocks.stages * stage_bytes - fixed_bytes
    two = blocks.variant is Variant.PROMOTED and piece_bytes <= left
    return Storage(
        stages=blocks.stages,
        stage_bytes=stage_bytes,
        fixed_bytes=fixed_bytes,
        spare_bytes=two * piece_bytes,
        a_box=(blocks.block_m, blocks.block_k),
        b_box=(blocks.block_n, blocks.block_k),
        least_rows=_LEAST_ROWS if blocks.variant is Variant.SMALL_M else blocks.block_m,
        out_box=out_box,
        buffers=buffers + two,
        a_scales=a_scale_box if a_lines and (in_loop or at_end) else 0,
        b_scales=b_scale_box if in_loop or (at_end and b_lines) else 0,
        a_scale_box=a_scale_box,
        b_scale_box=b_scale_box,
    )


def _has_lines(tile: TileShape | None) -> bool:
    return tile is not None and tile.mn == 1


def _out_box(blocks: Blocks, out_bytes: int) -> Box:
    rows, columns = blocks.block_m, blocks.block_n
    if blocks.variant is Variant.CHAINED:
        return sizes.SLAB, 2 * columns // (sizes.PIECES * out_bytes)
    return sizes.SLAB, columns // 2 if rows == sizes.SLAB else columns


def takes_two(blocks: Blocks) -> bool:
    """True if four warpgroups of the decoding variant can hold the sums of two splits of K, beside a step's
    codes.
    """
    rows = value_rows(blocks)
    most = _MOST_STEP_WIDENED if blocks.decoded == "ab" else _MOST_STEP
    return rows <= sizes.MOST_ROWS_SPLIT and rows * blocks.block_k <= most


def value_rows(blocks: Blocks) -> int:
    """Rows of a block of values, the operand that stays bf16, in the decoding variant."""
    return blocks.block_n if blocks.decoded == "a" else blocks.block_m


def takes_pairs(blocks: Blocks) -> bool:
    """True if programs of these blocks take splits of K in pairs, for two pairs of warpgroups."""
    if blocks.persistent or blocks.split_k % 2:
        return False
    widens = blocks.decoded == "ab" and blocks.warps != 2 * sizes.CONSUMERS * sizes.WARPGROUP_WARPS
    return takes_two(blocks) and not widens


def own_splits(blocks: Blocks, k: int) -> int:
    """Splits of K that a program of the decoding variant takes, one or two.

    Two must be equally long, but for a step: their steps alternate. If a short K leaves two of more splits,
    each has a program: shared memory has no room for a second sum.
    """
    splits, length = blocks.splits(k)
    last = -(-k // blocks.block_k) - (splits - 1) * length
    alone = splits == 2 < blocks.split_k
    return 2 if takes_pairs(blocks) and splits % 2 == 0 and last >= length - 1 and not alone else 1


@lru_cache(maxsize=4096)
def decoding(numerics: Numerics, blocks: Blocks) -> Storage:
    """Storage of the decoding variant: values in bf16, codes with a byte for each scale, and pieces of D; for
    two splits of K also the sums of the second.

    Raises ValueError for an odd ring of two splits of K. Each pair of warpgroups uses every second step: on
    an odd ring it would see every second phase of a stage's barrier, and phases are told apart modulo 2 only.
    """
    pairs = takes_pairs(blocks)
    if pairs and blocks.stages % 2:
        raise ValueError(
            f"two splits of K need an even number of stages, got {blocks.stages}: {blocks.title}"
        )
    of_a, out = blocks.decoded == "a", numerics.spec.out
    decoded = read_as(numerics.spec.a if of_a else numerics.spec.b)
    rows, coded = (blocks.block_n, blocks.block_m) if of_a else (blocks.block_m, blocks.block_n)
    piece = min(rows, sizes.DECODED_PIECE_BYTES // out.bytes)
    buffers = min(_DECODED_PIECES_UNDER_WAY, rows // piece)
    tiles = blocks.block_k // (decoded.tile.k or blocks.block_k)
    values, codes = (rows, blocks.block_k), (coded, packed_bytes(blocks.block_k, decoded.format.packed_bits))
    widened = blocks.decoded == "ab"
    steps = min(_MOST_WIDENED_STEPS, _WIDENED_SCALES * sizes.CODES // (coded * tiles * rows)) * widened
    sums = pairs and blocks.split_k == 2
    return Storage(
        stages=blocks.stages,
        stage_bytes=(2 + widened) * prod(values) + prod(codes) + coded * tiles,
        fixed_bytes=sizes.CONSUMERS * buffers * piece * sizes.SLAB * out.bytes
        + _DECODING_BARRIER_BYTES
        + steps * tiles * rows * sizes.SCALE_BYTES
        + sums * coded * rows * _SUM_BYTES,
        a_box=codes if of_a else values,
        b_box=values if of_a else codes,
        least_rows=blocks.block_m,
        out_box=(sizes.SLAB, piece) if of_a else (piece, sizes.SLAB),
        buffers=buffers,
        scale_tiles=tiles,
        widened_steps=steps,
    )


def filled(blocks: Blocks, storage: Storage, shared_memory_bytes: int) -> Blocks:
    return replace(blocks, stages=(shared_memory_bytes - storage.fixed_bytes) // storage.stage_bytes)
