"""gemm: check two operands, plan, run the passes, and call the launcher of the plan's variant.

The first call for a layout does all of that; later calls repeat its launches (kernels.launching).
"""

from collections.abc import Hashable
from typing import TYPE_CHECKING

from fp8core.formats import FORMATS, FloatFormat
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec, OperandSpec
from kernels.device import DeviceKind, Unsupported, current_device, launch_context
from kernels.gemm.block_scaled import NativeKind
from kernels.gemm.blocks import Variant
from kernels.gemm.factor import Factor, GemmOperand
from kernels.gemm.hopper.decoding.blocks import values_order
from kernels.gemm.numerics import Arithmetic, Summation
from kernels.gemm.passes.decode import read_as
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.gemm.variants import launcher
from kernels.launching.cache import LaunchCache, layout_key, refuse_gradient, token
from kernels.launching.launch import empty
from kernels.quantize.quantize import check_device
from kernels.quantize.tensor import QuantizedTensor

if TYPE_CHECKING:
    import torch

LAUNCHES = LaunchCache()
"""Launches of calls of `gemm`, by the plan and the layouts of their tensors."""


def gemm(
    a: GemmOperand,
    b: GemmOperand,
    plan: GemmPlan | MatmulSpec,
    *,
    out: "torch.Tensor | None" = None,
    accumulate: bool = False,
) -> "torch.Tensor":
    """D[M, N] = A[M, K] · B[N, K]ᵀ of the values that codes and scales stand for, in the plan's out format.

    A recipe's spec of the matmul stands for its fastest plan. An operand that the spec leaves in bf16 is a
    bfloat16 tensor [M, K] or [N, K] of any strides. `out` [M, N], any strides, is written and returned;
    `accumulate` adds the product into an fp32 `out`. Raises ValueError for operands that differ from the
    plan, from each other or from `out`, and for a tensor that requires grad while autograd is on; NoTriton;
    Unsupported for a spec that no kernel carries out here.
    """
    key = token(plan), layout_of(a), layout_of(b), layout_key(out), accumulate
    launches = LAUNCHES.get(key)
    tensors = (*tensors_of(a), *tensors_of(b), *([] if out is None else [out]))
    refuse_gradient("gemm", a=memory(a), b=memory(b), out=out)
    if launches is not None:
        return launches(tensors)
    return LAUNCHES.trace(key, tensors, (), lambda: _first_call(a, b, plan, out, accumulate))


def _first_call(
    a: GemmOperand, b: GemmOperand, plan: GemmPlan | MatmulSpec, out: "torch.Tensor | None", accumulate: bool
) -> "torch.Tensor":
    with launch_context(memory(a)):
        kind = current_device().kind
        if isinstance(plan, MatmulSpec):
            (m, k), (n, _) = operand_shape(a), operand_shape(b)
            plan = plan_gemm(plan, (m, n, k), current_device(), Summation.RECIPE)
        if isinstance(plan, Unsupported):
            raise plan
        m, n, k = check_operands(a, b, plan, kind)
        if out is None:
            if accumulate:
                raise ValueError("accumulate adds into out, and none was given")
            out = empty((m, n), torch_dtype(plan.numerics.spec.out), memory(a).device)
        else:
            check_out(out, (m, n), plan, accumulate, memory(a).device)
        if not k and not accumulate:
            out.zero_()  # no launch list: operands without elements have none
        if out.numel() and k:
            launch(a, b, plan, out, accumulate, kind)
        return out


def layout_of(operand: GemmOperand) -> Hashable:
    return operand.layout if isinstance(operand, QuantizedTensor) else layout_key(operand)


def tensors_of(operand: GemmOperand) -> "tuple[torch.Tensor, ...]":
    return operand.tensors if isinstance(operand, QuantizedTensor) else (operand,)


def operand_shape(operand: GemmOperand) -> tuple[int, int]:
    return operand.operand_shape if isinstance(operand, QuantizedTensor) else tuple(operand.shape)


def memory(operand: GemmOperand) -> "torch.Tensor":
    """A tensor in the memory of an operand: its codes, or itself."""
    return operand.codes if isinstance(operand, QuantizedTensor) else operand


def torch_dtype(format_: FloatFormat) -> "torch.dtype":
    import torch

    return {"bf16": torch.bfloat16, "fp32": torch.float32}[format_.name]


