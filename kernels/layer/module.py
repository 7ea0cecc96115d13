"""Float8Linear: an nn.Linear whose three matmuls run in a recipe."""

from copy import copy
from typing import Any, Self

import torch
from torch import nn

from fp8core.recipes import Recipe
from kernels.layer.autograd import run
from kernels.layer.calls import Calls, calls_for
from kernels.layer.carried import ROWS, Carried, W, drawn_seed, main_grad_of, step_seeds
from kernels.layer.checks import check_operands
from kernels.layer.held import HeldBytes, held_bytes
from kernels.layer.matmuls import Copies, copies
from kernels.layer.plan import LayerPlan, layer_plan
from kernels.layer.weights import KeptWeight


class Float8Linear(nn.Linear):
    """y = x · wᵀ + bias as kernels.layer.linear computes it. Its state_dict has the keys of nn.Linear.

    - emulate: compute by the reference's rules, on any machine and for every recipe; slow.
    - cache_weights: keep the copies of the weight until it changes. Writing into weight.data is not seen:
      call forget_weight() after it, or leave this off. With it off, a forward with gradients quantizes the
      weight once, and its backward reads that copy.

    A recipe with a delayed scale has the buffer amax_history, one with random rounding the buffer seeds. Both
    stay out of the state_dict. torch.manual_seed before the layer is made decides the seeds.
    """

    plan: LayerPlan

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
        cache_weights: bool = False,
    ) -> None:
        plan = layer_plan(recipe, emulate)
        super().__init__(in_features, out_features, bias, device, dtype)
        self._take(plan, cache_weights)

    @classmethod
    def from_linear(
        cls,
        layer: nn.Linear,
        recipe: str | Recipe = "deepseek_v3",
        *,
        emulate: bool = False,
        cache_weights: bool = False,
    ) -> Self:
        """A layer with the parameters, hooks and mode of another: they share the tensors of both."""
        if not isinstance(layer, nn.Linear):
            raise ValueError(f"a Float8Linear is made of an nn.Linear, got {type(layer).__name__}")
        plan = layer_plan(recipe, emulate)
        made = cls.__new__(cls)
        made.__dict__.update({name: copy(value) for name, value in layer.__dict__.items()})
        made._take(plan, cache_weights)
        return made

    def _take(self, plan: LayerPlan, cache_weights: bool) -> None:
        self.plan, self.cache_weights = plan, cache_weights
        self._kept: KeptWeight | None = None
        self._start(self.weight.device)

    def _start(self, device: torch.device) -> None:
        """No earlier steps, and seeds from torch's generator."""
        steps = self.plan.history
        history = torch.zeros(ROWS, steps, dtype=torch.int32, device=device) if steps else None
        seeds = step_seeds(drawn_seed(), device) if self.plan.is_random else None
        # Bits, not numbers: model.to(torch.bfloat16) would round those.
        self.register_buffer("amax_history", history, persistent=False)
        self.register_buffer("seeds", seeds, persistent=False)

    def reset_parameters(self) -> None:
        """Draw weights anew, and forget earlier steps; nn.Linear calls it as it is made."""
        super().reset_parameters()
        if "plan" in self.__dict__:
            self.forget_weight()
            self._start(self.weight.device)

    def forward(self, x: torch.Tensor, is_first_microbatch: bool | None = None) -> torch.Tensor:
        """y[..., out] of x[..., in].

        is_first_microbatch: True quantizes the weight and keeps its copies, False takes those unless the
        weight is seen to have changed, None does as cache_weights says. Under torch.compile, and while a CUDA
        graph is captured, the weight is quantized each time: replays find its numbers of that day.
        """
        # A module looks for a parameter in three places: once is enough.
        weight, bias = self.weight, self.bias
        check_operands(x, weight, bias)
        carried, kept = self.step(x, is_first_microbatch)
        return run(x, weight, bias, self.plan, carried, kept)

    def step(self, x: torch.Tensor, is_first_microbatch: bool | None) -> tuple[Carried, Copies | None]:
        """What a step on x takes of the layer: tensors that are carried on, and copies of the weight if any
        are kept.
        """
        weight = self.weight
        calls = calls_for(self.plan, x, weight)
        carried = self._carried(x.device, calls, weight)
        keep = self.cache_weights if is_first_microbatch is None else True
        if not keep or torch.compiler.is_compiling() or _capturing(x):
            return carried, None
        return carried, self._weight_copies(weight, calls, carried, is_first_microbatch is True)

    def _carried(self, device: torch.device, calls: Calls, weight: torch.Tensor) -> Carried:
        plan, main_grad = self.plan, main_grad_of(weight)
        if not (plan.is_random or plan.history):
            return Carried(main_grad=main_grad)
        seeds, history = self.seeds, self.amax_history
        state = seeds if plan.is_random else history
        if state.device != device:  # the layer was made on the meta device
            self._start(device)
            seeds, history = self.seeds, self.amax_history
        return Carried(
            seeds=calls.take(seeds) if plan.is_random else None,
            history=history,
            recording=self.training,
            main_grad=main_grad,
        )

    def _weight_copies(self, weight: torch.Tensor, calls: Calls, carried: Carried, anew: bool) -> Copies:
        """Both copies of the weight: those that are kept, or new ones, which are kept from now on."""
        if not anew and self._kept is not None and self._kept.is_of(weight, calls.whole):
            return self._kept.copies
        with torch.no_grad():
            made = copies(weight, self.plan, self.plan.w, calls, carried, (W, True, True))
        self._kept = KeptWeight.of(weight, made, calls.whole)
        return made

    def forget_weight(self) -> None:
        """Let the kept copies of the weight go: the next forward makes new ones."""
        self._kept = None

    def held_bytes(self, tokens: int) -> HeldBytes:
        """Bytes held from forward to backward for x of `tokens` rows."""
        return held_bytes(self.plan.recipe, tokens, self.in_features, self.out_features)

    def extra_repr(self) -> str:
        emulated = ", emulate=True" if self.plan.emulate else ""
        return f"{super().extra_repr()}, recipe={self.plan.recipe.name}{emulated}"

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the kept copies."""
        return self.__dict__ | {"_kept": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a state; another process has yet to meet a recipe of one's own."""
        super().__setstate__(state)
        self.plan = layer_plan(self.plan.recipe, self.plan.emulate)


def _capturing(x: torch.Tensor) -> bool:
    return x.is_cuda and torch.cuda.is_current_stream_capturing()
