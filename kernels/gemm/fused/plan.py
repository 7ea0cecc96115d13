"""Launch decisions of GEMMs whose D leaves as codes: a plain GEMM's plan, in blocks that hold D's tiles."""

from dataclasses import replace

from fp8core.formats import FORMATS
from fp8core.recipes import MatmulSpec, Operand
from kernels.device import Device, DeviceKind, Unsupported
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import refusal as body_refusal
from kernels.gemm.cost.choose import chosen
from kernels.gemm.fused.into import HALVES, columns_at_once, refusal
from kernels.gemm.fused.simple_launch import simple_blocks
from kernels.gemm.hopper.blocks import RING_BODIES
from kernels.gemm.hopper.sizes import CONSUMERS, LENT_STAGES, SLAB
from kernels.gemm.hopper.storage import filled, ring, writes_bf16
from kernels.gemm.meaning import Arithmetic, Meaning, Summation
from kernels.gemm.plan import GemmPlan, plan_built_in
from kernels.gemm.shape_class import FEW


def plan_into(
    spec: MatmulSpec, operand: Operand, mnk: tuple[int, int, int], device: Device
) -> GemmPlan | Unsupported:
    """The fastest way to write D[M, N] = A · Bᵀ as codes on a device, or one sentence saying why not."""
    if reason := refusal(operand):
        return Unsupported(reason)
    spec = replace(spec, out=FORMATS["bf16"])
    plan = plan_built_in(spec, mnk, device, Summation.RECIPE)
    if isinstance(plan, Unsupported):
        return plan
    tile = operand.spec.tile.k or 0
    simple = replace(plan, blocks=simple_blocks(plan.blocks, tile))
    if device.kind is DeviceKind.INTERPRETER:
        return simple
    if plan.meaning.arithmetic is Arithmetic.NATIVE_MX:
        return Unsupported(f"D is not quantized on its way out of the scaled tensor core of {device.name}")
    if not all(mnk):
        return replace(simple, why="there is nothing to multiply")
    able = [body for body in RING_BODIES if not body_refusal(body, plan.meaning, mnk, device)]
    if mnk[0] <= FEW and Body.CHAINED_SHARED in able:
        able.remove(Body.CHAINED)  # its blocks are so large that few of them would load all of B
    if not able:
        return replace(simple, why="no warp-specialized kernel runs it, so the simple fused kernel does")
    found = chosen(plan.meaning, mnk, device, frozenset(able))
    return replace(plan, blocks=holding(found.blocks, tile, plan.meaning, device), why=found.why)


def unfit(plan: GemmPlan, operand: Operand) -> str:
    """Reason why D of a plan does not leave as an operand, in a sentence; empty where it does."""
    if not writes_bf16(plan.meaning):
        return "D is rounded to bf16 and then quantized"
    if plan.body is Body.SIMPLE:
        return ""
    if plan.blocks.shares_last:
        return "programs that share their last blocks write them in bf16: a plan of plan_into is needed"
    tile = operand.spec.tile.k or 0
    holds = plan.body in RING_BODIES and columns_at_once(plan.blocks) >= tile
    return "" if holds else f"a warpgroup has to hold {tile} columns of D: a plan of plan_into is needed"


def holding(blocks: Blocks, tile: int, meaning: Meaning, device: Device) -> Blocks:
    """A ring body's blocks, none of them shared, and so large that a warpgroup has whole tiles of D."""
    blocks = replace(blocks, split_k=1) if blocks.shares_last else blocks
    if columns_at_once(blocks) >= tile:
        return blocks
    block_n = tile * HALVES if blocks.body is Body.CHAINED_SHARED else tile
    wide = replace(blocks, block_m=CONSUMERS * SLAB, block_n=block_n, stages=LENT_STAGES)
    return filled(wide, ring(meaning, wide), device.shared_memory_bytes)
