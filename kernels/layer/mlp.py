"""SwigluMlp: a transformer's feed-forward block in a recipe, with SwiGLU and quantizing in one kernel.

Held for backward: copies of x, h and both weights, and gate_up in bf16 for SwiGLU's gradient. h itself is
stored only if a matmul reads bf16.
"""

from functools import partial
from typing import Self

import torch
from torch import nn

from fp8core.recipes import Recipe
from kernels.layer.float8_linear import Float8Linear, check_operands
from kernels.layer.function import PLAIN, run
from kernels.layer.steps import BETWEEN, HeldBytes, held_bytes, steps_of
from kernels.quantize.plan import plan_copies

_TYPICAL_TOKENS = 4096
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class SwigluMlp(nn.Module):
    """y = h · w_downᵀ with h = silu(x · w_gateᵀ) · (x · w_upᵀ); x and y are [..., in].

    - gate_up: a Float8Linear with the weight [2 · hidden, in], gate first.
    - down: a Float8Linear with the weight [in, hidden].

    The result is that of down(swiglu(gate_up(x))) with gate_up in bf16, bit for bit. If a layer was replaced,
    wrapped or parametrized, or has a hook, the two layers are called, with SwiGLU by torch's operations.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        recipe: str | Recipe = "deepseek_v3",
        emulate: bool = False,
    ) -> None:
        super().__init__()
        self.hidden_features = hidden_features
        layer = partial(Float8Linear, bias=False, device=device, dtype=dtype, recipe=recipe, emulate=emulate)
        self.gate_up = layer(in_features, 2 * hidden_features)
        self.down = layer(hidden_features, in_features)
        self.steps = steps_of(recipe, emulate, 2)

    @classmethod
    def from_linears(
        cls,
        gate: nn.Linear,
        up: nn.Linear,
        down: nn.Linear,
        recipe: str | Recipe = "deepseek_v3",
        *,
        emulate: bool = False,
    ) -> Self:
        """A block of three layers: it shares down's weight and joins those of gate and up in a new one.

        Raises ValueError for a bias, for a hook or a parametrization of gate or up, if one of both is frozen,
        and for unfit shapes.
        """
        for name, layer in (("gate", gate), ("up", up), ("down", down)):
            if not isinstance(layer, nn.Linear) or layer.bias is not None:
                raise ValueError(f"{name} is an nn.Linear without a bias, got {layer!r}")
            if layer is not down and not _is_plain(layer, nn.Linear):
                raise ValueError(
                    f"{name} is joined with another layer: give an nn.Linear without hooks and wrappers, "
                    f"got {type(layer).__name__}"
                )
        hidden, in_ = gate.weight.shape
        if up.weight.shape != gate.weight.shape or down.weight.shape != (in_, hidden):
            shapes = ", ".join(str(list(layer.weight.shape)) for layer in (gate, up, down))
            raise ValueError(f"weights are [hidden, in], [hidden, in] and [in, hidden], got {shapes}")
        if gate.weight.requires_grad != up.weight.requires_grad:
            raise ValueError("gate and up become one weight: train both, or none")
        block = cls(in_, hidden, "meta", recipe=recipe, emulate=emulate)
        block.gate_up.weight = nn.Parameter(
            torch.cat([gate.weight.detach(), up.weight.detach()]), requires_grad=gate.weight.requires_grad
        )
        block.down = Float8Linear.from_linear(down, recipe, emulate=emulate)
        return block.train(down.training)

    def forward(self, x: torch.Tensor, is_first_microbatch: bool | None = None) -> torch.Tensor:
        """y[..., in] of x[..., in]. is_first_microbatch: that of Float8Linear."""
        gate_up, down = self.gate_up, self.down
        if not self._is_whole():
            return self._apart(x, is_first_microbatch)
        weights = gate_up.weight, down.weight
        check_operands(x, weights[0], None)
        if is_first_microbatch is None:
            return run(self.steps, x, weights)
        w_copies = gate_up.w_copies(is_first_microbatch), down.w_copies(is_first_microbatch)
        return run(self.steps, x, weights, w_copies)

    def _is_whole(self) -> bool:
        own = self.steps.plan
        return all(
            _is_plain(layer, Float8Linear)
            and (layer.steps.plan.key, layer.steps.plan.emulate) == (own.key, own.emulate)
            for layer in (self.gate_up, self.down)
        )

    def _apart(self, x: torch.Tensor, is_first_microbatch: bool | None) -> torch.Tensor:
        """Call the layers one after the other."""
        options = {} if is_first_microbatch is None else {"is_first_microbatch": is_first_microbatch}
        gate_up = self.gate_up(x, **options)
        if gate_up.shape[-1] != 2 * self.hidden_features:
            raise ValueError(
                f"gate_up gives {2 * self.hidden_features} columns, got {gate_up.shape[-1]}: "
                "a column-wise split tears gate and up apart. Parallelize three Float8Linear instead"
            )
        gate, up = gate_up.to(BETWEEN).chunk(2, -1)
        h = (nn.functional.silu(gate.float()) * up.float()).to(BETWEEN)
        return self.down(h.to(x.dtype), **options)

    def fuses(self, tokens: int) -> bool:
        """True if one kernel computes and quantizes SwiGLU, and one its gradient.

        Else a kernel writes bf16 and others quantize that, with the same result.
        """
        if not self._is_whole():
            return False
        plan, hidden = self.steps.plan, self.down.in_features
        return all(
            plan_copies([each.operand for each in readings], tokens, hidden, halves=halves) is not None
            for readings, halves in ((plan.x, 1), (plan.dy, 2))
        )

    def extra_repr(self) -> str:
        how = "as it is computed" if self.fuses(_TYPICAL_TOKENS) else "after it was written in bf16"
        return f"SwiGLU quantized {how}"

    def held_bytes(self, tokens: int) -> HeldBytes:
        """Bytes held from forward to backward for x [tokens, in] in bf16."""
        in_, hidden = self.gate_up.in_features, self.hidden_features
        return held_bytes(self.steps, (tokens, in_), (2 * hidden, in_), (in_, hidden))


def _is_plain(layer: nn.Module, kind: type[nn.Linear]) -> bool:
    return (
        type(layer) is kind
        and not any(getattr(layer, hooks) for hooks in _HOOKS)
        and "forward" not in layer.__dict__
        and type(layer.weight) in PLAIN
    )
