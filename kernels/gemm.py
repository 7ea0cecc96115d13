"""The GEMM launcher: two quantized operands and a plan become one kernel launch."""

from typing import TYPE_CHECKING

from fp8core.formats import FORMATS, Format
from kernels.device import DeviceKind, current_device, on_device_of
from kernels.plan import GemmPlan, Kernel, ScaleAt, decode_shift
from kernels.quantize import QuantizedTensor, check_place

if TYPE_CHECKING:
    import torch


def gemm(
    a: QuantizedTensor,
    b: QuantizedTensor,
    plan: GemmPlan,
    *,
    out: "torch.Tensor | None" = None,
    accumulate: bool = False,
) -> "torch.Tensor":
    """D[M, N] = A[M, K] · B[N, K]ᵀ of the values that codes and scales stand for, in the plan's out format.

    `out` [M, N], any strides, is written and returned; `accumulate` adds the product into an fp32 `out`.
    Raises ValueError for operands that differ from the plan, from each other or from `out`; NoTriton.
    """
    import torch

    kind = current_device().kind
    m, n, k = check_operands(a, b, plan, kind)
    if out is None:
        if accumulate:
            raise ValueError("accumulate adds into out, and none was given")
        out = torch.empty((m, n), dtype=torch_dtype(plan.spec.out), device=a.codes.device)
    else:
        _check_out(out, (m, n), plan, accumulate, a)
    if not k and not accumulate:
        out.zero_()
    if out.numel() and k:
        with on_device_of(out):
            _launch(a, b, plan, out, (m, n, k), accumulate, kind)
    return out


def torch_dtype(format_: Format) -> "torch.dtype":
    """torch's dtype of an output format, bf16 or fp32."""
    import torch

    return {"bf16": torch.bfloat16, "fp32": torch.float32}[format_.name]


def check_operands(
    a: QuantizedTensor, b: QuantizedTensor, plan: GemmPlan, kind: DeviceKind
) -> tuple[int, int, int]:
    """(M, N, K) of operands that fit the plan and each other. Raises ValueError where they do not."""
    for name, operand, spec in (("A", a, plan.spec.a), ("B", b, plan.spec.b)):
        if operand.spec != spec:
            raise ValueError(
                f"{name} was quantized as {operand.spec.format.name} {operand.spec.tile}, "
                f"the plan needs {spec.format.name} {spec.tile} of the same scale rule"
            )
        check_place(operand.codes, kind, name)
    (m, k), (n, b_k) = a.operand_codes.shape, b.operand_codes.shape
    if k != b_k:
        raise ValueError(f"A[M, K] and B[N, K] need one K, got A {m} × {k} and B {n} × {b_k}")
    if a.codes.device != b.codes.device:
        raise ValueError(f"A and B need one device, got {a.codes.device} and {b.codes.device}")
    return m, n, k


def _check_out(
    out: "torch.Tensor", shape: tuple[int, int], plan: GemmPlan, accumulate: bool, a: QuantizedTensor
) -> None:
    need = torch_dtype(plan.spec.out)
    if tuple(out.shape) != shape or out.dtype != need or out.device != a.codes.device:
        raise ValueError(
            f"out needs to be {need} of shape {shape} on {a.codes.device}, "
            f"got {out.dtype} of shape {tuple(out.shape)} on {out.device}"
        )
    if accumulate and plan.spec.out != FORMATS["fp32"]:
        raise ValueError(f"accumulate needs an fp32 out, and this plan writes {plan.spec.out.name}")


def _launch(
    a: QuantizedTensor,
    b: QuantizedTensor,
    plan: GemmPlan,
    out: "torch.Tensor",
    mnk: tuple[int, int, int],
    accumulate: bool,
    kind: DeviceKind,
) -> None:
    from kernels import gemm_kernel

    kernel = {
        Kernel.FP8: gemm_kernel.fp8_gemm_kernel,
        Kernel.DEQUANTIZED: gemm_kernel.dequantized_gemm_kernel,
        Kernel.NATIVE_MX: gemm_kernel.native_mx_gemm_kernel,
    }[plan.kernel]
    blocks = -(-mnk[0] // plan.block_m) * -(-mnk[1] // plan.block_n)
    kernel[(blocks,)](
        _descriptor(a, plan.block_m, plan),
        _descriptor(b, plan.block_n, plan),
        a.scale,
        b.scale,
        out,
        *mnk,
        a.operand_scale.stride(1),
        b.operand_scale.stride(1),
        out.stride(0),
        out.stride(1),
        **kernel_constants(plan, mnk[2], accumulate=accumulate, kind=kind),
        num_warps=plan.warps,
        num_stages=plan.stages,
    )


def _descriptor(operand: QuantizedTensor, block_mn: int, plan: GemmPlan) -> object:
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    codes = operand.operand_codes
    if plan.kernel is Kernel.DEQUANTIZED:
        codes = codes.view(torch.uint8)
    return TensorDescriptor(codes, list(codes.shape), [codes.stride(0), 1], [block_mn, plan.block_k])


def kernel_constants(plan: GemmPlan, k: int, *, accumulate: bool, kind: DeviceKind) -> dict[str, object]:
    """The constexpr arguments of the plan's kernel.

    The interpreter is told the number of steps along K: its loops do not take a tensor in every version.
    """
    constants: dict[str, object] = {
        "ACCUMULATE": accumulate,
        "BLOCK_M": plan.block_m,
        "BLOCK_N": plan.block_n,
        "BLOCK_K": plan.block_k,
        "GROUP_M": plan.group_m,
    }
    a, b = plan.spec.a, plan.spec.b
    if plan.kernel is Kernel.NATIVE_MX:
        return constants | {"TILE_K": a.tile.k, "A_FORMAT": a.format.name, "B_FORMAT": b.format.name}
    constants |= {
        "A_TILE_MN": a.tile.mn or 0,
        "A_TILE_K": a.tile.k or 0,
        "B_TILE_MN": b.tile.mn or 0,
        "B_TILE_K": b.tile.k or 0,
        "CAST": kind is DeviceKind.GPU,
        "KNOWN_STEPS": 0 if kind is DeviceKind.GPU else -(-k // plan.block_k),
    }
    if plan.kernel is Kernel.DEQUANTIZED:
        for side, operand in (("A", a), ("B", b)):
            shift, factor = decode_shift(operand.format, FORMATS["bf16"])
            constants |= {f"{side}_SHIFT": shift, f"{side}_FACTOR": factor}
        return constants
    return constants | {
        "SCALE_IN_LOOP": plan.scale_at is ScaleAt.K_LOOP,
        "PROMOTED": plan.scale_at is ScaleAt.EPILOGUE and plan.promotion is not None,
    }
