from typing import TYPE_CHECKING, Any

from kernels.device import COMPILE_OPTIONS, DeviceKind
from kernels.gemm.factor import Factor
from kernels.gemm.hopper.decoding.blocks import decoded_operand
from kernels.gemm.hopper.descriptors import (
    WARPS,
    descriptor,
    into_copy,
    loaded_lines,
    scale_rows_descriptor,
    writable,
)
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
    """Multiply codes of A or B and values of the other into out [M, N]; returns Triton's handle."""
    if not writable(out):
        return into_copy(lambda copy: launch(plan, a, b, copy, accumulate, kind), out, accumulate)
    from kernels.gemm.hopper.decoding.kernel import decoding_gemm_kernel

    storage, of_a, widens = plan.storage, plan.blocks.decoded == "a", plan.blocks.decoded == "ab"
    (codes, codes_box), (values, values_box) = (a, storage.a_box), (b, storage.b_box)
    if not of_a:
        (codes, codes_box), (values, values_box) = (b, storage.b_box), (a, storage.a_box)
    scale = loaded_lines(codes)
    m, n, k = a.matrix.shape[0], b.matrix.shape[0], codes.k
    chosen = constants(plan, k, accumulate=accumulate)
    return launch_kernel(
        decoding_gemm_kernel,
        (plan.programs(m, n) * (chosen["SPLITS"] // chosen["OWN_SPLITS"]),),
        descriptor(values.matrix, *values_box),
        *((values.code_scale, values.code_scale.stride(0)) if widens else (None, None)),
        descriptor(codes.matrix, *codes_box),
        scale_rows_descriptor(scale, storage.scale_tiles, codes_box[0]),
        descriptor(out, *storage.out_box),
        a.scale,
        b.scale,
        *(workspace(plan, (m, n, k), out.device) if passes_on(chosen) else (None, None)),
        m,
        n,
        k,
        **chosen,
        num_warps=WARPS,
        **COMPILE_OPTIONS,
        **EARLY_OPTIONS,
    )


def passes_on(chosen: dict[str, Any]) -> bool:
    """True if programs of these constants add up their sums through memory."""
    return chosen["SPLITS"] > chosen["OWN_SPLITS"]


def folding_of(plan: GemmPlan) -> Folding:
    a, b = plan.numerics.spec.a, plan.numerics.spec.b
    return folding(a, b) if plan.blocks.decoded == "a" else folding(b, a)


def constants(plan: GemmPlan, k: int, *, accumulate: bool) -> dict[str, Any]:
    blocks, storage = plan.blocks, plan.storage
    decoded = decoded_operand(plan.numerics.spec, blocks.decoded)
    read, fold = read_as(decoded), folding_of(plan)
    return {
        "DECODE": decode_ptx(read, folded=fold != Folding()),
        "WIDEN": decode_ptx(plan.numerics.spec.a) if blocks.decoded == "ab" else "",
        "ON_SCALES": fold.on_scales,
        "ON_SUMS": fold.on_sums,
        "SCALE": decoded.scale_rule.format.name,
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
