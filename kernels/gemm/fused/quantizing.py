"""Launch decisions of GEMMs that quantize their own A: which there are, in which blocks. Pure; no torch.

A plan has the blocks of a body that sums alike, in sizes of its own: a row of A is quantized by every block
that it is in, so blocks are as wide as registers allow.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE, TileShape
from kernels.device import HOPPER, Device, DeviceKind, Unsupported
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import tries
from kernels.gemm.fused.into import TileFacts, uncastable
from kernels.gemm.fused.simple_launch import simple_blocks
from kernels.gemm.hopper.refusals import lacking
from kernels.gemm.hopper.sizes import (
    BARRIER_BYTES,
    CHAINED,
    CONSUMERS,
    FEW_SCALES,
    LEAST_ROWS,
    LOW,
    PARTS,
    PROMOTION,
    SCALE_BYTES,
    SLAB,
)
from kernels.gemm.hopper.storage import writes_bf16
from kernels.gemm.meaning import Arithmetic, Meaning, ScaleAt, Summation
from kernels.gemm.plan import GemmPlan, plan_built_in
from kernels.quantize.facts import RuleFacts

LINE = 64
"""Numbers of a row of A that one load lays side by side."""
WIDE, LOWEST, LOWER = CHAINED, *LOW
"""BLOCK_M × BLOCK_N of promoted sums: a warpgroup has two sums of 64 × 128, one, or one of 64 × 64."""
_STEP = {WIDE: 1.0, LOWER: 0.62, LOWEST: 0.4}
"""Time of a step along K in each, a wide one's being 1: a guess that a measurement is to replace."""
_BYTES = 2
_SHARES = {WIDE: (1, 56, 216, SLAB // 2), LOWER: (2, 72, 152, SLAB // 2), LOWEST: (2, 112, 104, SLAB)}
_CHAINED_SHARE = (1, 136, 168, CHAINED[0])
"""Quantizing warpgroups, the registers of their threads, those of the threads that multiply, and the rows
that a quantizing warpgroup has at once.
"""


def quantizing_refusal(meaning: Meaning) -> str:
    """Reason why no kernel quantizes A of a matmul on the way, in a sentence; empty where one does."""
    a = meaning.operands.a
    if a is None:
        return "A stays as it is, so there is nothing to quantize"
    if meaning.refolded_from is not None:
        return "a refolded A is quantized first, by the scales that are folded"
    if reason := uncastable(a):
        return reason
    if a.tile.mn != 1 or a.tile.k is WHOLE:
        return f"a program has only some of a row of A at a time, too little for the amax of {a.tile}"
    if meaning.scale_at is ScaleAt.K_LOOP and a.tile.k == PROMOTION:
        return ""
    if meaning.arithmetic is Arithmetic.DEQUANTIZED and LINE % a.tile.k == 0:
        return "" if a.scale_rule.powers_of_two else "a code times its scale has to be a bf16 number"
    return f"a step along K has {LINE} or {PROMOTION} numbers of a row, not whole tiles {a.tile}"


def specialized_refusal(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> str:
    """Reason why the simple fused kernel runs, in a sentence; empty where Hopper's own may."""
    m, n, k = mnk
    whole = -(-m // LEAST_ROWS) * LEAST_ROWS  # A has no scales in memory, whose rows would have to be aligned
    if reason := lacking(meaning, (whole, n, k), device):
        return reason
    if not writes_bf16(meaning):
        return "the kernel that quantizes A writes bf16"
    if meaning.scale_at is not ScaleAt.K_LOOP:
        return ""
    square = meaning.spec.b.tile == TileShape(PROMOTION, PROMOTION)
    return "" if square else f"the kernel that quantizes A takes B in squares of {PROMOTION}"


def plan_quantizing(spec: MatmulSpec, mnk: tuple[int, int, int], device: Device) -> GemmPlan | Unsupported:
    """The fastest way to multiply an A that is quantized on the way, or one sentence saying why not."""
    plan = plan_built_in(spec, mnk, device, Summation.RECIPE)
    if isinstance(plan, Unsupported):
        return plan
    if reason := quantizing_refusal(plan.meaning):
        return Unsupported(reason)
    rounds = plan.meaning.scale_at is not ScaleAt.K_LOOP
    simple = replace(plan, blocks=simple_blocks(plan.blocks, 1, rounds=rounds))
    if device.kind is DeviceKind.INTERPRETER:
        return simple
    if reason := specialized_refusal(plan.meaning, mnk, device):
        return replace(simple, why=f"{reason}, so the simple fused kernel runs")
    if not all(mnk):
        return replace(simple, why="there is nothing to multiply")
    blocks = min(candidates(plan.meaning, mnk, device), key=lambda each: _turns(each, mnk, device))
    return replace(plan, blocks=blocks, why="the blocks whose programs take the fewest turns")


def _turns(blocks: Blocks, mnk: tuple[int, int, int], device: Device) -> float:
    """Time of the busiest SM, in steps of a wide block."""
    m, n, k = mnk
    runs, steps = blocks.runs(k)
    sides = (blocks.block_m, blocks.block_n)
    return -(-blocks.count(m, n) * runs // device.sms) * steps * _STEP.get(sides, 1.0)


def candidates(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """Blocks to choose from. Of promoted sums of few blocks, K is cut as for operands that are quantized."""
    if meaning.scale_at is not ScaleAt.K_LOOP:
        yield sized(Body.CHAINED, CHAINED, LINE, meaning)
        return
    few = {(each.block_m, each.split_k) for each in tries(Body.PROMOTED_FEW_ROWS, meaning, mnk, device)}
    for sides in (WIDE, LOWER, LOWEST):
        blocks = sized(Body.PROMOTED_FEW_ROWS, sides, PROMOTION, meaning)
        if sides != LOWEST or mnk[0] <= SLAB:
            yield blocks
        if sides != WIDE:
            runs = sorted(split for rows, split in few if rows == sides[0] and split > 1)
            yield from (replace(blocks, split_k=split, persistent=False) for split in runs)


def sized(body: Body, sides: tuple[int, int], block_k: int, meaning: Meaning) -> Blocks:
    """Blocks with the most stages that fit: a stage has A in bf16, B, and scales of both."""
    block_m, block_n = sides
    in_loop = meaning.scale_at is ScaleAt.K_LOOP
    stage = block_k * (block_m * _BYTES + block_n * meaning.multiplied[1].bytes)
    stage += in_loop * (block_m + FEW_SCALES) * SCALE_BYTES
    fixed = CONSUMERS * SLAB * out_columns(body, sides) * _BYTES + BARRIER_BYTES
    return Blocks(
        body=body,
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        warps=4 * CONSUMERS,
        stages=(HOPPER.shared_memory_bytes - fixed) // stage,
        persistent=True,
    )


@dataclass(frozen=True, kw_only=True)
class QuantizerFacts:
    """How A is quantized, and by whom: warpgroups, the registers of their threads and of those that multiply,
    and the rows that one has at once.
    """

    tile: int
    rule: RuleFacts
    warpgroups: int
    registers: int
    consumer_registers: int
    at_once: int


def shared_out(facts: TileFacts, blocks: Blocks) -> QuantizerFacts:
    """Facts of a quantized A with the registers of a thread shared out: sums of wide blocks take most."""
    promoted = _SHARES[blocks.block_m, blocks.block_n]
    warpgroups, registers, consumer, at_once = _CHAINED_SHARE if blocks.body is Body.CHAINED else promoted
    return QuantizerFacts(
        tile=facts.tile,
        rule=facts.rule,
        warpgroups=warpgroups,
        registers=registers,
        consumer_registers=consumer,
        at_once=at_once,
    )


def unfit(blocks: Blocks) -> str:
    """Reason why no kernel that quantizes A has these blocks, in a sentence; empty where one has."""
    sides = (blocks.block_m, blocks.block_n)
    able = {Body.CHAINED: (CHAINED,), Body.PROMOTED_FEW_ROWS: tuple(_STEP)}.get(blocks.body, ())
    return "" if blocks.body is Body.SIMPLE or sides in able else "a plan of plan_quantizing is needed"


def columns_of(blocks: Blocks) -> int:
    """Columns of one wgmma."""
    return blocks.block_n // CONSUMERS if blocks.block_m == SLAB else min(blocks.block_n, PROMOTION)


def out_columns(body: Body, sides: tuple[int, int]) -> int:
    """Columns of D that a warpgroup stores at once."""
    block_m, block_n = sides
    if body is Body.CHAINED:
        return block_n // PARTS
    return block_n // CONSUMERS if block_m == SLAB else min(block_n, PROMOTION)


def loaded_rows(blocks: Blocks, m: int) -> int:
    """Rows of A that one load brings: TMA is slow to write zeros."""
    return min(blocks.block_m, max(LEAST_ROWS, 1 << (m - 1).bit_length()))
