"""Pieces of the model between its matmuls: norm, rotary positions, SwiGLU, cross-entropy.

Each is written once, in torch's words. On a GPU torch.compile makes a kernel or two of a piece, which all
recipes share. Sums have a fixed order: no piece adds through atomics.
"""

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

EPS = 1e-6
_THREADS = "TORCHINDUCTOR_COMPILE_THREADS"


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x [tokens, width] over its root mean square, times weight [width]; computed in fp32."""
    wide = x.float()
    root = torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS)
    return (wide * root * weight).to(x.dtype)


def add_norm(x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The residual stream x + y, and its norm."""
    added = x + y
    return added, rms_norm(added, weight)


def rope(
    qkv: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k, v, each [sequences, length, heads, dim], of qkv [sequences, length, 3, heads, dim].

    q and k are turned by position: pairs (i, i + dim / 2) by cosine, sine [length, dim / 2].
    """
    q, k, v = qkv.unbind(2)
    c, s = cosine[:, None], sine[:, None]
    return _turned(q, c, s), _turned(k, c, s), v.contiguous()


def _turned(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    left, right = x.float().chunk(2, -1)
    return torch.cat((left * cosine - right * sine, right * cosine + left * sine), -1).to(x.dtype)


def swiglu(gate_up: torch.Tensor) -> torch.Tensor:
    """silu(gate) · up [tokens, hidden] of both side by side [tokens, 2 · hidden]."""
    gate, up = gate_up.float().chunk(2, -1)
    return (gate * torch.sigmoid(gate) * up).to(gate_up.dtype)


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean over tokens of -log p(target), float32, of logits [tokens, vocabulary].

    The target's logit is taken by comparing, not by an index: the gradient of an index adds through atomics.
    """
    wide = logits.float()
    places = torch.arange(logits.shape[-1], device=logits.device)
    own = torch.where(places == targets[:, None], wide, 0.0).sum(-1)
    return (torch.logsumexp(wide, -1) - own).mean()


def settle_compiler() -> None:
    """Settle how torch.compile works in this process, before it does.

    It would change Triton's ptxas, and the folder in which Triton keeps code: then code that another process
    has compiled is not found. It would start a process on each core, for a few small kernels.
    """
    from torch._inductor import config
    from triton import knobs

    os.environ.setdefault("TRITON_CACHE_DIR", knobs.cache.dir)
    os.environ.setdefault("TRITON_PTXAS_PATH", knobs.nvidia.ptxas.path)
    if _THREADS not in os.environ:
        config.compile_threads = 1


@cache
def compiled(piece: Callable[..., Any]) -> Callable[..., Any]:
    """A piece as torch.compile makes it, for shapes that never change."""
    from torch._inductor import config

    settle_compiler()
    # Which of several kernels is fastest is then not tried out: another choice would have other bits.
    options = {"deterministic": True} if hasattr(config, "deterministic") else None
    return torch.compile(piece, fullgraph=True, dynamic=False, options=options)


def piece(function: Callable[..., Any], x: torch.Tensor) -> Callable[..., Any]:
    """A piece as it runs where x lies: compiled on a GPU; op by op on a CPU, and under a dispatch mode."""
    return compiled(function) if x.is_cuda and not is_in_torch_dispatch_mode() else function
