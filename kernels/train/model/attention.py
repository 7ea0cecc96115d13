"""Causal attention and the embedding, with gradients whose sums have a fixed order.

Attention products stay bf16. On a GPU they are FlashAttention's, as torch has it: its backward adds parts of
dq through atomics unless it is told not to.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional
from torch.utils import deterministic as settings

_ATEN = torch.ops.aten


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """[sequences, length, heads, dim] of q, k and v of that shape, each token looking back."""
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    if q.is_cuda:
        return _Flash.apply(q, k, v).transpose(1, 2)
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


class _Flash(torch.autograd.Function):
    """FlashAttention [sequences, heads, length, dim], its backward in a fixed order."""

    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        found = _ATEN._scaled_dot_product_flash_attention(q, k, v, 0.0, True)
        out, logsumexp, cum_q, cum_k, max_q, max_k, seed, offset, _ = found
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
    """Operators that have a deterministic form take it. Empty memory is not filled."""
    mode = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    filled = settings.fill_uninitialized_memory
    settings.fill_uninitialized_memory = False
    torch.use_deterministic_algorithms(True)  # Only to warn would leave FlashAttention as it is.
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(mode, warn_only=warn_only)
        settings.fill_uninitialized_memory = filled


def embed(tokens: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """bf16[tokens, width]: rows of a table [vocabulary, width]."""
    return _Embed.apply(tokens, table)


class _Embed(torch.autograd.Function):
    """Rows of a table. The gradient of a table of few rows is a matmul with zeros and ones."""

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
