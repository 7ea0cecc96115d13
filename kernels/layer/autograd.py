"""linear: y = x · wᵀ + bias in a recipe, and its gradients.

The way there quantizes x and w for all their readers, and keeps what the way back reads: the copy of x for
Wgrad and that of w for Dgrad. x itself is let go. The way back quantizes dy for Dgrad and for Wgrad.
"""

from math import prod
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from fp8core.recipes import Recipe
from kernels.layer.calls import PYTHON, Calls, calls_for
from kernels.layer.carried import DY, Carried, W, X, drawn_seed, main_grad_of, step_seeds
from kernels.layer.checks import check_operands
from kernels.layer.copies import marks_of, restored, saved
from kernels.layer.matmuls import Copies, cast, copies, dgrad, fprop, wgrad
from kernels.layer.plan import LayerPlan, layer_plan
from kernels.layer.taped import taped


def linear(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None = None,
    recipe: str | Recipe = "deepseek_v3",
    *,
    emulate: bool = False,
    seed: int | None = None,
) -> torch.Tensor:
    """y[..., out] = x[..., in] · w[out, in]ᵀ + bias[out]; this matmul and those of its gradients in a recipe.

    - x, w: bfloat16, float16 or float32. y and dx have x's dtype, dw has w's. Under autocast x is cast first.
    - emulate: compute by the reference's rules, on any machine and for every recipe; slow.
    - seed: of stochastic rounding, from 0 on; operand_seed says which one an operand has. Left out, torch's
      generator draws it. Recipes without random rounding leave it alone.

    Where w.main_grad is float32, dw is added to it and w.grad stays None. A delayed scale has no earlier
    steps here: a Float8Linear keeps them. Raises ValueError for other shapes, dtypes and recipes; Unsupported
    for a recipe or a machine without kernels.
    """
    plan = _PLANS[_met(recipe, emulate), emulate]
    check_operands(x, w, bias)
    seeds = step_seeds(drawn_seed() if seed is None else seed, x.device) if plan.is_random else None
    return run(x, w, bias, plan, Carried(seeds=seeds, main_grad=main_grad_of(w)))


_PLANS: dict[tuple[str, bool], LayerPlan] = {}
"""Plans that `linear` has met, by key: torch.compile reads them here, and follows no code that makes one."""


@torch.compiler.assume_constant_result
def _met(recipe: str | Recipe, emulate: bool) -> str:
    """The key of a recipe's plan, which is among _PLANS from now on."""
    plan = layer_plan(recipe, emulate)
    _PLANS[plan.key, emulate] = plan
    return plan.key


def run(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None,
    plan: LayerPlan,
    carried: Carried,
    kept: Copies | None = None,
) -> torch.Tensor:
    """y of operands that were checked. `kept`: both copies of w, where they were made before."""
    x = autocast(x)
    flat = flattened(x)
    grads, calls = torch.is_grad_enabled(), calls_for(plan, x, w)
    to_x, to_w = grads and x.requires_grad, grads and w.requires_grad
    if calls is PYTHON:
        y = taped(flat, w, plan, carried, kept, (to_x, to_w))
    else:
        y = _called(flat, w, plan, calls, carried, kept, (to_x, to_w))
    if bias is not None:
        y = y + cast(bias, y.dtype)
    return y if x.ndim == 2 else y.view(*x.shape[:-1], w.shape[0])


def _called(
    x: torch.Tensor,
    w: torch.Tensor,
    plan: LayerPlan,
    calls: Calls,
    carried: Carried,
    kept: Copies | None,
    wanted: tuple[bool, bool],
) -> torch.Tensor:
    """y by functions that are called one after the other. `wanted`: a gradient goes to x, one goes to w."""
    to_x, to_w = wanted
    with torch.no_grad():
        of_x = copies(x, plan, plan.x, calls, carried, (X, True, to_w))
        of_w = kept or copies(w, plan, plan.w, calls, carried, (W, True, to_x))
        if not (to_x or to_w):
            return fprop(of_x, of_w, plan, calls, x)
    return _Linear.apply(x, w, plan, calls, carried, of_x, of_w)


def autocast(x: torch.Tensor) -> torch.Tensor:
    """x in the dtype that autocast asks for, where it does."""
    if x.is_meta or not torch.is_autocast_enabled(x.device.type):
        return x
    return cast(x, torch.get_autocast_dtype(x.device.type))


def flattened(x: torch.Tensor) -> torch.Tensor:
    """[tokens, in] of x [..., in]."""
    return x if x.ndim == 2 else x.reshape(prod(x.shape[:-1]), x.shape[-1])


class _Linear(torch.autograd.Function):
    """y of x [tokens, in] and w [out, in]. Gradients go to both; numbers come from their copies."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        w: torch.Tensor,
        plan: LayerPlan,
        calls: Calls,
        carried: Carried,
        of_x: Copies,
        of_w: Copies,
    ) -> torch.Tensor:
        tensors, ctx.forms = saved([*of_x[1], *of_w[1]])
        ctx.save_for_backward(*tensors)
        ctx.marks = marks_of(tensors, ctx.forms)
        ctx.plan, ctx.calls, ctx.carried = plan, calls, carried
        ctx.dtypes, ctx.of_x = (x.dtype, w.dtype), len(of_x[1])
        return fprop(of_x, of_w, plan, calls, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        plan, calls = ctx.plan, ctx.calls
        to_x, to_w = ctx.needs_input_grad[:2]
        held = restored(ctx.saved_tensors, ctx.forms, ctx.marks)
        of_x, of_w = held[: ctx.of_x], held[ctx.of_x :]
        for_dgrad, for_wgrad = copies(dy, plan, plan.dy, calls, ctx.carried, (DY, to_x, to_w))
        (tokens, out), dtypes = dy.shape, ctx.dtypes
        dx = dgrad(for_dgrad, of_w, plan, calls, out, dtypes[0]) if to_x else None
        dw = wgrad(for_wgrad, of_x, plan, calls, tokens, dtypes[1], ctx.carried.main_grad) if to_w else None
        return dx, dw, None, None, None, None, None
