"""The launcher of the warp-specialized kernel: a plan and two operands become descriptors and a launch."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE
from kernels.device import COMPILE_OPTIONS, HOPPER
from kernels.family import Kernel, ScaleAt
from kernels.plan import GemmPlan
from kernels.quantize import QuantizedTensor
from kernels.specialized_blocks import b_scales_loaded, buffers, out_box

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

    An `out` whose rows TMA cannot write gets its numbers from a copy.
    """
    if not _writable(out):
        copy = out.new_empty(out.shape)
        if accumulate:
            copy.copy_(out)
        handle = launch(a, b, left, right, plan, copy, accumulate)
        out.copy_(copy)
        return handle
    from kernels.specialized_kernel import specialized_gemm_kernel

    (m, k), n = left.shape, right.shape[0]
    boxes = boxes_of(plan)
    return specialized_gemm_kernel[(plan.programs(m, n),)](
        _descriptor(left, boxes.a),
        _descriptor(right, boxes.b),
        _descriptor(a.scale, boxes.a_scale),
        _descriptor(b.scale, boxes.b_scale),
        _descriptor(out, boxes.out),
        out,
        a.scale,
        b.scale,
        m,
        n,
        k,
        a.operand_scale.stride(1),
        b.operand_scale.stride(1),
        out.stride(0),
        **constants(plan, accumulate=accumulate),
        num_warps=WARPS,
        num_ctas=plan.blocks.cluster,
        **COMPILE_OPTIONS,
    )


def constants(plan: GemmPlan, *, accumulate: bool) -> dict[str, int | bool]:
    """The constexpr arguments of specialized_gemm_kernel."""
    spec, in_loop = plan.spec, plan.scale_at is ScaleAt.K_LOOP
    scaled = plan.scale_at is not ScaleAt.OPERANDS
    per_line = {side: scaled and operand.tile.mn == 1 for side, operand in (("a", spec.a), ("b", spec.b))}
    return {
        "A_SCALES": int(per_line["a"]),
        "B_SCALES": (plan.block_n if per_line["b"] else 1) if in_loop else int(per_line["b"]),
        "IN_LOOP": in_loop,
        "AT_END": plan.scale_at is ScaleAt.EPILOGUE,
        "PROMOTED": plan.promotion is not WHOLE and plan.kernel is Kernel.FP8,
        "ACCUMULATE": accumulate,
        "BLOCK_M": plan.block_m,
        "BLOCK_N": plan.block_n,
        "BLOCK_K": plan.block_k,
        "GROUP_M": plan.blocks.group_m,
        "STAGES": plan.blocks.stages,
        "V": int(__import__("os").environ.get("V", "0")),
        "CTAS": plan.blocks.cluster,
        "BUFFERS": buffers(spec, plan.scale_at, plan.blocks, HOPPER.shared_memory_bytes),
    }


def _writable(out: "torch.Tensor") -> bool:
    aligned = out.data_ptr() % _TMA_BYTES == 0 and out.stride(0) * out.itemsize % _TMA_BYTES == 0
    return aligned and out.stride(1) == 1


@dataclass(frozen=True)
class Box:
    """What one TMA copy moves; pair: how the two programs of a cluster divide it, empty for one program."""

    shape: tuple[int, ...]
    pair: tuple[int, ...] = ()

    def layout(self, dtype: str) -> object:
        """Of the box in shared memory, as wgmma reads it; dtype as torch names it."""
        from triton.experimental.gluon import language as gl

        bases = [list(self.pair)] if self.pair else []
        if len(self.shape) == 1:
            bits = FORMATS["fp32"].bits
            return gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=bits, rank=1, cga_layout=bases)
        types = {
            "float8_e4m3fn": gl.float8e4nv,
            "float8_e5m2": gl.float8e5,
            "bfloat16": gl.bfloat16,
            "float32": gl.float32,
        }
        return gl.NVMMASharedLayout.get_default_for(list(self.shape), types[dtype], cga_layout=bases or None)


@dataclass(frozen=True)
class Boxes:
    """The boxes of the kernel's five descriptors."""

    a: Box
    b: Box
    a_scale: Box
    b_scale: Box
    out: Box


def boxes_of(plan: GemmPlan) -> Boxes:
    """The programs of a cluster lie along their blocks' shorter side and share the operand of the other."""
    m, n, k = plan.block_m, plan.block_n, plan.block_k
    b_scales = b_scales_loaded(plan.spec, n)
    rows, columns = out_box(m, n)
    if plan.blocks.cluster == 1:
        return Boxes(Box((m, k)), Box((n, k)), Box((m,)), Box((b_scales,)), Box((rows, columns)))
    if m <= n:
        a, b, out = Box((2 * rows, k), (1, 0)), Box((n, k), (0, 0)), Box((2 * rows, columns), (1, 0))
        return Boxes(a, b, Box((2 * rows,), (1,)), Box((b_scales,), (0,)), out)
    a, b, out = Box((m, k), (0, 0)), Box((2 * n, k), (1, 0)), Box((rows, 2 * columns), (0, 1))
    each = plan.spec.b.tile.mn == 1
    b_scale = Box((2 * b_scales,), (1,)) if each else Box((b_scales,), (0,))
    return Boxes(a, b, Box((m,), (0,)), b_scale, out)


def _descriptor(tensor: "torch.Tensor", box: Box) -> object:
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    layout = box.layout(str(tensor.dtype).removeprefix("torch."))
    if len(box.shape) == 1:
        return TensorDescriptor(tensor, [tensor.numel()], [1], list(box.shape), layout)
    return TensorDescriptor(tensor, list(tensor.shape), [tensor.stride(0), 1], list(box.shape), layout)
