"""Times of launches in a few milliseconds: CUDA graphs over buffers that rotate through more than the L2."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.bench.capture import capturing
from kernels.bench.operands import held_bytes
from kernels.bench.peers.torch_ops import bf16_ops, scaled_ops
from kernels.bench.timing import Load, buffer_sets
from kernels.device import Device
from kernels.gemm.blocks import Blocks
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.plan import GemmPlan
from kernels.gemm.simple.blocks import built_in
from kernels.tune.random_operands import copied, random_operands
from kernels.tune.sample import DrawnGemm

Launch = Callable[[], object]
_MOST_SETS = 64
_NEAR = 1 / 8


class GraphTurn:
    """A turn of kernels.bench.timing: one graph of a launch on each set of buffers, replayed for a while."""

    def __init__(self, name: str, launches: Sequence[Launch], turn_us: float) -> None:
        self.name = name
        self._held = launches
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            launches[0]()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with capturing(self._graph):
            for launch in launches:
                launch()
        self._replays = 1
        self._graph.replay()
        self._replays = max(1, round(turn_us / max(self._us(), 1.0)))

    def times_us(self) -> list[float]:
        """Microseconds of a launch, the mean over the turn."""
        return [self._us() / (self._replays * len(self._held))]

    def load(self) -> Load:
        """Nothing: turns are too short for a clock to be read in them."""
        return Load()

    def _us(self) -> float:
        started, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        started.record()
        for _ in range(self._replays):
            self._graph.replay()
        ended.record()
        ended.synchronize()
        return started.elapsed_time(ended) * 1e3


class Bench:
    """A drawn GEMM on the GPU: its operands, in as many copies as exceed twice the L2."""

    def __init__(self, drawn: DrawnGemm, plan: GemmPlan, device: Device) -> None:
        self.drawn, self.plan, self._device = drawn, plan, device
        out = torch_dtype(plan.meaning.spec.out)
        recipe, matmul = RECIPES[drawn.recipe], MATMULS[drawn.matmul]
        pair = random_operands(recipe, matmul, drawn.mnk, device.place)
        self._outs = [torch.empty((drawn.m, drawn.n), dtype=out, device=device.place)]
        size = sum(map(held_bytes, pair)) + self._outs[0].nbytes
        self._pairs = [pair]
        for _ in range(min(_MOST_SETS, buffer_sets(size, device.l2_bytes)) - 1):
            self._pairs.append((copied(pair[0]), copied(pair[1])))
            self._outs.append(torch.empty_like(self._outs[0]))
        self._truth: torch.Tensor | None = None

    def launches(self, blocks: Blocks) -> list[Launch]:
        """A launch on each set of buffers."""
        plan = replace(self.plan, blocks=blocks)
        pairs = zip(self._pairs, self._outs, strict=True)
        return [partial(gemm, *pair, plan, out=out) for pair, out in pairs]

    def is_near(self, blocks: Blocks) -> bool:
        """True where D is near what the built-in blocks give: with a lost run of K it would not be."""
        out = gemm(*self._pairs[0], replace(self.plan, blocks=blocks))
        if self._truth is None:
            simple = built_in(self.plan.meaning, self.drawn.mnk, self._device)
            self._truth = gemm(*self._pairs[0], replace(self.plan, blocks=simple))
        truth, found = self._truth.float(), out.float()
        both = torch.isfinite(truth)
        scale = torch.where(both, truth, 0.0).square().mean().sqrt()
        return bool(torch.where(both, (found - truth).abs(), 0.0).max() <= _NEAR * scale)

    def peers(self) -> dict[str, list[Launch]]:
        """Torch's ops for these operands, by name: of the same scales, else bf16 matmuls."""
        first = self._pairs[0]
        found = scaled_ops(*first, self.plan)
        if not isinstance(found, str):
            return {op.title: [op.build(*pair) for pair in self._pairs] for op in found}
        m, n, k = self.drawn.mnk
        matmul, out = MATMULS[self.drawn.matmul], self._outs[0].dtype
        layer, operands = matmul.layer(m, n, k), []
        size = 2 * (m * k + n * k) + m * n * out.itemsize
        for _ in range(min(_MOST_SETS, buffer_sets(size, self._device.l2_bytes))):
            a, b = (
                torch.randn(layer.of(tensor), device=self._device.place, dtype=torch.bfloat16)
                for tensor in (matmul.a, matmul.b)
            )
            operands.append(
                (a.T if matmul.a.axes[0] is matmul.k else a, b.T if matmul.b.axes[0] is matmul.k else b)
            )
        ops = bf16_ops(*operands[0], out, None)
        return {op.title: [op.build(*pair, None) for pair in operands] for op in ops}


def compile_drawn(drawn: DrawnGemm, plan: GemmPlan, blocks: Blocks) -> str:
    """Compile what a launch runs and run it once: Triton keeps the code on disk. Why it cannot run, or ""."""
    from triton.errors import TritonError

    from kernels.device import current_device

    recipe, matmul = RECIPES[drawn.recipe], MATMULS[drawn.matmul]
    try:
        pair = random_operands(recipe, matmul, drawn.mnk, current_device().place)
        gemm(*pair, replace(plan, blocks=blocks))
        torch.cuda.synchronize()
    except (TritonError, RuntimeError, AssertionError, ValueError) as error:
        first, *_ = str(error).splitlines() or [type(error).__name__]
        return f"{blocks.title}: {first}"
    return ""
