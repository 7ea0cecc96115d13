"""`gemm_quantizing_a`: multiply an A that is quantized while it is loaded."""

from operator import itemgetter
from typing import TYPE_CHECKING

from fp8core.linear import Side
from fp8core.recipes import MatmulSpec
from kernels.device import DeviceKind, Unsupported, current_device, launching
from kernels.gemm.factor import Factor
from kernels.gemm.fused.into import facts_of
from kernels.gemm.fused.quantizing import plan_quantizing, quantizing_refusal, unfit
from kernels.gemm.fused.quantizing_launch import launch_quantizing
from kernels.gemm.fused.simple_launch import launch_simple
from kernels.gemm.launch import check_out, check_quantized, factor, torch_dtype
from kernels.gemm.plan import GemmPlan
from kernels.launching.gradients import refuse_gradient
from kernels.launching.tokens import layout, token
from kernels.launching.warm import Done, Warm
from kernels.operand_passes.bf16 import laid_out
from kernels.quantize.launch import check_place
from kernels.quantize.tensor import QuantizedTensor

if TYPE_CHECKING:
    import torch

TAPES = Warm()
"""What calls of `gemm_quantizing_a` left, by the plan and the layouts of their tensors."""


def gemm_quantizing_a(
    x: "torch.Tensor",
    b: QuantizedTensor,
    plan: GemmPlan | MatmulSpec,
    *,
    out: "torch.Tensor | None" = None,
) -> "torch.Tensor":
    """gemm(quantize(x), b), bit for bit where K is cut alike, in one kernel: A's codes never lie in memory.

    x: bfloat16 [M, K], any strides. It is quantized along K as the spec has it for A, in tiles of 1×128 or
    1×32, by each program that needs its rows. So it saves the memory of codes, and not time: on an H200 it is
    as fast as two kernels for a few tokens, and slower for many. `out` [M, N] is written and returned.

    Raises ValueError for operands that differ from the plan, from each other or from `out`; NoTriton;
    Unsupported for what no kernel carries out here.
    """
    key = token(plan), layout(x), b.layout, layout(out)
    given = (x, *b.tensors) if out is None else (x, *b.tensors, out)
    refuse_gradient("gemm_quantizing_a", x=x, b=b.codes, out=out)
    tape = TAPES.get(key)
    if tape is not None:
        made = tape(given)
        return made if out is None else out

    def run() -> "Done[torch.Tensor]":
        with launching(x):
            made = _multiplied(x, b, plan, out)
        if out is not None:
            return Done(value=made, results=(), finish=_nothing)
        return Done(value=made, results=(made,), finish=itemgetter(0))

    return TAPES.record(key, given, (), run)


def _nothing(made: object) -> None:
    """A caller that gave `out` has it."""


def _multiplied(
    x: "torch.Tensor", b: QuantizedTensor, plan: GemmPlan | MatmulSpec, out: "torch.Tensor | None"
) -> "torch.Tensor":
    """Multiply, as nobody has yet: check everything, plan, and launch."""
    import torch

    device = current_device()
    if x.dtype != torch.bfloat16 or x.ndim != 2:
        raise ValueError(
            f"x is bfloat16 [M, K], got {str(x.dtype).removeprefix('torch.')} of shape {tuple(x.shape)}"
        )
    (m, k), (n, b_k) = x.shape, b.operand_shape
    if k != b_k or x.device != b.codes.device:
        raise ValueError(
            f"x[M, K] and B[N, K] need one K and one device, got {m} × {k} on {x.device} and {n} × {b_k} on "
            f"{b.codes.device}"
        )
    check_place(x, device.kind, "x")
    if isinstance(plan, MatmulSpec):
        made = plan_quantizing(plan, (m, n, k), device)
        if isinstance(made, Unsupported):
            raise made
        plan = made
    elif reason := quantizing_refusal(plan.meaning):
        raise Unsupported(reason)
    if reason := unfit(plan.blocks):
        raise ValueError(f"{reason}, got {plan.title}")
    check_quantized("B", b, plan.meaning.operands.b)
    if out is None:
        out = torch.empty((m, n), dtype=torch_dtype(plan.meaning.spec.out), device=x.device)
    else:
        check_out(out, (m, n), plan, False, x.device)
    if not k:
        out.zero_()
    if out.numel() and k:
        _launch(x, b, plan, out, device.kind)
    return out


def _launch(
    x: "torch.Tensor", b: QuantizedTensor, plan: GemmPlan, out: "torch.Tensor", kind: DeviceKind
) -> None:
    """Run the plan on operands that were checked and are not empty."""
    facts = facts_of(plan.meaning.spec.a, x.shape[1], kind)
    left = Factor(side=Side.A, meaning=plan.meaning, quantized=None, given=laid_out(x, kind))
    right = factor(b, plan, kind, Side.B)
    if plan.body.is_simple:
        launch_simple(plan, left, right, out, kind, quantizes=facts)
    else:
        launch_quantizing(plan, left, right, out, facts, kind)
