"""Which GEMMs the warp-specialized schedule takes, and the blocks that it can have. Pure; no torch."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

from fp8core.formats import FORMATS
from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE, TileShape
from kernels.blocks import Blocks, Schedule
from kernels.device import Device, lacks_gluon
from kernels.family import Kernel, ScaleAt
from kernels.tuned import architecture

SLAB = 64
"""Rows of a wgmma, and of D on its way out."""
CONSUMERS = 2
PINGPONG = (128, 128)
"""BLOCK_M × BLOCK_N where the sum stays in the tensor core: each warpgroup has a block to itself."""
COOPERATIVE = (128, 256)
"""The same where the warpgroups share one, of a D of bf16."""
PARTS, PARTS_UNDER_WAY = 4, 2
"""In which a warpgroup's half of such a block leaves; of which it has room for two."""
PROMOTED = (256, 128)
LOW = ((64, 128), (128, 128))
"""The same where M is few."""
LENT_STAGES = 3
"""The fewest where D leaves through memory of A: a block's last two are lent while the next one begins."""
PROMOTION = 128
BLOCK_K_BYTES = 128
SCALE_BYTES = 4
BARRIER_BYTES = 512
"""Of shared memory, that is kept for a ring's barriers."""
FEW_SCALES = 32
"""Floats that come with a single scale of B: 128 bytes, the least alignment of a TMA box in shared memory."""

WGMMA = (9, 0)
"""The compute capability that has it."""

_TMA_BYTES = 16
_LEAST_ROWS = 16
_MOST_SHARING, _LEAST_STEPS = 8, 4
"""The most programs that share a block, and the fewest steps along K of each."""
_GROUPS = (8, 16, 32)


def lacks_specialized(device: Device) -> str:
    """Why the schedule cannot run on a GPU; empty where it can."""
    if device.capability is not None and device.capability != WGMMA:
        return f"{architecture(device.capability)} has no wgmma"
    return lacks_gluon(device.triton)


def lacking(
    spec: MatmulSpec, kernel: Kernel, scale_at: ScaleAt, promotion: object, mnk: tuple[int, int, int]
) -> str:
    """Why the schedule cannot run this GEMM on a GPU that has it; empty where it can."""
    m, n, k = mnk
    if kernel is Kernel.NATIVE_MX or promotion not in (WHOLE, PROMOTION):
        return "warp specialization promotes every 128 products or never"
    if n * spec.out.bytes % _TMA_BYTES:
        return f"rows of {n} numbers of D do not start at multiples of {_TMA_BYTES} bytes, as TMA needs"
    if m > LOW[-1][0] and k <= PROMOTION and lent(spec, scale_at, *PROMOTED, promotion):
        return f"warp specialization promotes where K has more than one step of {PROMOTION}, and {k} has one"
    if scale_at is not ScaleAt.K_LOOP:
        wide = any(operand.tile.mn not in (1, WHOLE) for operand in (spec.a, spec.b))
        if wide and scale_at is ScaleAt.EPILOGUE:
            return "warp specialization takes one scale a row or one in all where they come at the end"
        return ""
    line, square = TileShape(1, PROMOTION), TileShape(PROMOTION, PROMOTION)
    if spec.a.tile != line or spec.b.tile not in (line, square):
        return f"warp specialization has no loop for tiles {spec.a.tile} · {spec.b.tile}"
    sides = [m] + [n] * (spec.b.tile == line)
    if any(side * SCALE_BYTES % _TMA_BYTES for side in sides):
        return f"rows of {' and '.join(map(str, sides))} scales do not start at multiples of 16 bytes"
    return ""


def candidates(
    spec: MatmulSpec,
    kernel: Kernel,
    scale_at: ScaleAt,
    promotion: object,
    mnk: tuple[int, int, int],
    device: Device,
) -> Iterator[Blocks]:
    """The blocks to choose from, in several orders: the most stages that fit, and one less where the
    warpgroups do not share a block; of low blocks, of which L2 holds all of A anyway, the most stages, and K
    also in several runs.
    """
    element = 2 if kernel is Kernel.DEQUANTIZED else spec.a.format.bytes
    for (block_m, block_n), group, fewer in _choices(spec, promotion, mnk[0]):
        blocks = Blocks(
            schedule=Schedule.SPECIALIZED,
            block_m=block_m,
            block_n=block_n,
            block_k=BLOCK_K_BYTES // element,
            group=group,
            warps=4 * CONSUMERS,
            stages=_stages(spec, scale_at, block_m, block_n, promotion, device) - fewer,
            persistent=True,
        )
        yield blocks
        for runs in _splits(spec, promotion, blocks, mnk, device):
            yield replace(blocks, split_k=runs, persistent=False)


def _choices(spec: MatmulSpec, promotion: object, m: int) -> Iterator[tuple[tuple[int, int], int, int]]:
    """(sides of a block, GROUP, stages fewer than fit)."""
    if promotion is WHOLE and spec.out == FORMATS["bf16"]:
        yield from product([COOPERATIVE], _GROUPS, [0])
    if promotion is not WHOLE and m <= PROMOTED[0]:
        yield from ((sides, _GROUPS[0], 0) for sides in LOW if sides[0] < 2 * max(m, SLAB))
    if promotion is WHOLE or m > LOW[-1][0]:
        yield from product([PINGPONG if promotion is WHOLE else PROMOTED], _GROUPS, (0, 1))


