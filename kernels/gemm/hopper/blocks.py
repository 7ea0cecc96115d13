"""Which GEMMs the warp-specialized schedule takes, and the blocks that it can have. Pure; no torch."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

from fp8core.formats import FORMATS
from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE, TileShape
from kernels.device import Device, lacks_gluon
from kernels.gemm.blocks import Blocks, Schedule
from kernels.gemm.hopper.sizes import (
    _TMA_BYTES,
    BLOCK_K_BYTES,
    CHAINED,
    CONSUMERS,
    LOW,
    PROMOTED,
    PROMOTION,
    SCALE_BYTES,
    SLAB,
    WGMMA,
)
from kernels.gemm.hopper.storage import _stages, lent
from kernels.gemm.meaning import Arithmetic, ScaleAt
from kernels.gemm.tuned import architecture

_MOST_SHARING, _LEAST_STEPS = 8, 4
"""The most programs that share a block, and the fewest steps along K of each."""
_GROUPS = (8, 16, 32)


def lacks_specialized(device: Device) -> str:
    """Why the schedule cannot run on a GPU; empty where it can."""
    if device.capability is not None and device.capability != WGMMA:
        return f"{architecture(device.capability)} has no wgmma"
    return lacks_gluon(device.triton)


def lacking(
    spec: MatmulSpec, kernel: Arithmetic, scale_at: ScaleAt, promotion: object, mnk: tuple[int, int, int]
) -> str:
    """Why the schedule cannot run this GEMM on a GPU that has it; empty where it can."""
    m, n, k = mnk
    if kernel is Arithmetic.NATIVE_MX or promotion not in (WHOLE, PROMOTION):
        return "warp specialization promotes every 128 products or never"
    if kernel is Arithmetic.FP8 and promotion is WHOLE and spec.out != FORMATS["bf16"]:
        return (
            f"a sum that stays in the tensor core leaves by warp specialization as bf16, not {spec.out.name}"
        )
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
    kernel: Arithmetic,
    scale_at: ScaleAt,
    promotion: object,
    mnk: tuple[int, int, int],
    device: Device,
) -> Iterator[Blocks]:
    """The blocks to choose from, in several orders: the most stages that fit, and one less where the
    warpgroups do not share a block; of low blocks, of which L2 holds all of A anyway, the most stages, and K
    also in several runs.
    """
    element = 2 if kernel is Arithmetic.DEQUANTIZED else spec.a.format.bytes
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
    if promotion is WHOLE:
        if spec.out == FORMATS["bf16"]:
            yield from product([CHAINED], _GROUPS, [0])
        return
    if m <= PROMOTED[0]:
        yield from ((sides, _GROUPS[0], 0) for sides in LOW if sides[0] < 2 * max(m, SLAB))
    if m > LOW[-1][0]:
        yield from product([PROMOTED], _GROUPS, (0, 1))


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
