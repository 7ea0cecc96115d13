"""The launcher of the warp-specialized kernel: a plan and two operands become descriptors and a launch."""

from typing import TYPE_CHECKING

from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE
from kernels import decoding_blocks
from kernels.device import COMPILE_OPTIONS, HOPPER
from kernels.family import Kernel, ScaleAt
from kernels.plan import GemmPlan
from kernels.quantize import QuantizedTensor
from kernels.specialized_blocks import LENT_STAGES, b_scales_loaded, buffers, loaded_rows, out_box, shareable
from kernels.split import workspace

if TYPE_CHECKING:
    import torch

WARPS = 4
"""Of the first warpgroup; the kernel adds the others."""
_TMA_BYTES = 16


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
    from kernels.specialized_kernel import specialized_gemm_kernel

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
        descriptor(out, *out_box(plan.block_m, plan.block_n, plan.promotion)),
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
    from kernels.decoding_kernel import decoding_gemm_kernel

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
        "PROMOTED": plan.promotion is not WHOLE and plan.kernel is Kernel.FP8,
        "ACCUMULATE": accumulate,
        "BLOCK_M": plan.block_m,
        "BLOCK_N": plan.block_n,
        "BLOCK_K": plan.block_k,
        "GROUP": plan.blocks.group,
        "STAGES": plan.blocks.stages,
        "BUFFERS": buffers(spec, plan.scale_at, plan.promotion, plan.blocks, HOPPER.shared_memory_bytes),
        "RUNS": plan.blocks.runs(k)[0],
    }


def _writable(out: "torch.Tensor") -> bool:
    aligned = out.data_ptr() % _TMA_BYTES == 0 and out.stride(0) * out.itemsize % _TMA_BYTES == 0
    return aligned and out.stride(1) == 1


def descriptor(tensor: "torch.Tensor", rows: int, columns: int) -> object:
    """Of a matrix, for TMA, in blocks as wgmma has them in shared memory."""
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    layout = swizzled(rows, columns, str(tensor.dtype).removeprefix("torch."))
    strides = [tensor.stride(0), 1]
    return TensorDescriptor(tensor, list(tensor.shape), strides, [rows, columns], layout)


def swizzled(rows: int, columns: int, dtype: str) -> object:
    """The layout of a block in shared memory that wgmma and TMA share; dtype as torch names it."""
    from triton.experimental.gluon import language as gl

    types = {
        "float8_e4m3fn": gl.float8e4nv,
        "float8_e5m2": gl.float8e5,
        "uint8": gl.uint8,
        "bfloat16": gl.bfloat16,
        "float32": gl.float32,
    }
    return gl.NVMMASharedLayout.get_default_for([rows, columns], types[dtype])


def flat() -> object:
    """The layout of a row of fp32 scales in shared memory."""
    from triton.experimental.gluon import language as gl

    return gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=FORMATS["fp32"].bits, rank=1)


def _scale_descriptor(scale: "torch.Tensor", count: int) -> object:
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    return TensorDescriptor(scale, [scale.numel()], [1], [count], flat())
