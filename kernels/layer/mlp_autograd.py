"""run_mlp: y = h · w_downᵀ, h = silu(gate) · up, [gate, up] = x · w_gate_upᵀ, and its gradients.

The way there keeps for the way back: the copies of x and h for Wgrad, those of both weights for Dgrad, and
gate_up in bf16, of which SwiGLU's gradient is computed. h itself is never stored unless a matmul reads bf16.
"""

from typing import Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable

from kernels.layer.autograd import autocast, flattened
from kernels.layer.calls import Calls, calls_for
from kernels.layer.carried import DY, Carried, W, X
from kernels.layer.copies import marks_of, restored, saved
from kernels.layer.matmuls import Copies, cast, copies, dgrad, wgrad
from kernels.layer.plan import LayerPlan, TensorPlan

_BETWEEN = torch.bfloat16
"""The dtype between the two layers: that of gate_up and of h's gradient."""


class Block(NamedTuple):
    """What a step of the block needs beside its tensors; `up` and `down` are carried by its two layers."""

    plan: LayerPlan
    calls: Calls
    up: Carried
    down: Carried


def run_mlp(
    x: torch.Tensor,
    weights: tuple[torch.Tensor, torch.Tensor],
    plan: LayerPlan,
    carried: tuple[Carried, Carried],
    kept: tuple[Copies | None, Copies | None],
) -> torch.Tensor:
    """y[..., in] of operands that were checked. weights: gate_up's [2 · hidden, in] and down's [in, hidden].

    kept: both copies of each weight, where they were made before.
    """
    x = autocast(x)
    flat, grads = flattened(x), torch.is_grad_enabled()
    block = Block(plan, calls_for(plan, x, *weights), *carried)
    to_x, to_up, to_down = (grads and each.requires_grad for each in (x, *weights))
    with torch.no_grad():
        of_x = copies(flat, plan, plan.x, block.calls, block.up, (X, True, to_up))
        of_up = kept[0] or copies(weights[0], plan, plan.w, block.calls, block.up, (W, True, to_x))
        of_down = kept[1] or copies(
            weights[1], plan, plan.w, block.calls, block.down, (W, True, to_x or to_up)
        )
        if not (to_x or to_up or to_down):
            y = _forward(flat, block, of_x, of_up, of_down, keep_h=False)[0]
    if to_x or to_up or to_down:
        y = _SwigluMlp.apply(flat, *weights, block, of_x, of_up, of_down)
    return y if x.ndim == 2 else y.view(*x.shape[:-1], weights[1].shape[0])


def _forward(
    x: torch.Tensor, block: Block, of_x: Copies, of_up: Copies, of_down: Copies, *, keep_h: bool
) -> tuple[torch.Tensor, torch.Tensor, Copies]:
    """y, gate_up and the copies of h. keep_h: that for Wgrad is wanted, too."""
    plan, calls = block.plan, block.calls
    gate_up = calls.gemm(of_x[0], of_up[0], x.shape[1], plan.key, "fprop", plan.emulate, _BETWEEN)
    gate_up = cast(gate_up, _BETWEEN)
    of_h = _swiglu(gate_up, None, block, plan.x, block.down, (X, True, keep_h))
    hidden = gate_up.shape[1] // 2
    y = calls.gemm(of_h[0], of_down[0], hidden, plan.key, "fprop", plan.emulate, x.dtype)
    return cast(y, x.dtype), gate_up, of_h


def _swiglu(
    gate_up: torch.Tensor,
    dh: torch.Tensor | None,
    block: Block,
    tensor: TensorPlan,
    carried: Carried,
    wanted: tuple[int, bool, bool],
) -> Copies:
    """What the readers of h are given, or those of gate_up's gradient where dh is given.

    `carried` is that of the layer that reads it. `wanted`: as kernels.layer.matmuls.copies has it.
    """
    row, for_first, for_second = wanted
    history = None if carried.history is None else carried.history[row]
    before = None if history is None else history.view(torch.float32)
    plan = block.plan
    made = block.calls.swiglu(
        gate_up, dh, plan.key, for_first, for_second, carried.seeds, before, plan.emulate
    )
    if history is not None and carried.recording:
        block.calls.record(history, made[-1])
    # A reading in bf16 is given the tensor itself, which is one more part.
    counts = tensor.wholes if block.calls.whole else tensor.parts
    first, second = (max(count, 1) for count in counts)
    at = first if for_first else 0
    return made[:first] if for_first else [], made[at : at + second] if for_second else []


class _SwigluMlp(torch.autograd.Function):
    """y of x [tokens, in] and both weights. Gradients go to all three; numbers come from their copies."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        w_up: torch.Tensor,
        w_down: torch.Tensor,
        block: Block,
        of_x: Copies,
        of_up: Copies,
        of_down: Copies,
    ) -> torch.Tensor:
        y, gate_up, of_h = _forward(x, block, of_x, of_up, of_down, keep_h=ctx.needs_input_grad[2])
        held = [*of_x[1], *of_up[1], *of_h[1], *of_down[1]]
        tensors, ctx.forms = saved(held)
        ctx.save_for_backward(gate_up, *tensors)
        ctx.marks = marks_of(tensors, ctx.forms)
        ctx.block, ctx.dtypes = block, (x.dtype, w_up.dtype, w_down.dtype)
        ctx.counts = len(of_x[1]), len(of_up[1]), len(of_h[1])
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        block, dtypes = ctx.block, ctx.dtypes
        plan, calls = block.plan, block.calls
        to_x, to_up, to_down = ctx.needs_input_grad[:3]
        gate_up, *tensors = ctx.saved_tensors
        held = restored(tensors, ctx.forms, ctx.marks)
        ends = [sum(ctx.counts[: place + 1]) for place in range(len(ctx.counts))]
        of_x, of_up, of_h, of_down = (
            held[start:end] for start, end in zip((0, *ends), (*ends, len(held)), strict=True)
        )
        tokens = dy.shape[0]
        for_dgrad, for_wgrad = copies(dy, plan, plan.dy, calls, block.down, (DY, to_x or to_up, to_down))
        dx = dw_up = dw_down = None
        if to_down:
            grad = block.down.main_grad
            dw_down = wgrad(for_wgrad, of_h, plan, calls, tokens, dtypes[2], grad)
        if to_x or to_up:
            dh = dgrad(for_dgrad, of_down, plan, calls, dy.shape[1], _BETWEEN)
            for_dgrad, for_wgrad = _swiglu(gate_up, dh, block, plan.dy, block.up, (DY, to_x, to_up))
        if to_x:
            dx = dgrad(for_dgrad, of_up, plan, calls, gate_up.shape[1], dtypes[0])
        if to_up:
            dw_up = wgrad(for_wgrad, of_x, plan, calls, tokens, dtypes[1], block.up.main_grad)
        return dx, dw_up, dw_down, None, None, None, None
