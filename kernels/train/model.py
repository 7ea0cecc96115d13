"""The model: a decoder over bytes with RMSNorm before each part, rotary positions and SwiGLU, no biases.

Parameters are fp32, activations bf16. The linear layers of blocks run in the recipe, the last block's by
choice; all else stays bf16. Sums have a fixed order, also in gradients: no atomics. torch.compile makes a
kernel or two of each piece between the matmuls, for all recipes.
"""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils import deterministic as settings
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from kernels.layer import Float8Linear
from kernels.precompile import keep_compiled_code
from kernels.train.job import HEAD, HEAD_DIM, VOCABULARY, Size, TrainJob

Tap = Callable[[str, nn.Linear, torch.Tensor, torch.Tensor], None]
"""Called with a layer's name, the layer, its x and its y."""
_STD = 0.02
_ROPE_BASE = 10_000.0


class Block(nn.Module):
    def __init__(self, layers: dict[str, nn.Linear], width: int, device: torch.device) -> None:
        super().__init__()
        self.layers = nn.ModuleDict(layers)
        self.norm_attention = nn.Parameter(torch.empty(width, device=device))
        self.norm_mlp = nn.Parameter(torch.empty(width, device=device))


class Decoder(nn.Module):
    """Logits of the next byte. plain: every linear layer computes in bf16."""

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
        """Draw the first weights on the CPU: they are equal everywhere."""
        dice = torch.Generator().manual_seed(seed)
        out = _STD / math.sqrt(2 * self.size.layers)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 1:
                parameter.fill_(1.0)
                continue
            std = out if name.endswith(("proj.weight", "down.weight")) else _STD
            parameter.copy_(torch.randn(parameter.shape, generator=dice) * std)

    def linears(self) -> dict[str, nn.Linear]:
        """Layers by name, such as "0.qkv", the head last."""
        layers = {
            f"{number}.{name}": layer
            for number, block in enumerate(self.blocks)
            for name, layer in block.layers.items()
        }
        return {**layers, HEAD: self.head}

    def quantized(self) -> dict[str, Float8Linear]:
        return {name: layer for name, layer in self.linears().items() if isinstance(layer, Float8Linear)}

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """bf16[sequences · length, vocabulary] of tokens int64[sequences, length]."""
        sequences, length = tokens.shape
        x = _Embed.apply(tokens.reshape(-1), self.embedding)
        normed = piece(rms_norm, x)(x, self.blocks[0].norm_attention)
        for number, block in enumerate(self.blocks):
            qkv = self._linear(f"{number}.qkv", block.layers["qkv"], normed)
            q, k, v = piece(rope, x)(
                qkv.view(sequences, length, 3, self.size.heads, HEAD_DIM), self.cosine, self.sine
            )
            mixed = attend(q, k, v).reshape(sequences * length, self.size.width)
            proj = self._linear(f"{number}.proj", block.layers["proj"], mixed)
            x, normed = piece(add_norm, x)(x, proj, block.norm_mlp)
            after = self.blocks[number + 1].norm_attention if number + 1 < len(self.blocks) else self.norm
            hidden = piece(swiglu, x)(self._linear(f"{number}.gate_up", block.layers["gate_up"], normed))
            down = self._linear(f"{number}.down", block.layers["down"], hidden)
            x, normed = piece(add_norm, x)(x, down, after)
        return self._linear(HEAD, self.head, normed)

    def loss(self, windows: torch.Tensor) -> torch.Tensor:
        """Nats a byte over windows int64[sequences, length + 1]."""
        logits = self(windows[:, :-1])
        return piece(cross_entropy, logits)(logits, windows[:, 1:].reshape(-1))

    def _linear(self, name: str, layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        if self.plain or not isinstance(layer, Float8Linear):
            y = functional.linear(x, layer.weight.to(x.dtype))
        else:
            y = layer(x)
        if self.tap is not None:
            self.tap(name, layer, x, y)
        return y


def _rope_tables(size: Size) -> tuple[torch.Tensor, torch.Tensor]:
    """float32[length, HEAD_DIM / 2]."""
    half = HEAD_DIM // 2
    rates = _ROPE_BASE ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(size.length, dtype=torch.float64)[:, None] * rates
    return angles.cos().float(), angles.sin().float()


_ATEN = torch.ops.aten


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal attention; all are [sequences, length, heads, dim]."""
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    if q.is_cuda:
        return _Flash.apply(q, k, v).transpose(1, 2)
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


class _Flash(torch.autograd.Function):
    """FlashAttention [sequences, heads, length, dim] with a deterministic backward."""

    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        results = _ATEN._scaled_dot_product_flash_attention(q, k, v, 0.0, True)
        out, logsumexp, cum_q, cum_k, max_q, max_k, seed, offset, _ = results
        ctx.save_for_backward(q, k, v, out, logsumexp, seed, offset)
        ctx.rest = cum_q, cum_k, max_q, max_k
        return out

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor, ...]:
        q, k, v, out, logsumexp, seed, offset = ctx.saved_tensors
        with _in_order():
            return _ATEN._scaled_dot_product_flash_attention_backward(
                dy, q, k, v, out, logsumexp, *ctx.rest, 0.0, True, seed, offset
            )


@contextmanager
def _in_order() -> Iterator[None]:
    """Make operators deterministic, without filling empty memory."""
    mode = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    filled = settings.fill_uninitialized_memory
    settings.fill_uninitialized_memory = False
    torch.use_deterministic_algorithms(True)  # warn_only would not change FlashAttention
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(mode, warn_only=warn_only)
        settings.fill_uninitialized_memory = filled


class _Embed(torch.autograd.Function):
    """bf16[tokens, width]: rows of a table [vocabulary, width]. Its gradient is a matmul, without atomics."""

    @staticmethod
    def forward(ctx: Any, tokens: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(tokens)
        ctx.rows = table.shape[0]
        return table.to(torch.bfloat16)[tokens]

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[None, torch.Tensor]:
        (tokens,) = ctx.saved_tensors
        places = torch.arange(ctx.rows, device=tokens.device)
        return None, ((tokens == places[:, None]).to(dy.dtype) @ dy).float()


EPS = 1e-6
_THREADS = "TORCHINDUCTOR_COMPILE_THREADS"


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    wide = x.float()
    root = torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS)
    return (wide * root * weight).to(x.dtype)


def add_norm(x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The residual stream x + y, and its norm."""
    stream = x + y
    return stream, rms_norm(stream, weight)


def rope(
    qkv: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k, v, each [sequences, length, heads, dim], of qkv [sequences, length, 3, heads, dim].

    Pairs (i, i + dim / 2) of q and k rotate by cosine, sine [length, dim / 2].
    """
    q, k, v = qkv.unbind(2)
    c, s = cosine[:, None], sine[:, None]
    return rotated(q, c, s), rotated(k, c, s), v.contiguous()


def rotated(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    left, right = x.float().chunk(2, -1)
    return torch.cat((left * cosine - right * sine, right * cosine + left * sine), -1).to(x.dtype)


def swiglu(gate_up: torch.Tensor) -> torch.Tensor:
    """silu(gate) · up [tokens, hidden]; gate_up is [tokens, 2 · hidden]."""
    gate, up = gate_up.float().chunk(2, -1)
    return (gate * torch.sigmoid(gate) * up).to(gate_up.dtype)


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean of -log p(target) over logits [tokens, vocabulary], in fp32.

    A comparison selects the target's logit: the gradient of an index adds through atomics.
    """
    wide = logits.float()
    places = torch.arange(logits.shape[-1], device=logits.device)
    own = torch.where(places == targets[:, None], wide, 0.0).sum(-1)
    return (torch.logsumexp(wide, -1) - own).mean()


def settle_compiler() -> None:
    """Configure torch.compile without a process on each core."""
    from torch._inductor import config

    keep_compiled_code()
    if _THREADS not in os.environ:
        config.compile_threads = 1


@cache
def compiled(piece: Callable[..., Any]) -> Callable[..., Any]:
    from torch._inductor import config

    settle_compiler()
    # Deterministic: it does not time candidate kernels, as another choice would have other bits.
    options = {"deterministic": True} if hasattr(config, "deterministic") else None
    return torch.compile(piece, fullgraph=True, dynamic=False, options=options)


def piece(function: Callable[..., Any], x: torch.Tensor) -> Callable[..., Any]:
    """The function, compiled for a GPU unless a dispatch mode is on."""
    return compiled(function) if x.is_cuda and not is_in_torch_dispatch_mode() else function
