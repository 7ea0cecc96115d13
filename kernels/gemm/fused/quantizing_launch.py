"""The launcher of Hopper's GEMM that quantizes its own A."""

from typing import TYPE_CHECKING

from kernels.device import COMPILE_OPTIONS, DeviceKind
from kernels.gemm.factor import Factor
from kernels.gemm.fused.into import TileFacts
from kernels.gemm.fused.quantizing import LINE, columns_of, loaded_rows, out_columns, shared_out
from kernels.gemm.hopper.descriptors import WARPS, descriptor, into_copy, scale_descriptor, writable
from kernels.gemm.hopper.scale_rows import loaded_scale
from kernels.gemm.hopper.sizes import FEW_SCALES, SLAB
from kernels.gemm.meaning import ScaleAt
from kernels.gemm.plan import GemmPlan
from kernels.gemm.workspace import workspace
from kernels.launching.launch import EARLY_OPTIONS
from kernels.launching.launch import launch as launch_kernel

if TYPE_CHECKING:
    import torch


def launch_quantizing(
    plan: GemmPlan, a: Factor, b: Factor, out: "torch.Tensor", quantizes: TileFacts, kind: DeviceKind
) -> object:
    """Multiply bf16 A [M, K], quantized on the way, and B [N, K] into out; Triton's handle of what ran."""
    if not writable(out):
        return into_copy(lambda copy: launch_quantizing(plan, a, b, copy, quantizes, kind), out, False)
    from kernels.gemm.fused.quantizing_kernel import quantizing_gemm_kernel

    (m, k), n, blocks = a.given.shape, b.given.shape[0], plan.blocks
    b_scale = loaded_scale(b)
    chosen = quantizing_constants(plan, k, quantizes)
    return launch_kernel(
        quantizing_gemm_kernel,
        (plan.programs(m, n) * chosen["RUNS"],),
        descriptor(a.given, loaded_rows(blocks, m), LINE),
        descriptor(b.given, blocks.block_n, blocks.block_k),
        scale_descriptor(b_scale, FEW_SCALES),
        descriptor(out, SLAB, out_columns(blocks.body, (blocks.block_m, blocks.block_n))),
        *workspace(plan, (m, n, k), out.device),
        m,
        n,
        k,
        b_scale.stride(0),
        blocks.group,
        **chosen,
        num_warps=WARPS,
        **COMPILE_OPTIONS,
        **EARLY_OPTIONS,
    )


def quantizing_constants(plan: GemmPlan, k: int, quantizes: TileFacts) -> dict[str, object]:
    """The constexpr arguments of quantizing_gemm_kernel."""
    blocks, in_loop = plan.blocks, plan.meaning.scale_at is ScaleAt.K_LOOP
    return {
        "FACTS": shared_out(quantizes, blocks),
        "IN_LOOP": in_loop,
        "B_SCALES": FEW_SCALES if in_loop else 0,
        "BLOCK_M": blocks.block_m,
        "BLOCK_N": blocks.block_n,
        "BLOCK_K": blocks.block_k,
        "COLUMNS": columns_of(blocks),
        "STAGES": blocks.stages,
        "RUNS": blocks.runs(k)[0],
    }
