"""run_mlp: a SwigluMlp's output, and its gradients.

Called from Python, each way is a tape. Under torch.compile, and where somebody listens to operators, the
steps are called one after the other.
"""

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from kernels.layer.autograd import autocast, flattened
from kernels.layer.calls import PYTHON, calls_for
from kernels.layer.carried import Carried
from kernels.layer.copies import marks_of, restored, saved
from kernels.layer.matmuls import Copies
from kernels.layer.mlp.step import Block, Wanted, backward, forward, quantized
from kernels.layer.mlp.taped import taped_mlp
from kernels.layer.plan import LayerPlan


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
    run = taped_mlp if block.calls is PYTHON else _called
    y = run(flat, weights, block, kept, (to_x, to_up, to_down))
    return y if x.ndim == 2 else y.view(*x.shape[:-1], weights[1].shape[0])


def _called(
    x: torch.Tensor,
    weights: tuple[torch.Tensor, torch.Tensor],
    block: Block,
    kept: tuple[Copies | None, Copies | None],
    wanted: Wanted,
) -> torch.Tensor:
    """y by functions that are called one after the other."""
    to_x, to_up, to_down = wanted
    with torch.no_grad():
        made = quantized(x, weights, block, kept, wanted)
        if not (to_x or to_up or to_down):
            return forward(x, block, made, keep_h=False)[0]
    return _SwigluMlp.apply(x, *weights, block, made)


class _SwigluMlp(torch.autograd.Function):
    """y of x [tokens, in] and both weights. Gradients go to all three; numbers come from their copies."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        w_up: torch.Tensor,
        w_down: torch.Tensor,
        block: Block,
        made: tuple[Copies, Copies, Copies],
    ) -> torch.Tensor:
        y, gate_up, of_h = forward(x, block, made, keep_h=ctx.needs_input_grad[2])
        groups = [*(copies[1] for copies in made), [gate_up], of_h[1]]
        tensors, ctx.forms = saved([each for group in groups for each in group])
        ctx.save_for_backward(*tensors)
        ctx.marks = marks_of(tensors, ctx.forms)
        ctx.block, ctx.dtypes = block, (x.dtype, w_up.dtype, w_down.dtype)
        ctx.counts = [len(group) for group in groups]
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        held = restored(ctx.saved_tensors, ctx.forms, ctx.marks)
        ends = [sum(ctx.counts[: place + 1]) for place in range(len(ctx.counts))]
        groups = [held[start:end] for start, end in zip((0, *ends), ends, strict=False)]
        return *backward(dy, ctx.block, groups, ctx.dtypes, ctx.needs_input_grad[:3]), None, None
