"""The model: a decoder over bytes with RMSNorm before each part, rotary positions and SwiGLU, no biases.

Parameters are fp32, the optimizer's own. A linear layer quantizes them, or rounds them to bf16, as it needs
them; activations are bf16. The linear layers of blocks run in the recipe. The embedding, the head, norms and
attention products stay bf16, and the last block does if asked.
"""

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from kernels.layer import Float8Linear
from kernels.layer.carried import step_seeds
from kernels.train.job import TrainJob
from kernels.train.model.attention import attend, embed
from kernels.train.model.pieces import add_norm, cross_entropy, piece, rms_norm, rope, swiglu
from kernels.train.sizes import HEAD, HEAD_DIM, VOCABULARY, Size

Tap = Callable[[str, nn.Linear, torch.Tensor, torch.Tensor], None]
"""Called with a layer's name, the layer, its x and its y."""
_STD = 0.02
_ROPE_BASE = 10_000.0
_LAYER_BITS, _STEP_BITS = 6, 21
"""Seeds of random rounding: a layer of a run has its own for each of 2 million steps."""


class Block(nn.Module):
    """Attention and an MLP. `layers` has their linear layers by name."""

    def __init__(self, layers: dict[str, nn.Linear], width: int, device: torch.device) -> None:
        super().__init__()
        self.layers = nn.ModuleDict(layers)
        self.norm_attention = nn.Parameter(torch.empty(width, device=device))
        self.norm_mlp = nn.Parameter(torch.empty(width, device=device))


class Decoder(nn.Module):
    """Logits of the next byte. `tap`, if set, is shown x and y of each linear layer of blocks.

    `plain`: every linear layer computes in bf16, whatever its recipe.
    """

    def __init__(self, job: TrainJob, device: torch.device, *, emulate: bool = False) -> None:
        super().__init__()
        self.size = job.size_data
        self.tap: Tap | None = None
        self.plain = False
        size, last = self.size, self.size.layers - 1

        def linear(in_: int, out: int, quantized: bool) -> nn.Linear:
            recipe = job.recipe_data if quantized else None
            if recipe is None:
                return nn.Linear(in_, out, bias=False, device=device)
            return Float8Linear(in_, out, bias=False, device=device, recipe=recipe, emulate=emulate)

        self.embedding = nn.Parameter(torch.empty(VOCABULARY, size.width, device=device))
        self.blocks = nn.ModuleList(
            Block(
                {
                    name: linear(*shape, not (job.last_bf16 and number == last))
                    for name, shape in size.block_linears.items()
                },
                size.width,
                device,
            )
            for number in range(size.layers)
        )
        self.norm = nn.Parameter(torch.empty(size.width, device=device))
        self.head = linear(size.width, VOCABULARY, job.head)
        for name, table in zip(("cosine", "sine"), _rope_tables(size), strict=True):
            self.register_buffer(name, table.to(device), persistent=False)
        self.start(job.seed)

    @torch.no_grad()
    def start(self, seed: int) -> None:
        """Draw the first weights on the CPU, so that every recipe and machine begins with equal ones."""
        dice = torch.Generator().manual_seed(seed)
        out = _STD / math.sqrt(2 * self.size.layers)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 1:
                parameter.fill_(1.0)
                continue
            std = out if name.endswith(("proj.weight", "down.weight")) else _STD
            parameter.copy_(torch.randn(parameter.shape, generator=dice) * std)
        for number, layer in enumerate(self.quantized().values()):
            if layer.plan.is_random:
                own = (seed << _LAYER_BITS | number) << _STEP_BITS
                layer.seeds.copy_(step_seeds(own, layer.seeds.device))
            if layer.plan.history:
                layer.amax_history.zero_()

    def linears(self) -> dict[str, nn.Linear]:
        """The linear layers of blocks, then the head, by names such as "0.qkv"."""
        found = {
            f"{number}.{name}": layer
            for number, block in enumerate(self.blocks)
            for name, layer in block.layers.items()
        }
        return {**found, HEAD: self.head}

    def quantized(self) -> dict[str, Float8Linear]:
        """Those that run in the recipe."""
        return {name: layer for name, layer in self.linears().items() if isinstance(layer, Float8Linear)}

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """bf16[sequences · length, vocabulary] of tokens int64[sequences, length]."""
        sequences, length = tokens.shape
        x = embed(tokens.reshape(-1), self.embedding)
        normed = piece(rms_norm, x)(x, self.blocks[0].norm_attention)
        for number, block in enumerate(self.blocks):
            qkv = self._linear(block, number, "qkv", normed)
            q, k, v = piece(rope, x)(
                qkv.view(sequences, length, 3, self.size.heads, HEAD_DIM), self.cosine, self.sine
            )
            mixed = attend(q, k, v).reshape(sequences * length, self.size.width)
            x, normed = piece(add_norm, x)(x, self._linear(block, number, "proj", mixed), block.norm_mlp)
            after = self.blocks[number + 1].norm_attention if number + 1 < len(self.blocks) else self.norm
            x, normed = piece(add_norm, x)(x, self._mlp(block, number, normed), after)
        return self._apply_linear(HEAD, self.head, normed)

    def loss(self, windows: torch.Tensor) -> torch.Tensor:
        """float32: nats a byte over windows int64[sequences, length + 1]."""
        logits = self(windows[:, :-1])
        return piece(cross_entropy, logits)(logits, windows[:, 1:].reshape(-1))

    def _mlp(self, block: Block, number: int, x: torch.Tensor) -> torch.Tensor:
        """Both layers of the MLP, and SwiGLU between them."""
        hidden = piece(swiglu, x)(self._linear(block, number, "gate_up", x))
        return self._linear(block, number, "down", hidden)

    def _linear(self, block: Block, number: int, name: str, x: torch.Tensor) -> torch.Tensor:
        return self._apply_linear(f"{number}.{name}", block.layers[name], x)

    def _apply_linear(self, name: str, layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        if self.plain or not isinstance(layer, Float8Linear):
            y = functional.linear(x, layer.weight.to(x.dtype))
        else:
            y = layer(x)
        if self.tap is not None:
            self.tap(name, layer, x, y)
        return y


def _rope_tables(size: Size) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines, float32[length, HEAD_DIM / 2]."""
    half = HEAD_DIM // 2
    rates = _ROPE_BASE ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(size.length, dtype=torch.float64)[:, None] * rates
    return angles.cos().float(), angles.sin().float()
