"""Steps of a layer: copies and matmuls, forward and backward. Eager calls and operators share them.

Linear  y = x · wᵀ                                  dx = dy · w, dw = dyᵀ · x
Mlp     [gate, up] = x · w_upᵀ, h = silu(gate) · up, y = h · w_downᵀ, and its gradients
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch

from fp8core.checks import whole
from fp8core.recipes import Recipe
from kernels.launching.launch import converted
from kernels.launching.trace import aligned
from kernels.layer.calls import SHAPES, Calls, Parts, Seeds, shapes_of
from kernels.layer.plan import MOST_RECIPES, PLACES, LayerPlan, Product, Readings, layer_plan

Copies = tuple[Parts, Parts]
"""A tensor for its two readers; empty for one that does not run."""
Gradients = tuple[torch.Tensor | None, ...]
"""dx, and dw of each weight; None if it was added to main_grad or nobody needs it."""
Groups = tuple[tuple[int | None, ...], ...]
BETWEEN = torch.bfloat16
NOTHING = (None, None)
_SEEDS = 1 << 62


class Call(NamedTuple):
    """Arguments of a call beside x and its weights, with an entry for each weight.

    - calls: None if an operator computes.
    - needs_grad: of x, then of each weight.
    - seeds: int64[PLACES] each, if the recipe rounds at random.
    - main_grads: float32[out, in], to which Wgrad is added in place of w.grad.
    - w_copies: copies of weights from an earlier call.
    - packs: the forward writes for the backward into one tensor. An operator returns several.
    """

    calls: Calls | None
    needs_grad: tuple[bool, ...]
    seeds: tuple[torch.Tensor, ...] = ()
    main_grads: tuple[torch.Tensor | None, ...] = NOTHING
    w_copies: tuple[Copies | None, ...] = NOTHING
    packs: bool = True

    def seed(self, layer: int) -> Seeds:
        return self.seeds[layer] if self.seeds else None

    def copies(self, x: torch.Tensor, readings: Readings, layer: int, read_by: tuple[bool, bool]) -> Copies:
        """Copies of x, or x itself in bf16, for those of its readers that run."""
        both = [*zip(readings, read_by, strict=True)]
        targets = [each for each, is_read in both if is_read and each.operand is not None]
        copies = iter(self.calls.quantize(x, targets, self.seed(layer)) if targets else ())
        first, second = (
            [] if not is_read else [converted(x, torch.bfloat16)] if each.operand is None else next(copies)
            for each, is_read in both
        )
        return first, second

    def swiglu(
        self, gate_up: torch.Tensor, dh: torch.Tensor | None, readings: Readings, read_by: tuple[bool, bool]
    ) -> Copies:
        """h, or with a dh the gradient of gate_up."""
        targets = [each for each, is_read in zip(readings, read_by, strict=True) if is_read]
        copies = iter(self.calls.swiglu(gate_up, dh, targets, self.seed(1 if dh is None else 0)))
        first, second = (next(copies) if is_read else [] for is_read in read_by)
        return first, second

    def multiply(self, product: Product, a: Parts, b: Parts, k: int, dtype: torch.dtype) -> torch.Tensor:
        return converted(self.calls.multiply(a, b, k, product, dtype), dtype)

    def wgrad(
        self, product: Product, of_dy: Parts, of_x: Parts, tokens: int, layer: int, dtype: torch.dtype
    ) -> torch.Tensor | None:
        """dw[out, in], unless it was added to main_grad."""
        main_grad = self.main_grads[layer]
        if main_grad is None:
            return self.multiply(product, of_dy, of_x, tokens, dtype)
        self.calls.multiply(of_dy, of_x, tokens, product, None, main_grad)
        return None


@dataclass(frozen=True)
class LinearSteps:
    plan: LayerPlan

    def forward(
        self, x: torch.Tensor, weights: Sequence[torch.Tensor], call: Call
    ) -> tuple[torch.Tensor, list[Parts]]:
        """y[tokens, out], and for the backward: of x, of w."""
        (w,), plan, (to_x, to_w) = weights, self.plan, call.needs_grad
        of_x = call.copies(x, plan.x, 0, (True, to_w))
        of_w = call.w_copies[0] or call.copies(w, plan.w, 0, (True, to_x))
        y = call.multiply(plan.fprop, of_x[0], of_w[0], x.shape[1], x.dtype)
        return y, [of_x[1], of_w[1] if to_x else []]

    def backward(
        self, dy: torch.Tensor, groups: Sequence[Parts], dtypes: Sequence[torch.dtype], call: Call
    ) -> Gradients:
        (of_x, of_w), plan, (to_x, to_w), (tokens, out) = groups, self.plan, call.needs_grad, dy.shape
        for_dgrad, for_wgrad = call.copies(dy, plan.dy, 0, (to_x, to_w))
        dx = call.multiply(plan.dgrad, for_dgrad, of_w, out, dtypes[0]) if to_x else None
        dw = call.wgrad(plan.wgrad, for_wgrad, of_x, tokens, 0, dtypes[1]) if to_w else None
        return dx, dw


@dataclass(frozen=True)
class MlpSteps:
    plan: LayerPlan

    def forward(
        self, x: torch.Tensor, weights: Sequence[torch.Tensor], call: Call
    ) -> tuple[torch.Tensor, list[Parts]]:
        """y[tokens, in], and for the backward: of x, of both weights, gate_up, of h."""
        plan, (up, down), (to_x, to_up, to_down) = self.plan, weights, call.needs_grad
        to_h = to_x or to_up
        of_x = call.copies(x, plan.x, 0, (True, to_up))
        of_up = call.w_copies[0] or call.copies(up, plan.w, 0, (True, to_x))
        of_down = call.w_copies[1] or call.copies(down, plan.w, 1, (True, to_h))
        gate_up = call.multiply(plan.fprop, of_x[0], of_up[0], x.shape[1], BETWEEN)
        of_h = call.swiglu(gate_up, None, plan.x, (True, to_down))
        y = call.multiply(plan.fprop, of_h[0], of_down[0], gate_up.shape[1] // 2, x.dtype)
        own = of_up[1] if to_x else [], of_down[1] if to_h else [], [gate_up] if to_h else []
        return y, [of_x[1], *own, of_h[1]]

    def backward(
        self, dy: torch.Tensor, groups: Sequence[Parts], dtypes: Sequence[torch.dtype], call: Call
    ) -> Gradients:
        of_x, of_up, of_down, gate_up, of_h = groups
        plan, (to_x, to_up, to_down), (tokens, in_) = self.plan, call.needs_grad, dy.shape
        for_dgrad, for_wgrad = call.copies(dy, plan.dy, 1, (to_x or to_up, to_down))
        dx = dw_up = dw_down = None
        if to_down:
            dw_down = call.wgrad(plan.wgrad, for_wgrad, of_h, tokens, 1, dtypes[2])
        if to_x or to_up:
            dh = call.multiply(plan.dgrad, for_dgrad, of_down, in_, BETWEEN)
            for_dgrad, for_wgrad = call.swiglu(gate_up[0], dh, plan.dy, (to_x, to_up))
        if to_x:
            dx = call.multiply(plan.dgrad, for_dgrad, of_up, gate_up[0].shape[1], dtypes[0])
        if to_up:
            dw_up = call.wgrad(plan.wgrad, for_wgrad, of_x, tokens, 0, dtypes[1])
        return dx, dw_up, dw_down


Steps = LinearSteps | MlpSteps


def steps_of(recipe: str | Recipe, emulate: bool, layers: int) -> Steps:
    """Steps of a linear layer, or of a SwigluMlp with two. Equal ones are one object, cheap as a key.

    Raises as layer_plan.
    """
    plan = layer_plan(recipe, emulate)
    return _steps(plan.key, plan.emulate, layers)


@lru_cache(maxsize=MOST_RECIPES)
def _steps(key: str, emulate: bool, layers: int) -> Steps:
    plan = layer_plan(key, emulate)
    return LinearSteps(plan) if layers == 1 else MlpSteps(plan)


@torch.compiler.assume_constant_result
def saved_groups(recipe: str, emulate: bool, needs_grad: tuple[bool, ...]) -> Groups:
    """Groups of tensors for the backward: for an input in bf16 its number, else None."""
    return _groups(recipe, emulate, needs_grad)


@lru_cache(maxsize=4 * MOST_RECIPES)
def _groups(recipe: str, emulate: bool, needs_grad: tuple[bool, ...]) -> Groups:
    x, up, down = (
        torch.empty(shape, dtype=torch.bfloat16, device="meta") for shape in ((1, 1), (2, 1), (1, 1))
    )
    inputs = (x, up, down)[: len(needs_grad)]
    steps = steps_of(recipe, emulate, len(needs_grad) - 1)
    _, groups = steps.forward(x, inputs[1:], Call(shapes_of(steps.plan), needs_grad))
    numbers = {id(each): number for number, each in enumerate(inputs)}
    return tuple(tuple(numbers.get(id(each)) for each in group) for group in groups)


@dataclass(frozen=True, kw_only=True)
class HeldBytes:
    """Bytes of x, in a SwigluMlp also of gate_up and h, and of copies of w."""

    x: int
    w: int

    @property
    def total(self) -> int:
        return self.x + self.w


def held_bytes(steps: Steps, *shapes: tuple[int, int]) -> HeldBytes:
    """Bytes held if all get a gradient. `shapes`: of x, then of each weight, in bf16.

    Raises ValueError for tokens below 0.
    """
    whole("the layer's size of tokens", shapes[0][0], 0)
    x, *weights = (torch.empty(shape, dtype=torch.bfloat16, device="meta") for shape in shapes)
    _, groups = steps.forward(x, weights, Call(SHAPES, (True,) * len(shapes)))
    own = {id(each) for each in weights}
    of_x, *rest = (
        [part.nbytes if part is x else aligned(part.nbytes) for part in group if id(part) not in own]
        for group in groups
    )
    of_w, others = rest[: len(weights)], rest[len(weights) :]
    return HeldBytes(x=sum(map(sum, [of_x, *others])), w=sum(map(sum, of_w)))


def random_seeds(plan: LayerPlan, layers: int, device: torch.device) -> tuple[torch.Tensor, ...]:
    """int64[PLACES] for each linear layer, if the recipe rounds at random.

    torch's generator of the device draws them, like dropout's mask: manual_seed, activation checkpointing,
    CUDA graphs and a resumed run treat both alike.
    """
    if not plan.is_random:
        return ()
    return tuple(torch.randint(_SEEDS, (PLACES,), device=device) for _ in range(layers))


def cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """x in a dtype. Torch 2.11 compiles gradients of zero behind a `to` that changes nothing."""
    return x if x.dtype == dtype else x.to(dtype)
