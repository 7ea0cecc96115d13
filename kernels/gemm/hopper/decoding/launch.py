from typing import TYPE_CHECKING, Any

from kernels.device import DeviceKind
from kernels.gemm.factor import Factor
from kernels.gemm.hopper.descriptors import (
    aligned,
    descriptor,
    into_copy,
    is_aligned,
    scale_rows_descriptor,
)
from kernels.gemm.hopper.sizes import WARPGROUP_WARPS
from kernels.gemm.hopper.storage import own_splits
from kernels.gemm.passes.decode import Folding, decode_ptx, folding, read_as
from kernels.gemm.plan import GemmPlan
from kernels.gemm.workspace import workspace
from kernels.launching.launch import EARLY_OPTIONS
from kernels.launching.launch import launch as launch_kernel

if TYPE_CHECKING:
    import torch


def launch(
    plan: GemmPlan, a: Factor, b: Factor, out: "torch.Tensor", accumulate: bool, kind: DeviceKind
) -> object:
    if not is_aligned(out):
        return into_copy(lambda copy: launch(plan, a, b, copy, accumulate, kind), out, accumulate)
    from kernels.gemm.hopper.decoding.kernel import decoding_gemm_kernel

    storage, of_a, widens = plan.storage, plan.blocks.decoded == "a", plan.blocks.decoded == "ab"
    (codes, codes_box), (values, values_box) = (a, storage.a_box), (b, storage.b_box)
    if not of_a:
        (codes, codes_box), (values, values_box) = (b, storage.b_box), (a, storage.a_box)
    scale = aligned(codes.line_scale)
    m, n, k = mnk = a.matrix.shape[0], b.matrix.shape[0], codes.k
    constexprs = constants(plan, k, accumulate=accumulate)
    sharing = constexprs["SPLITS"] // constexprs["OWN_SPLITS"]
    return launch_kernel(
        decoding_gemm_kernel,
        (plan.programs(m, n, sharing),),
        descriptor(values.matrix, *values_box),
        *((values.code_scale, values.code_scale.stride(0)) if widens else (None, None)),
        descriptor(codes.matrix, *codes_box),
        scale_rows_descriptor(scale, storage.scale_tiles, codes_box[0]),
        descriptor(out, *storage.out_box),
        a.scale,
        b.scale,
        *(workspace(plan, mnk, out.device) if sharing > 1 else (None, None)),
        *mnk,
        **constexprs,
        num_warps=WARPGROUP_WARPS,  # of the first warpgroup; the kernel adds the others
        **EARLY_OPTIONS,
    )


def constants(plan: GemmPlan, k: int, *, accumulate: bool) -> dict[str, Any]:
    blocks, storage = plan.blocks, plan.storage
    a, b = plan.numerics.spec.a, plan.numerics.spec.b
    codes, values = (a, b) if blocks.decoded == "a" else (b, a)
    fold = folding(codes, values)
    return {
        "DECODE": decode_ptx(read_as(codes), folded=fold != Folding()),
        "WIDEN": decode_ptx(a) if blocks.decoded == "ab" else "",
        "ON_SCALES": fold.on_scales,
        "ON_SUMS": fold.on_sums,
        "SCALE": codes.scale_rule.format.name,
        "AT_END": plan.numerics.scales_at_end,
        "OF_A": blocks.decoded == "a",
        "GROUP": blocks.group,
        "STAGES": blocks.stages,
        "SCALE_STEPS": storage.widened_steps,
        "SPLITS": blocks.splits(k)[0],
        "OWN_SPLITS": own_splits(blocks, k),
        "BUFFERS": storage.buffers,
        "ACCUMULATE": accumulate,
    }
