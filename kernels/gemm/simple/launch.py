"""The launcher of the simple kernels: a plan and two operands become arguments."""

from typing import TYPE_CHECKING

from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE
from kernels.device import DeviceKind
from kernels.gemm.meaning import Arithmetic, ScaleAt
from kernels.gemm.plan import GemmPlan
from kernels.operand_passes.plan import (
    decode_shift,
)

if TYPE_CHECKING:
    import torch


def _descriptor(operand: "torch.Tensor", block_mn: int, plan: GemmPlan) -> object:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(operand, list(operand.shape), [operand.stride(0), 1], [block_mn, plan.block_k])


def kernel_constants(plan: GemmPlan, k: int, *, accumulate: bool, kind: DeviceKind) -> dict[str, object]:
    """The constexpr arguments of the plan's kernel.

    The interpreter is told the number of steps along K: its loops do not take a tensor in every version.
    """
    sides = [("a", plan.spec.a, plan.block_m), ("b", plan.spec.b, plan.block_n)]
    (a_side, a, block_m), (b_side, b, block_n) = reversed(sides) if plan.blocks.transposed else sides
    constants: dict[str, object] = {
        "ACCUMULATE": accumulate,
        "BLOCK_M": block_m,
        "BLOCK_N": block_n,
        "BLOCK_K": plan.block_k,
        "GROUP_M": plan.blocks.group,
    }
    if plan.kernel is Arithmetic.NATIVE_MX:
        return constants | {"TILE_K": a.tile.k, "A_FORMAT": a.format.name, "B_FORMAT": b.format.name}
    runs, run_steps = plan.blocks.runs(k)
    for name, side, operand in (("A", a_side, a), ("B", b_side, b)):
        decoded = side in plan.blocks.decoded
        shift, factor = decode_shift(operand.format, FORMATS["bf16"]) if decoded else (0, 0)
        constants |= {f"{name}_SHIFT": shift, f"{name}_FACTOR": factor}
    constants |= {
        "TRANSPOSED": plan.blocks.transposed,
        "A_TILE_MN": a.tile.mn or 0,
        "A_TILE_K": a.tile.k or 0,
        "B_TILE_MN": b.tile.mn or 0,
        "B_TILE_K": b.tile.k or 0,
        "CAST": kind is DeviceKind.GPU,
        "KNOWN_STEPS": 0 if kind is DeviceKind.GPU else run_steps,
    }
    return constants | {
        "SCALE_IN_LOOP": plan.scale_at is ScaleAt.K_LOOP,
        "SCALE_AT_END": plan.scale_at is ScaleAt.EPILOGUE,
        "PROMOTED": plan.scale_at is ScaleAt.EPILOGUE and plan.promotion is not WHOLE,
        "PERSISTENT": plan.blocks.persistent and kind is DeviceKind.GPU,
        "RUNS": runs,
        "TMA": plan.blocks.tma,
    }
