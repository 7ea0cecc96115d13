from typing import TYPE_CHECKING

from fp8core.tiles import WHOLE
from kernels.device import DeviceKind
from kernels.gemm.factor import Factor
from kernels.gemm.hopper.descriptors import (
    descriptor,
    into_copy,
    is_aligned,
    is_mn_major,
    loaded_scale,
    scale_descriptor,
)
from kernels.gemm.hopper.sizes import WARPGROUP_WARPS
from kernels.gemm.numerics import ScaleAt
from kernels.gemm.plan import GemmPlan
from kernels.gemm.workspace import workspace
from kernels.launching.launch import EARLY_OPTIONS
from kernels.launching.launch import launch as launch_kernel

if TYPE_CHECKING:
    import torch


def launch(
    plan: GemmPlan, a: Factor, b: Factor, out: "torch.Tensor", accumulate: bool, kind: DeviceKind
) -> object:
    """Launch the ring kernel, into a copy of D if TMA cannot write D itself.

    Raises ValueError for a K of one step where D leaves through two stages of A.
    """
    if not is_aligned(out):
        return into_copy(lambda copy: launch(plan, a, b, copy, accumulate, kind), out, accumulate)
    from kernels.gemm.hopper.kernel import specialized_gemm_kernel

    (m, k), n, storage = a.matrix.shape, b.matrix.shape[0], plan.storage
    if not storage.buffers and k <= plan.blocks.block_k:
        raise ValueError(f"these blocks need K beyond {plan.blocks.block_k}, got K = {k}")
    constexprs = constants(
        plan, k, accumulate=accumulate, a_mn_major=is_mn_major(a.matrix), b_mn_major=is_mn_major(b.matrix)
    )
    mnk, scales = (m, n, k), (loaded_scale(a), loaded_scale(b))
    return launch_kernel(
        specialized_gemm_kernel,
        (plan.programs(m, n, constexprs["SPLITS"]),),
        descriptor(a.matrix, *storage.loaded(m)),
        descriptor(b.matrix, *storage.b_box),
        *map(scale_descriptor, scales, (storage.a_scale_box, storage.b_scale_box)),
        descriptor(out, *storage.out_box),
        *scales,
        *workspace(plan, mnk, out.device),
        *mnk,
        *(scale.stride(0) for scale in scales),
        plan.blocks.group,
        **constexprs,
        num_warps=WARPGROUP_WARPS,  # of the first warpgroup; the kernel adds the others
        **EARLY_OPTIONS,
    )


def constants(
    plan: GemmPlan, k: int, *, accumulate: bool, a_mn_major: bool = False, b_mn_major: bool = False
) -> dict[str, int | bool]:
    numerics, blocks, storage = plan.numerics, plan.blocks, plan.storage
    return {
        "A_SCALES": storage.a_scales,
        "B_SCALES": storage.b_scales,
        "IN_LOOP": numerics.scale_at is ScaleAt.K_LOOP,
        "AT_END": numerics.scales_at_end,
        "VARIANT": plan.variant.value,
        "CHAINS": numerics.promotion is WHOLE,
        "ACCUMULATE": accumulate,
        "A_MN_MAJOR": a_mn_major,
        "B_MN_MAJOR": b_mn_major,
        "BLOCK_M": blocks.block_m,
        "BLOCK_N": blocks.block_n,
        "BLOCK_K": blocks.block_k,
        "STAGES": blocks.stages,
        "BUFFERS": storage.buffers,
        "SPLITS": blocks.splits(k)[0],
    }
