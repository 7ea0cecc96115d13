"""The launcher of kernels.gemm.hopper.narrow: a plan and two operands become descriptors and a launch."""

from typing import TYPE_CHECKING

from fp8core.tiles import WHOLE
from kernels.device import COMPILE_OPTIONS, DeviceKind
from kernels.gemm.factor import Factor
from kernels.gemm.hopper.descriptors import descriptor
from kernels.gemm.plan import GemmPlan
from kernels.launching.launch import EARLY_OPTIONS
from kernels.launching.launch import launch as launch_kernel

if TYPE_CHECKING:
    import torch


def launch(
    plan: GemmPlan, a: Factor, b: Factor, out: "torch.Tensor", accumulate: bool, kind: DeviceKind
) -> object:
    """Multiply A [M, K] and B [N, K] into a bf16 out [M, N] of any strides, which nothing is added into."""
    from kernels.gemm.hopper.narrow import narrow_gemm_kernel

    (m, k), n, storage = a.given.shape, b.given.shape[0], plan.storage
    return launch_kernel(
        narrow_gemm_kernel,
        (plan.blocks.count(m, n),),
        descriptor(a.given, *storage.loaded(m)),
        descriptor(b.given, *storage.b_box),
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
        **EARLY_OPTIONS,
    )


def constants(plan: GemmPlan) -> dict[str, int | bool]:
    """The constexpr arguments of narrow_gemm_kernel."""
    return {
        "A_SCALES": plan.meaning.spec.a.tile.mn is not WHOLE,
        "B_SCALES": plan.meaning.spec.b.tile.mn is not WHOLE,
        "PROMOTED": plan.meaning.promotion is not WHOLE,
        "BLOCK_M": plan.blocks.block_m,
        "BLOCK_N": plan.blocks.block_n,
        "STAGES": plan.blocks.stages,
    }
