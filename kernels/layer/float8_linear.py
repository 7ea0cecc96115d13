"""linear and Float8Linear: y = x · wᵀ + bias in a recipe, and its gradients.

Forward quantizes x and w for all readers and holds the copies for backward, which quantizes dy for both.
"""

from copy import copy
from typing import Any, Self

import torch
from torch import nn

from fp8core.recipes import Recipe
from kernels.device import Unsupported
from kernels.layer.function import PLAIN, run, weight_copies
from kernels.layer.plan import MOST_RECIPES
from kernels.layer.steps import Copies, HeldBytes, Steps, cast, held_bytes, steps_of

_DTYPES = (torch.bfloat16, torch.float16, torch.float32)


def linear(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None = None,
    recipe: str | Recipe = "deepseek_v3",
    *,
    emulate: bool = False,
) -> torch.Tensor:
    """y[..., out] = x[..., in] · w[out, in]ᵀ + bias[out]; this matmul and those of its gradients in a recipe.

    - x, w: bfloat16, float16 or float32. y and dx have x's dtype, dw has w's. Under autocast x is cast first.
    - emulate: compute by the reference's rules, on any machine and for every recipe; slow.

    Stochastic rounding draws its bits from torch's generator of the device, in forward. dw is added to a
    w.main_grad in float32, and w.grad stays None. Raises ValueError for other shapes, dtypes and recipes;
    Unsupported for a recipe or a machine without kernels, and for delayed scales.
    """
    steps = _STEPS[_key(recipe, emulate), emulate]
    check_operands(x, w, bias)
    return add_bias(run(steps, x, (w,)), bias)


_STEPS: dict[tuple[str, bool], Steps] = {}
"""Steps of `linear` by key: torch.compile does not trace how they are made."""


@torch.compiler.assume_constant_result
def _key(recipe: str | Recipe, emulate: bool) -> str:
    """Put the steps into _STEPS, and return their key."""
    steps = steps_of(recipe, emulate, 1)
    if len(_STEPS) >= MOST_RECIPES:
        _STEPS.clear()
    _STEPS[steps.plan.key, emulate] = steps
    return steps.plan.key


def add_bias(y: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    return y if bias is None else y + cast(bias, y.dtype)


def check_operands(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None) -> None:
    """Raise ValueError unless x [..., in], w [out, in] and bias [out] fit."""
    if x.dtype not in _DTYPES or w.dtype not in _DTYPES:
        name, dtype = ("x", x.dtype) if x.dtype not in _DTYPES else ("w", w.dtype)
        raise ValueError(f"{name} is bfloat16, float16 or float32, got {dtype}")
    if w.ndim != 2 or x.ndim < 1 or x.shape[-1] != w.shape[1]:
        raise ValueError(
            f"x[..., in] and w[out, in] need one in, got x {list(x.shape)} and w {list(w.shape)}"
        )
    if x.device != w.device:
        raise ValueError(f"x and w need one device, got {x.device} and {w.device}")
    if bias is not None and (bias.shape != w.shape[:1] or bias.dtype not in _DTYPES):
        raise ValueError(
            f"bias has one number for each of the {w.shape[0]} outputs, got {bias.dtype}{list(bias.shape)}"
        )


class Float8Linear(nn.Linear):
    """An nn.Linear that computes by kernels.layer.linear: a weight, a bias and a recipe, no other state.

    A weight that is a DTensor is multiplied in shards, with scales of their own.
    """

    steps: Steps
    _w_copies: Copies | None = None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        recipe: str | Recipe = "deepseek_v3",
        emulate: bool = False,
    ) -> None:
        steps = steps_of(recipe, emulate, 1)
        super().__init__(in_features, out_features, bias, device, dtype)
        self.steps = steps

    @classmethod
    def from_linear(
        cls, layer: nn.Linear, recipe: str | Recipe = "deepseek_v3", *, emulate: bool = False
    ) -> Self:
        """A layer that shares the parameters, hooks and mode of another."""
        if not isinstance(layer, nn.Linear):
            raise ValueError(f"a Float8Linear is made of an nn.Linear, got {type(layer).__name__}")
        steps = steps_of(recipe, emulate, 1)
        other = cls.__new__(cls)
        other.__dict__.update({name: copy(value) for name, value in layer.__dict__.items()})
        # layer.compile() has compiled the other layer's forward.
        other.steps, other._w_copies, other._compiled_call_impl = steps, None, None
        return other

    def forward(self, x: torch.Tensor, is_first_microbatch: bool | None = None) -> torch.Tensor:
        """y[..., out] of x[..., in].

        is_first_microbatch, as in Transformer Engine: True quantizes the weight and keeps its copies, False
        takes those copies, None keeps nothing. The caller promises that the weight does not change between.
        torch.compile and a weight in shards quantize it in each call. Raises ValueError for False before
        True.
        """
        # A module looks for a parameter in three places: once is enough.
        weight, bias = self.weight, self.bias
        if torch.jit.is_tracing():
            raise Unsupported(
                "torch.jit.trace cannot record a Float8Linear: use torch.compile or torch.export"
            )
        if type(weight) not in PLAIN:
            # Loaded here: DTensor takes a third of a second to import.
            from kernels.layer.sharded import DTensor, run_on_shards

            if isinstance(weight, DTensor):
                return run_on_shards(self.steps, x, weight, bias)
        check_operands(x, weight, bias)
        if is_first_microbatch is None:
            return add_bias(run(self.steps, x, (weight,)), bias)
        return add_bias(run(self.steps, x, (weight,), (self.w_copies(is_first_microbatch),)), bias)

    def w_copies(self, is_first_microbatch: bool | None) -> Copies | None:
        if is_first_microbatch is None or torch.compiler.is_compiling():
            return None
        if is_first_microbatch:
            self._w_copies = weight_copies(self.weight, self.steps.plan)
        elif self._w_copies is None:
            raise ValueError(
                "is_first_microbatch=False takes the copies of an earlier call with True: got none"
            )
        return self._w_copies

    def held_bytes(self, tokens: int) -> HeldBytes:
        """Bytes held from forward to backward for x [tokens, in] in bf16."""
        in_, out = self.in_features, self.out_features
        return held_bytes(self.steps, (tokens, in_), (out, in_))

    def extra_repr(self) -> str:
        plan = self.steps.plan
        return f"{super().extra_repr()}, recipe={plan.recipe.name}{', emulate=True' if plan.emulate else ''}"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_w_copies": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Another process does not know a recipe of one's own yet."""
        super().__setstate__(state)
        plan = self.steps.plan
        self.steps = steps_of(plan.recipe, plan.emulate, 1)
