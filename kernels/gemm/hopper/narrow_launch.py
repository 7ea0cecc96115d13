"""The launcher of kernels.gemm.hopper.narrow: a plan and two operands become descriptors and a launch."""

from typing import TYPE_CHECKING

from fp8core.tiles import WHOLE
from kernels.device import COMPILE_OPTIONS
from kernels.gemm.hopper.descriptors import descriptor
from kernels.gemm.hopper.narrow_blocks import STEPS, lacking
from kernels.gemm.hopper.storage import rows_loaded
from kernels.gemm.plan import GemmPlan
from kernels.quantize import QuantizedTensor

if TYPE_CHECKING:
    import torch


def launch(
    a: QuantizedTensor,
    b: QuantizedTensor,
    left: "torch.Tensor",
    right: "torch.Tensor",
    plan: GemmPlan,
    out: "torch.Tensor",
) -> object:
    """Multiply left [M, K] and right [N, K], the codes of A and B, into out [M, N] of any strides. Raises
    ValueError for a plan that the kernel cannot carry out.
    """
    from kernels.gemm.hopper.narrow import narrow_gemm_kernel

    reason = lacking(plan.spec, plan.kernel, plan.scale_at, plan.promotion)
    if reason or plan.blocks.split_k > 1:
        raise ValueError(f"{reason or 'narrow blocks have K in one run'}, got {plan.title}")
    (m, k), n = left.shape, right.shape[0]
    step = plan.block_k // STEPS
    return narrow_gemm_kernel[(plan.blocks.count(m, n),)](
        descriptor(left, rows_loaded(plan.block_m, m), step),
        descriptor(right, plan.block_n, step),
        a.scale,
        b.scale,
        out,
        m,
        n,
        k,
        out.stride(0),
        out.stride(1),
        **constants(plan),
        num_warps=plan.blocks.warps,
        **COMPILE_OPTIONS,
    )


def constants(plan: GemmPlan) -> dict[str, int | bool]:
    """The constexpr arguments of narrow_gemm_kernel."""
    return {
        "A_SCALES": plan.spec.a.tile.mn is not WHOLE,
        "B_SCALES": plan.spec.b.tile.mn is not WHOLE,
        "PROMOTED": plan.promotion is not WHOLE,
        "BLOCK_M": plan.block_m,
        "BLOCK_N": plan.block_n,
        "STAGES": plan.blocks.stages,
    }
