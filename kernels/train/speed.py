"""Times of a step: each recipe's captured step beside a plain bf16 loop that torch.compile makes."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from kernels.device import Unsupported
from kernels.measure.machine import commit, today
from kernels.precompile import keep_compiled_code
from kernels.train.job import HEAD_DIM, SIZES, VOCABULARY, Size, TrainJob
from kernels.train.model import rotated
from kernels.train.row import Speed
from kernels.train.run import quantized_gemms, seconds_of
from kernels.train.step import BETAS, CHUNK, CLIP, DECAY, Place, Trainer
from kernels.train.text import Text

_ROUNDS = 3


def speeds(names: Iterable[str], models: Iterable[str], place: Place, text_: Text) -> Iterator[Speed]:
    """Times of steps. Raises Unsupported without a GPU."""
    if place.emulate:
        raise Unsupported("times of a step are a GPU's, and there is none here")
    names = list(names)
    for model in models:
        compiled = compiled_step_ms(SIZES[model], place.device)
        for name in names:
            trainer = place.trainer(TrainJob(recipe=name, model=model), text_)
            quantized = quantized_gemms(trainer)
            trainer.get_ready()
            trainer.run(0, CHUNK, CHUNK)
            best = min(seconds_of(partial(trainer.run, 0, CHUNK, CHUNK)) for _ in range(_ROUNDS))
            counts = launches(trainer)
            yield Speed(
                model=model,
                recipe=name,
                step_ms=1e3 * best / CHUNK,
                compiled_ms=compiled,
                quantized_gemms=quantized,
                gemm_kernels=gemm_launches(counts),
                kernels=sum(counts.values()),
                machine=place.machine,
                date=today(),
                commit=commit(),
            )


def launches(trainer: Trainer) -> Counter[str]:
    """Kernels of one step on a GPU, by name, from the profiler. No state changes."""
    before = trainer.state()
    trainer.prepare(0, 1, 1)
    trainer.get_ready()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as trace:
        trainer.step()
        torch.cuda.synchronize()
    trainer.restore(before)
    kernels = [event for event in trace.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    return Counter(event.name for event in kernels)


def gemm_launches(counts: Counter[str]) -> int:
    return sum(count for name, count in counts.items() if re.fullmatch(r"\w*gemm_kernel", name))


class PlainBlock(nn.Module):
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
        q, k = rotated(q, cosine, sine), rotated(k, cosine, sine)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.layers["proj"](mixed.transpose(1, 2).reshape(sequences, length, width))
        gate, up = self.layers["gate_up"](self.norm_mlp(x)).chunk(2, -1)
        return x + self.layers["down"](functional.silu(gate) * up)


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


def compiled_step_ms(size: Size, device: torch.device) -> float:
    """The least of five rounds of 20 steps of the plain loop, whole model compiled."""
    torch.manual_seed(0)
    model = PlainDecoder(size).to(device)
    keep_compiled_code()
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
        torch.cuda.synchronize(device)

    take(3)
    return 1e3 * min(seconds_of(partial(take, 20)) for _ in range(5)) / 20