def check_operands(a: GemmOperand, b: GemmOperand, plan: GemmPlan, kind: DeviceKind) -> tuple[int, int, int]:
    """(M, N, K) of operands that fit the plan and each other. Raises ValueError for others."""
    for name, operand, spec in (("A", a, plan.numerics.operands.a), ("B", b, plan.numerics.operands.b)):
        _check_operand(name, operand, spec)
        check_device(memory(operand), kind, name)
    (m, k), (n, b_k) = operand_shape(a), operand_shape(b)
    if k != b_k:
        raise ValueError(f"A[M, K] and B[N, K] need one K, got A {m} × {k} and B {n} × {b_k}")
    devices = memory(a).device, memory(b).device
    if devices[0] != devices[1]:
        raise ValueError(f"A and B need one device, got {devices[0]} and {devices[1]}")
    return m, n, k


def _check_operand(name: str, operand: GemmOperand, spec: OperandSpec | None) -> None:
    need = "bf16" if spec is None else f"{spec.format.name} {spec.tile}"
    if isinstance(operand, QuantizedTensor):
        if operand.spec != spec:
            same = "" if spec is None else " of the same scale rule"
            own = f"{operand.spec.format.name} {operand.spec.tile}"
            raise ValueError(f"{name} was quantized as {own}, the plan needs {need}{same}")
        return
    dtype = str(operand.dtype).removeprefix("torch.")
    if spec is not None:
        raise ValueError(f"{name} came as {dtype}, the plan needs it quantized as {need}")
    if dtype != "bfloat16" or operand.ndim != 2:
        raise ValueError(f"{name} stays bfloat16 [rows, K], got {dtype} of shape {tuple(operand.shape)}")


def check_out(
    out: "torch.Tensor", shape: tuple[int, int], plan: GemmPlan, accumulate: bool, device: "torch.device"
) -> None:
    need = torch_dtype(plan.numerics.spec.out)
    if tuple(out.shape) != shape or out.dtype != need or out.device != device:
        raise ValueError(
            f"out needs to be {need} of shape {shape} on {device}, "
            f"got {out.dtype} of shape {tuple(out.shape)} on {out.device}"
        )
    if accumulate and plan.numerics.spec.out != FORMATS["fp32"]:
        raise ValueError(f"accumulate needs an fp32 out, and this plan writes {plan.numerics.spec.out.name}")


def launch(
    a: GemmOperand, b: GemmOperand, plan: GemmPlan, out: "torch.Tensor", accumulate: bool, kind: DeviceKind
) -> object:
    """Run the plan on operands that were checked and are not empty; returns Triton's handle."""
    a, b = as_planned(plan, a, b)
    left, right = (factor(x, plan, kind, side) for side, x in ((Side.A, a), (Side.B, b)))
    return launcher(plan.variant)(plan, left, right, out, accumulate, kind)


def factor(operand: GemmOperand, plan: GemmPlan, kind: DeviceKind, side: Side) -> Factor:
    matrix = _kernel_matrix(operand, plan, kind, side)
    quantized = operand if isinstance(operand, QuantizedTensor) else None
    return Factor(side=side, numerics=plan.numerics, quantized=quantized, matrix=matrix)


def _kernel_matrix(operand: GemmOperand, plan: GemmPlan, kind: DeviceKind, side: Side) -> "torch.Tensor":
    """[mn, K] as the kernel reads it: codes, bf16 values of a dequantizing plan, or bytes that it decodes.

    The interpreter decodes e5m2's subnormals wrongly (Triton 3.6 to 3.9), so there torch decodes the codes.
    """
    import torch

    from kernels.gemm.passes.dequantize import dequantize, laid_out
    from kernels.gemm.passes.widen import widened_codes

    decoding = plan.variant is Variant.DECODING
    order = values_order(plan.numerics, plan.blocks) if decoding else 0
    if not isinstance(operand, QuantizedTensor):
        mn_major = plan.variant is Variant.CHAINED
        return laid_out(operand, kind, order, by_pointers=not plan.blocks.tma, mn_major=mn_major)
    spec = operand.spec
    if plan.blocks.decodes(side):
        if read_as(spec) == spec or not decoding:
            return operand.operand_bytes
        return widened_codes(operand.operand_bytes, spec.format, NativeKind.MXF8F6F4).view(torch.uint8)
    if plan.numerics.arithmetic is Arithmetic.NATIVE_MX:
        return widened_codes(operand.padded_codes, spec.format, plan.numerics.native)
    if plan.numerics.arithmetic is Arithmetic.DEQUANTIZED:
        return dequantize(operand, kind, on_codes=plan.numerics.on_codes(side), order=order)
    if kind is DeviceKind.INTERPRETER:
        return operand.padded_codes.float()[:, : operand.operand_shape[1]]
    return operand.operand_codes


def as_planned(plan: GemmPlan, a: GemmOperand, b: GemmOperand) -> tuple[GemmOperand, GemmOperand]:
    if not plan.numerics.refolded_from:
        return a, b
    from kernels.gemm.passes.refold import refold

    return refold(a, plan.numerics.spec.a.tile), refold(b, plan.numerics.spec.b.tile)