def _splits(
    spec: MatmulSpec, promotion: object, blocks: Blocks, mnk: tuple[int, int, int], device: Device
) -> tuple[int, ...]:
    """In how many runs the K of blocks that can be shared is cut: half as many as give every SM one, and as
    many.
    """
    if not shareable(spec, promotion, blocks):
        return ()
    m, n, k = mnk
    most = shared_by(blocks.count(m, n), k // blocks.block_k, device)
    return tuple(runs for runs in (most // 2, most) if runs > 1)


def shared_by(blocks: int, steps: int, device: Device) -> int:
    """How many programs can share each of D's blocks, so that every SM has one and a few steps along K."""
    return max(1, min(device.sms // blocks, steps // _LEAST_STEPS, _MOST_SHARING))


def shareable(spec: MatmulSpec, promotion: object, blocks: Blocks) -> bool:
    """Whether programs can share a block, each with a run of K: a low one that promotes and writes bf16."""
    low = (blocks.block_m, blocks.block_n) in LOW and promotion is not WHOLE
    return low and spec.out == FORMATS["bf16"]


def filling(tries: Iterable[Blocks], mnk: tuple[int, int, int], device: Device) -> Blocks | None:
    """Of blocks for a GEMM that nothing was measured for, the largest of which D has one for every SM; None
    where there are none.
    """
    full = (blocks for blocks in tries if blocks.count(*mnk[:2]) >= device.sms)
    return max(full, key=lambda blocks: blocks.block_m * blocks.block_n, default=None)


def stage_bytes(spec: MatmulSpec, scale_at: ScaleAt, block_m: int, block_n: int) -> int:
    """Shared memory of one stage: blocks of A and B, and their scales where they change along K."""
    codes = (block_m + block_n) * BLOCK_K_BYTES
    if scale_at is not ScaleAt.K_LOOP:
        return codes
    return codes + (block_m + b_scales_loaded(spec, block_n)) * SCALE_BYTES


def loaded_rows(blocks: Blocks, m: int) -> int:
    """Rows of A that one stage loads, a power of two: of a low block that has more than M, not all."""
    if (blocks.block_m, blocks.block_n) not in LOW:
        return blocks.block_m
    return rows_loaded(blocks.block_m, m)


def rows_loaded(block_m: int, m: int) -> int:
    """Of a block, where there are so many: a power of two."""
    return min(block_m, max(_LEAST_ROWS, 1 << (m - 1).bit_length()))


def b_scales_loaded(spec: MatmulSpec, block_n: int) -> int:
    """Scales of B that one stage loads."""
    return block_n if spec.b.tile.mn == 1 else FEW_SCALES


def lent(spec: MatmulSpec, scale_at: ScaleAt, block_m: int, block_n: int, promotion: object) -> bool:
    """Whether a block's D leaves through memory of the A that gave it, that of its last two stages: one of
    bf16 whose sums are promoted, unless the scales of columns take the registers.
    """
    many = scale_at is ScaleAt.K_LOOP and spec.b.tile.mn == 1
    promoted = promotion is not WHOLE and (block_m, block_n) == PROMOTED
    return promoted and spec.out == FORMATS["bf16"] and not many


def buffers(
    spec: MatmulSpec, scale_at: ScaleAt, promotion: object, blocks: Blocks, shared_memory_bytes: int
) -> int:
    """Parts of D that a warpgroup has memory for: none of its own where that of A is lent; two of a shared
    block, and where they fit and it has two slabs; else one.
    """
    sides = (blocks.block_m, blocks.block_n)
    if lent(spec, scale_at, *sides, promotion):
        return 0
    if sides == COOPERATIVE:
        return PARTS_UNDER_WAY
    ring = blocks.stages * stage_bytes(spec, scale_at, *sides)
    two = 2 * _out_bytes(spec, *sides, promotion)
    rest = end_scale_bytes(scale_at, *sides, promotion) + BARRIER_BYTES
    return 2 if ring + two + rest <= shared_memory_bytes and sides == PROMOTED else 1


def _stages(
    spec: MatmulSpec, scale_at: ScaleAt, block_m: int, block_n: int, promotion: object, device: Device
) -> int:
    own = not lent(spec, scale_at, block_m, block_n, promotion)
    taken = _out_bytes(spec, block_m, block_n, promotion) * own + BARRIER_BYTES
    taken += end_scale_bytes(scale_at, block_m, block_n, promotion)
    return (device.shared_memory_bytes - taken) // stage_bytes(spec, scale_at, block_m, block_n)


def end_scale_bytes(scale_at: ScaleAt, block_m: int, block_n: int, promotion: object) -> int:
    """Shared memory for scales of rows and columns that come at the end of a block."""
    blocks_at_once = CONSUMERS if promotion is WHOLE and (block_m, block_n) == PINGPONG else 1
    return blocks_at_once * (block_m + block_n) * SCALE_BYTES if scale_at is ScaleAt.EPILOGUE else 0


def out_box(block_m: int, block_n: int, promotion: object) -> tuple[int, int]:
    """Rows and columns of D that a warpgroup stores at once."""
    if (block_m, block_n) == COOPERATIVE:
        return SLAB, block_n // PARTS
    if promotion is WHOLE:
        return block_m, block_n // 2
    return SLAB, block_n // 2 if block_m == SLAB else block_n


def _out_bytes(spec: MatmulSpec, block_m: int, block_n: int, promotion: object) -> int:
    rows, columns = out_box(block_m, block_n, promotion)
    parts = CONSUMERS * (PARTS_UNDER_WAY if (block_m, block_n) == COOPERATIVE else 1)
    return parts * rows * columns * spec.out.bytes
