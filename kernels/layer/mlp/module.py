"""SwigluMlp: a transformer's feed-forward block in a recipe, with SwiGLU fused with quantizing."""

from typing import Self

import torch
from torch import nn

from fp8core.recipes import Recipe
from kernels.fused.plan import fuses
from kernels.layer.checks import check_operands
from kernels.layer.held import HeldBytes, held_bytes_of_mlp
from kernels.layer.mlp.autograd import run_mlp
from kernels.layer.module import Float8Linear
from kernels.layer.plan import wanted_readings

_TYPICAL_TOKENS = 4096
"""What the layer's text takes for granted."""


class SwigluMlp(nn.Module):
    """y = h · w_downᵀ with h = silu(x · w_gateᵀ) · (x · w_upᵀ); x and y are [..., in].

    - gate_up: a Float8Linear with the weight [2 · hidden, in], the gate's rows first: x is quantized once and
      multiplied once. A scale for the whole tensor is then one for both.
    - down: a Float8Linear with the weight [in, hidden].

    Both have weights, kept copies, main_grad, amax history and seeds as a Float8Linear has. The numbers are
    those of down(swiglu(gate_up(x))), bit for bit, with gate_up in bf16; hooks of the two layers are not
    called.
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
        cache_weights: bool = False,
    ) -> None:
        super().__init__()
        options = {"recipe": recipe, "emulate": emulate, "cache_weights": cache_weights}
        self.gate_up = Float8Linear(in_features, 2 * hidden_features, False, device, dtype, **options)
        self.down = Float8Linear(hidden_features, in_features, False, device, dtype, **options)

    @classmethod
    def from_linears(
        cls,
        gate: nn.Linear,
        up: nn.Linear,
        down: nn.Linear,
        recipe: str | Recipe = "deepseek_v3",
        *,
        emulate: bool = False,
        cache_weights: bool = False,
    ) -> Self:
        """A block with the weights of three layers. That of `down` is shared; the other two are joined in a
        new one.

        Raises ValueError for layers with a bias, and where their features do not go together.
        """
        for name, layer in (("gate", gate), ("up", up), ("down", down)):
            if not isinstance(layer, nn.Linear) or layer.bias is not None:
                raise ValueError(f"{name} is an nn.Linear without a bias, got {layer!r}")
        hidden, in_ = gate.weight.shape
        if up.weight.shape != gate.weight.shape or down.weight.shape != (in_, hidden):
            shapes = ", ".join(str(list(layer.weight.shape)) for layer in (gate, up, down))
            raise ValueError(f"weights are [hidden, in], [hidden, in] and [in, hidden], got {shapes}")
        made = cls(in_, hidden, "meta", recipe=recipe, emulate=emulate, cache_weights=cache_weights)
        joined = nn.Linear(in_, 2 * hidden, bias=False, device="meta")
        joined.weight = nn.Parameter(
            torch.cat([gate.weight.detach(), up.weight.detach()]), requires_grad=gate.weight.requires_grad
        )
        options = {"recipe": recipe, "emulate": emulate, "cache_weights": cache_weights}
        made.gate_up = Float8Linear.from_linear(joined, **options)
        made.down = Float8Linear.from_linear(down, **options)
        return made.train(down.training)

    def forward(self, x: torch.Tensor, is_first_microbatch: bool | None = None) -> torch.Tensor:
        """y[..., in] of x[..., in]. is_first_microbatch: as Float8Linear has it, for both weights."""
        gate_up, down = self.gate_up, self.down
        weights = gate_up.weight, down.weight
        check_operands(x, weights[0], None)
        carried, kept = zip(*(layer.step(x, is_first_microbatch) for layer in (gate_up, down)), strict=True)
        return run_mlp(x, weights, gate_up.plan, carried, kept)

    def fuses(self, tokens: int) -> bool:
        """True where SwiGLU and its gradient are quantized as they are computed, for x of `tokens` rows.

        Else a kernel writes them in bf16 first, and others quantize that: the numbers are the same.
        """
        key, hidden = self.gate_up.plan.key, self.down.in_features
        return all(
            fuses([each.operand for each in wanted_readings(key, tensor, True, True)], tokens, hidden, halves)
            for tensor, halves in (("x", 1), ("dy", 2))
        )

    def extra_repr(self) -> str:
        how = "as it is computed" if self.fuses(_TYPICAL_TOKENS) else "after it was written in bf16"
        return f"SwiGLU quantized {how}"

    def forget_weights(self) -> None:
        """Let the kept copies of both weights go."""
        self.gate_up.forget_weight()
        self.down.forget_weight()

    def held_bytes(self, tokens: int) -> HeldBytes:
        """Bytes held from forward to backward for x of `tokens` rows."""
        return held_bytes_of_mlp(
            self.gate_up.plan.recipe, tokens, self.gate_up.in_features, self.down.in_features
        )
