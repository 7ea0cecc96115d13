"""A plain loop to compare with: the model as one writes it for torch.compile, in bf16 under autocast."""

import math
import time

import torch
from torch import nn
from torch.nn import functional

from kernels.train.sizes import HEAD_DIM, VOCABULARY, Size
from kernels.train.step import BETAS, CLIP, DECAY


class PlainBlock(nn.Module):
    """Attention and SwiGLU, each behind a norm."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.norm_attention, self.norm_mlp = nn.RMSNorm(size.width), nn.RMSNorm(size.width)
        self.layers = nn.ModuleDict(
            {name: nn.Linear(*shape, bias=False) for name, shape in size.block_linears.items()}
        )

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        """x [sequences, length, width]."""
        sequences, length, width = x.shape
        qkv = self.layers["qkv"](self.norm_attention(x))
        q, k, v = qkv.view(sequences, length, 3, self.heads, HEAD_DIM).permute(2, 0, 3, 1, 4)
        q, k = _turned(q, cosine, sine), _turned(k, cosine, sine)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.layers["proj"](mixed.transpose(1, 2).reshape(sequences, length, width))
        gate, up = self.layers["gate_up"](self.norm_mlp(x)).chunk(2, -1)
        return x + self.layers["down"](functional.silu(gate) * up)


def _turned(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    left, right = x.chunk(2, -1)
    return torch.cat((left * cosine - right * sine, right * cosine + left * sine), -1).to(x.dtype)


class PlainDecoder(nn.Module):
    """The loss of windows int64[sequences, length + 1]."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, size.width)
        self.blocks = nn.ModuleList(PlainBlock(size) for _ in range(size.layers))
        self.norm, self.head = nn.RMSNorm(size.width), nn.Linear(size.width, VOCABULARY, bias=False)
        angles = torch.outer(torch.arange(size.length).float(), torch.logspace(0, -4, HEAD_DIM // 2))
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, windows: torch.Tensor) -> torch.Tensor:
        x = self.embedding(windows[:, :-1]).to(torch.bfloat16)
        for block in self.blocks:
            x = block(x, self.cosine, self.sine)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.float().flatten(0, 1), windows[:, 1:].flatten())


def compiled_step_ms(size: Size, device: torch.device, rounds: int = 5, steps: int = 20) -> float:
    """Milliseconds of a step of the plain loop, whole model compiled: the least of some rounds."""
    torch.manual_seed(0)
    model = PlainDecoder(size).to(device)
    run = torch.compile(model)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=size.rate, betas=BETAS, weight_decay=DECAY, fused=True
    )
    windows = torch.randint(VOCABULARY, (size.sequences, size.length + 1), device=device)

    def take(count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, torch.bfloat16):
                loss = run(windows)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP, foreach=True)
            optimizer.step()

    take(3)
    torch.cuda.synchronize(device)
    best = math.inf
    for _ in range(rounds):
        began = time.perf_counter()
        take(steps)
        torch.cuda.synchronize(device)
        best = min(best, (time.perf_counter() - began) / steps)
    return 1e3 * best
