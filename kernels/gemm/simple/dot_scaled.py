"""The plan that times tl.dot_scaled beside our kernels, where Triton emulates it. Needs no GPU."""

from dataclasses import replace

from fp8core.formats import FORMATS
from kernels.device import BLACKWELL, HOPPER, Device, Unsupported
from kernels.gemm.block_scaled import NATIVE, instruction_format, kind_of
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.numerics import Arithmetic, ScaleAt
from kernels.gemm.plan import GemmPlan

TITLE = "tl.dot_scaled"
NOTE = (
    f"{TITLE} is Triton's own matmul of MX and NVFP4 operands; where the GPU has no MMA that takes their "
    "scales, Triton decodes both operands to bf16 at every step along K and multiplies those."
)

_TRITON_WITH_E4M3 = (3, 8)
"""Triton 3.6 and 3.7 do not compile tl.dot_scaled with scales of E4M3 for sm_90."""
BLOCKS = Blocks(variant=Variant.NATIVE_MX, block_m=128, block_n=128, block_k=128, warps=8, stages=3)
"""Blocks that compile for sm_90 without a spill; with 4 warps they spill."""


def dot_scaled_plan(plan: GemmPlan, device: Device) -> GemmPlan | None:
    """A plan's product by tl.dot_scaled, to be timed only: where it is native, plan_gemm chooses it itself.

    None for operands that it does not take, and for a GPU without TMA, by which its kernel loads.
    """
    numerics, kind = plan.numerics, kind_of(plan.numerics.spec)
    if device.capability is None or not HOPPER.capability <= device.capability < BLACKWELL.capability:
        return None
    if numerics.arithmetic is not Arithmetic.DEQUANTIZED or isinstance(kind, Unsupported):
        return None
    if NATIVE[kind].scale != FORMATS["e8m0"].name and device.triton < _TRITON_WITH_E4M3:
        return None
    if any(instruction_format(kind, operand.format) != operand.format for operand in numerics.spec.quantized):
        return None
    native = replace(numerics, arithmetic=Arithmetic.NATIVE_MX, scale_at=ScaleAt.OPERANDS)
    return replace(plan, numerics=native, blocks=BLOCKS, why="it is only timed")
