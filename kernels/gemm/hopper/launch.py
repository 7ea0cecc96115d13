"""The launcher of the warp-specialized kernel: a plan and two operands become descriptors and a launch."""

from typing import TYPE_CHECKING

from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE
from kernels.device import COMPILE_OPTIONS, HOPPER
from kernels.gemm.hopper.blocks import shareable
from kernels.gemm.hopper.decoding.launch import _launch_decoding
from kernels.gemm.hopper.descriptors import WARPS, _scale_descriptor, _writable, descriptor
from kernels.gemm.hopper.sizes import CHAINED, LENT_STAGES, LOW, PROMOTED
from kernels.gemm.hopper.storage import b_scales_loaded, buffers, loaded_rows, out_box
from kernels.gemm.meaning import ScaleAt
from kernels.gemm.plan import GemmPlan
from kernels.gemm.workspace import workspace
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
    accumulate: bool,
) -> object:
    """Multiply left [M, K] and right [N, K], what the tensor core is given of A and B, into out [M, N].

    An `out` whose rows TMA cannot write gets its numbers from a copy. Raises ValueError for a K or stages
    with which D cannot leave through memory of A, and for runs of K of blocks that programs cannot share.
    """
    if not _writable(out):
        copy = out.new_empty(out.shape)
        if accumulate:
            copy.copy_(out)
        handle = launch(a, b, left, right, plan, copy, accumulate)
        out.copy_(copy)
        return handle
    if plan.decodes_in_registers:
        return _launch_decoding(a, b, left, right, plan, out, accumulate)
    from kernels.gemm.hopper.kernel import specialized_gemm_kernel

    if not body(plan):
        raise ValueError(f"no body of the warp-specialized kernel has these blocks, got {plan.title}")
    (m, k), n = left.shape, right.shape[0]
    chosen = constants(plan, k, accumulate=accumulate)
    if not chosen["BUFFERS"] and (k <= plan.block_k or plan.blocks.stages < LENT_STAGES):
        raise ValueError(
            f"these blocks need K beyond {plan.block_k} and {LENT_STAGES} stages or more, "
            f"got K = {k} and {plan.blocks.stages} stages"
        )
    if chosen["RUNS"] > 1 and not shareable(plan.spec, plan.promotion, plan.blocks):
        raise ValueError(
            f"programs share a block of 64 or 128 rows that promotes and writes bf16, got {plan.title}, "
            f"D in {plan.spec.out.name}"
        )
    return specialized_gemm_kernel[(plan.programs(m, n) * chosen["RUNS"],)](
        descriptor(left, loaded_rows(plan.blocks, m), plan.block_k),
        descriptor(right, plan.block_n, plan.block_k),
        _scale_descriptor(a.scale, plan.block_m),
        _scale_descriptor(b.scale, b_scales_loaded(plan.spec, plan.block_n)),
        descriptor(out, *out_box(plan.block_m, plan.block_n)),
        a.scale,
        b.scale,
        *workspace(plan, (m, n, k), out.device),
        m,
        n,
        k,
        a.operand_scale.stride(1),
        b.operand_scale.stride(1),
        **chosen,
        num_warps=WARPS,
        **COMPILE_OPTIONS,
    )


def body(plan: GemmPlan) -> str:
    """The body that carries a plan out; empty where there is none."""
    sides = (plan.block_m, plan.block_n)
    if plan.promotion is WHOLE:
        return "chained" if sides == CHAINED and plan.spec.out == FORMATS["bf16"] else ""
    return "promoted" if sides == PROMOTED else "promoted_few_rows" if sides in LOW else ""


def constants(plan: GemmPlan, k: int, *, accumulate: bool) -> dict[str, int | bool]:
    """The constexpr arguments of specialized_gemm_kernel."""
    spec, in_loop = plan.spec, plan.scale_at is ScaleAt.K_LOOP
    scaled = plan.scale_at is not ScaleAt.OPERANDS
    per_line = {side: scaled and operand.tile.mn == 1 for side, operand in (("a", spec.a), ("b", spec.b))}
    return {
        "A_SCALES": plan.block_m if per_line["a"] else 0,
        "B_SCALES": b_scales_loaded(spec, plan.block_n) if per_line["b"] or in_loop else 0,
        "IN_LOOP": in_loop,
        "AT_END": plan.scale_at is ScaleAt.EPILOGUE,
        "BODY": body(plan),
        "ACCUMULATE": accumulate,
        "BLOCK_M": plan.block_m,
        "BLOCK_N": plan.block_n,
        "BLOCK_K": plan.block_k,
        "GROUP": plan.blocks.group,
        "STAGES": plan.blocks.stages,
        "BUFFERS": buffers(spec, plan.scale_at, plan.promotion, plan.blocks, HOPPER.shared_memory_bytes),
        "RUNS": plan.blocks.runs(k)[0],
    }
