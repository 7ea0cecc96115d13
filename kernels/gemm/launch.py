"""The GEMM launcher: two quantized operands are checked, go through a plan's passes, and are given to the
launcher of its body.
"""

from typing import TYPE_CHECKING

from fp8core.formats import FORMATS, FloatFormat
from fp8core.recipes import MatmulSpec
from kernels.device import DeviceKind, Unsupported, current_device, launching
from kernels.gemm.blocks import Body
from kernels.gemm.bodies import launcher
from kernels.gemm.factor import Factor
from kernels.gemm.meaning import Arithmetic, Summation
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.operand_passes.dequantize import dequantize
from kernels.operand_passes.refold import refold
from kernels.quantize.launch import QuantizedTensor, check_place

if TYPE_CHECKING:
    import torch


def gemm(
    a: QuantizedTensor,
    b: QuantizedTensor,
    plan: GemmPlan | MatmulSpec,
    *,
    out: "torch.Tensor | None" = None,
    accumulate: bool = False,
) -> "torch.Tensor":
    """D[M, N] = A[M, K] · B[N, K]ᵀ of the values that codes and scales stand for, in the plan's out format.

    A recipe's spec of the matmul stands for the fastest plan that sums as it says. `out` [M, N], any strides,
    is written and returned; `accumulate` adds the product into an fp32 `out`.
    Raises ValueError for operands that differ from the plan, from each other or from `out`; NoTriton;
    Unsupported for a spec that no kernel carries out here.
    """
    import torch

    kind = current_device().kind
    plan = _planned(plan, a, b) if isinstance(plan, MatmulSpec) else plan
    m, n, k = check_operands(a, b, plan, kind)
    if out is None:
        if accumulate:
            raise ValueError("accumulate adds into out, and none was given")
        out = torch.empty((m, n), dtype=torch_dtype(plan.meaning.spec.out), device=a.codes.device)
    else:
        _check_out(out, (m, n), plan, accumulate, a)
    if not k and not accumulate:
        out.zero_()
    if out.numel() and k:
        with launching(out):
            launch(a, b, plan, out, accumulate, kind)
    return out


def _planned(spec: MatmulSpec, a: QuantizedTensor, b: QuantizedTensor) -> GemmPlan:
    """The fastest plan for these operands on the current device. Raises Unsupported where there is none."""
    (m, k), (n, _) = a.operand_codes.shape, b.operand_codes.shape
    plan = plan_gemm(spec, (m, n, k), current_device(), Summation.RECIPE)
    if isinstance(plan, Unsupported):
        raise plan
    return plan


def torch_dtype(format_: FloatFormat) -> "torch.dtype":
    """torch's dtype of an output format, bf16 or fp32."""
    import torch

    return {"bf16": torch.bfloat16, "fp32": torch.float32}[format_.name]


def check_operands(
    a: QuantizedTensor, b: QuantizedTensor, plan: GemmPlan, kind: DeviceKind
) -> tuple[int, int, int]:
    """(M, N, K) of operands that fit the plan and each other. Raises ValueError where they do not."""
    for name, operand, spec in (("A", a, plan.meaning.operands.a), ("B", b, plan.meaning.operands.b)):
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
    need = torch_dtype(plan.meaning.spec.out)
    if tuple(out.shape) != shape or out.dtype != need or out.device != a.codes.device:
        raise ValueError(
            f"out needs to be {need} of shape {shape} on {a.codes.device}, "
            f"got {out.dtype} of shape {tuple(out.shape)} on {out.device}"
        )
    if accumulate and plan.meaning.spec.out != FORMATS["fp32"]:
        raise ValueError(f"accumulate needs an fp32 out, and this plan writes {plan.meaning.spec.out.name}")


def launch(
    a: QuantizedTensor,
    b: QuantizedTensor,
    plan: GemmPlan,
    out: "torch.Tensor",
    accumulate: bool,
    kind: DeviceKind,
) -> object:
    """Run the plan on operands that were checked and are not empty; Triton's handle of what ran."""
    a, b = as_planned(plan, a, b)
    left, right = (Factor(x, _multiplied(x, plan, kind, side)) for side, x in (("a", a), ("b", b)))
    return launcher(plan.body)(plan, left, right, out, accumulate, kind)


def _multiplied(operand: QuantizedTensor, plan: GemmPlan, kind: DeviceKind, side: str) -> "torch.Tensor":
    """[mn, K]: what the kernel is given. That is the codes; under a dequantizing plan the values, or uint8
    codes where the kernel decodes them itself.

    The interpreter decodes e5m2's subnormals wrongly (Triton 3.6 to 3.9), so there torch decodes the codes.
    """
    import torch

    if side in plan.blocks.decoded:
        return operand.operand_codes.view(torch.uint8)
    if plan.meaning.arithmetic is Arithmetic.DEQUANTIZED:
        return dequantize(operand, kind, paired=plan.body is Body.DECODING)
    if kind is DeviceKind.INTERPRETER:
        return operand.padded_codes.float()[:, : operand.operand_codes.shape[1]]
    return operand.operand_codes


def as_planned(
    plan: GemmPlan, a: QuantizedTensor, b: QuantizedTensor
) -> tuple[QuantizedTensor, QuantizedTensor]:
    """What a plan's kernel multiplies of the operands that gemm is given: themselves, or refolded."""
    return (
        (refold(a, plan.meaning.spec.a.tile), refold(b, plan.meaning.spec.b.tile))
        if plan.meaning.refolded_from
        else (a, b)
    )
