"""The launcher of the kernel that decodes in registers."""

from typing import TYPE_CHECKING

from fp8core.formats import FORMATS
from kernels.device import COMPILE_OPTIONS
from kernels.gemm.hopper.decoding import blocks as decoding_blocks
from kernels.gemm.hopper.descriptors import WARPS, _scale_descriptor, descriptor
from kernels.gemm.plan import GemmPlan
from kernels.gemm.workspace import workspace
from kernels.quantize import QuantizedTensor

if TYPE_CHECKING:
    import torch


def _launch_decoding(
    a: QuantizedTensor,
    b: QuantizedTensor,
    left: "torch.Tensor",
    right: "torch.Tensor",
    plan: GemmPlan,
    out: "torch.Tensor",
    accumulate: bool,
) -> object:
    """The same where one of the two is codes that the kernel decodes."""
    from kernels.gemm.hopper.decoding.kernel import decoding_gemm_kernel

    m, n = left.shape[0], right.shape[0]
    decoded, codes, values = (a, left, right) if plan.blocks.decoded == "a" else (b, right, left)
    k = codes.shape[1]
    chosen = decoding_constants(plan, k, accumulate=accumulate)
    return decoding_gemm_kernel[(plan.programs(m, n) * (chosen["RUNS"] // chosen["EACH"]),)](
        descriptor(values, decoding_blocks.value_rows(plan.blocks), plan.block_k),
        descriptor(codes, decoding_blocks.CODES, plan.block_k),
        _scale_descriptor(decoded.scale, decoding_blocks.CODES),
        descriptor(out, *decoding_blocks.out_box(plan.spec, plan.blocks)),
        *(workspace(plan, (m, n, k), out.device) if chosen["RUNS"] > chosen["EACH"] else (None, None)),
        m,
        n,
        k,
        decoded.operand_scale.stride(1),
        **chosen,
        num_warps=WARPS,
        **COMPILE_OPTIONS,
    )


def decoding_constants(plan: GemmPlan, k: int, *, accumulate: bool) -> dict[str, int | bool]:
    """The constexpr arguments of decoding_gemm_kernel."""
    decoded = decoding_blocks.decoded_operand(plan.spec, plan.blocks.decoded)
    return {
        "E4M3": decoded.format == FORMATS["e4m3"],
        "OF_A": plan.blocks.decoded == "a",
        "TILE_K": decoded.tile.k,
        "BLOCK_M": plan.block_m,
        "BLOCK_N": plan.block_n,
        "BLOCK_K": plan.block_k,
        "GROUP": plan.blocks.group,
        "STAGES": plan.blocks.stages,
        "RUNS": plan.blocks.runs(k)[0],
        "EACH": decoding_blocks.runs_each(plan.blocks, k),
        "BUFFERS": decoding_blocks.buffers(plan.spec, decoding_blocks.value_rows(plan.blocks)),
        "ACCUMULATE": accumulate,
    }
