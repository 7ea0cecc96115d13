"""tl.dot_scaled where Triton emulates it, to be timed beside a kernel for MXFP8. Pure; no torch, no GPU."""

from dataclasses import replace

from kernels.device import BLACKWELL, HOPPER, Device
from kernels.gemm.blocks import Blocks
from kernels.gemm.meaning import Arithmetic
from kernels.gemm.plan import GemmPlan
from kernels.operand_passes.plan import DOT_SCALED_TILE

TITLE = "tl.dot_scaled"
NOTE = (
    f"{TITLE} is Triton's own matmul of MXFP8 operands; where the GPU has no MMA that takes their scales, "
    "Triton decodes both operands to bf16 at every step along K and multiplies those."
)
"""What is timed, in one sentence."""

BLOCKS = Blocks(block_m=128, block_n=128, block_k=128, warps=8, stages=3)
"""They compile for sm_90 without a spill; with 4 warps they spill."""


def dot_scaled_plan(plan: GemmPlan, device: Device) -> GemmPlan | None:
    """The same product by tl.dot_scaled, for a contest and nothing else: plan_gemm has it where it is native.

    None for operands that it does not take, and for a GPU without TMA, by which its kernel loads.
    """
    takes = plan.kernel is Arithmetic.DEQUANTIZED and plan.spec.a.tile == plan.spec.b.tile == DOT_SCALED_TILE
    if not takes or device.capability is None:
        return None
    if not HOPPER.capability <= device.capability < BLACKWELL.capability:
        return None
    return replace(plan, kernel=Arithmetic.NATIVE_MX, blocks=BLOCKS, why="it is only timed")
