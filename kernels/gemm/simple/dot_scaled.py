"""The plan that times tl.dot_scaled beside our kernels for MXFP8, where Triton emulates it. Needs no GPU."""

from dataclasses import replace

from kernels.device import BLACKWELL, HOPPER, Device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.meaning import Arithmetic
from kernels.gemm.plan import GemmPlan
from kernels.operand_passes.plan import DOT_SCALED_TILE

TITLE = "tl.dot_scaled"
NOTE = (
    f"{TITLE} is Triton's own matmul of MXFP8 operands; where the GPU has no MMA that takes their scales, "
    "Triton decodes both operands to bf16 at every step along K and multiplies those."
)
"""What is timed, in one sentence."""

BLOCKS = Blocks(body=Body.NATIVE_MX, block_m=128, block_n=128, block_k=128, warps=8, stages=3)
"""Blocks that compile for sm_90 without a spill; with 4 warps they spill."""


def dot_scaled_plan(plan: GemmPlan, device: Device) -> GemmPlan | None:
    """A plan's product by tl.dot_scaled, to be timed only: where it is native, plan_gemm chooses it itself.

    None for operands that it does not take, and for a GPU without TMA, by which its kernel loads.
    """
    meaning, spec = plan.meaning, plan.meaning.spec
    takes = meaning.arithmetic is Arithmetic.DEQUANTIZED and spec.a.tile == spec.b.tile == DOT_SCALED_TILE
    if not takes or device.capability is None:
        return None
    if not HOPPER.capability <= device.capability < BLACKWELL.capability:
        return None
    native = replace(meaning, arithmetic=Arithmetic.NATIVE_MX)
    return replace(plan, meaning=native, blocks=BLOCKS, why="it is only timed")
