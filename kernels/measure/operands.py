"""The tensors of a GemmJob: drawn (fp8core.inputs), rounded to bf16, quantized."""

import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray

from fp8core.costs import code_bytes, scale_bytes
from fp8core.formats import FORMATS
from fp8core.inputs import RECORDED, InputKind, draw_operand, kind_of
from fp8core.linear import LayerTensor, Side
from fp8core.recipes import Operand
from kernels.cores import cores
from kernels.device import Device
from kernels.gemm.factor import GemmOperand
from kernels.gemm.plan import GemmPlan
from kernels.measure.jobs import GemmJob, Into
from kernels.quantize import QuantizedTensor, quantize

_CPU_BYTES = 2**30
_EXPECTED, _MOST_EXPECTED = 12, 2**26

_drawing = ThreadPoolExecutor(max(2, min(8, cores() // 2)), thread_name_prefix="drawing")
"""Threads that draw for the next jobs. A warm first answer takes 0.1 s once its operands are drawn, and numpy
takes 0.25 s to draw 4096 × 4096 (H200, 2026-11-29).
"""


@dataclass(frozen=True)
class Operands:
    job: GemmJob
    a: torch.Tensor
    b: torch.Tensor

    @classmethod
    def of(cls, job: GemmJob, device: Device) -> "Operands":
        # Both at once: numpy draws on one core each, for seconds where they are large.
        with ThreadPoolExecutor(2) as pool:
            a, b = pool.map(draws, Draw.of(job, device))
        return cls(job, a, b)

    @classmethod
    def normal(cls, job: GemmJob, device: Device) -> "Operands":
        """Normal numbers, drawn on the device: for large tensors numpy takes seconds."""
        layer = job.matmul_data.layer(*job.mnk)
        shapes = (layer.of(job.matmul_data.a), layer.of(job.matmul_data.b))
        seeds = (2 * job.seed, 2 * job.seed + 1)
        return cls(job, *(normal(*each, device.place) for each in zip(shapes, seeds, strict=True)))

    @classmethod
    def expect(cls, job: GemmJob, device: Device) -> None:
        for draw in Draw.of(job, device):
            draws.expect(draw)

    def copied(self) -> "Operands":
        return Operands(self.job, self.a.clone(), self.b.clone())

    def as_operands(self) -> tuple[torch.Tensor, torch.Tensor]:
        """bf16 views A [M, K] and B [N, K]."""
        return tuple(
            x.T if self.job.matmul_data.k_is_rows(side) else x
            for side, x in ((Side.A, self.a), (Side.B, self.b))
        )

    def quantized(self) -> tuple[GemmOperand, GemmOperand]:
        """A and B, quantized as the recipe says, or bf16 [mn, K] where it leaves them so.

        The history of a delayed scale holds the tensor's own amax: one pass makes the codes.
        """
        recipe, matmul = self.job.recipe_data, self.job.matmul_data
        pair = list(self.as_operands())
        for place, (side, x) in enumerate(zip(Side, (self.a, self.b), strict=True)):
            if (operand := recipe.operand(matmul, side)) is not None:
                pair[place] = quantized(x, operand, 2 * self.job.seed + place, self._amaxes[place])
        return pair[0], pair[1]

    @cached_property
    def _amaxes(self) -> tuple[torch.Tensor | None, ...]:
        """float32[1] of a tensor whose scale is delayed."""
        pairs = zip(map(self.job.spec.operand, Side), (self.a, self.b), strict=True)
        return tuple(
            x.abs().amax().float().reshape(1) if spec and spec.scale_rule.history and x.numel() else None
            for spec, x in pairs
        )


def normal(shape: tuple[int, int], seed: int, device: str) -> torch.Tensor:
    generator = torch.Generator(device).manual_seed(seed)
    return torch.randn(shape, generator=generator, device=device, dtype=torch.float32).bfloat16()


def quantized(
    x: torch.Tensor, operand: Operand, seed: int, history: torch.Tensor | None = None
) -> QuantizedTensor:
    """x [rows, columns], quantized. `seed`: for random codes, `history`: for a delayed scale."""
    is_delayed = bool(operand.spec.scale_rule.history)
    return quantize(
        x, operand, seed=seed if operand.spec.is_random else None, history=history if is_delayed else None
    )


@dataclass(frozen=True)
class Draw:
    kind: InputKind
    tensor: LayerTensor
    shape: tuple[int, int]
    fan_in: int
    seed: int
    place: str

    @classmethod
    def of(cls, job: GemmJob, device: Device) -> "tuple[Draw, Draw]":
        layer, matmul = job.matmul_data.layer(*job.mnk), job.matmul_data
        return tuple(
            cls(job.input, tensor, layer.of(tensor), layer.in_, 2 * job.seed + number, device.place)
            for number, tensor in enumerate((matmul.a, matmul.b))
        )

    @property
    def key(self) -> tuple[object, ...]:
        with_fan_in = self.tensor is LayerTensor.W and self.kind is not InputKind.GAUSSIAN and self.fan_in
        kind = kind_of(self.kind, self.tensor), self.kind in RECORDED and self.tensor
        return *kind, with_fan_in, self.shape, self.seed, self.place

    def numbers(self) -> NDArray[np.float32]:
        return draw_operand(self.kind, self.tensor, self.shape, self.seed, fan_in=self.fan_in)


class Drawn:
    """Cache of the tensors drawn last: a class asks for the same ones in many recipes. Thread-safe.

    They take at most a share of their device's memory, but the last two always stay.
    """

    def __init__(self, share: float = 1 / 16) -> None:
        self._share = share
        self._lock = threading.Lock()
        self._tensors: OrderedDict[tuple[object, ...], torch.Tensor] = OrderedDict()
        self._expected: OrderedDict[tuple[object, ...], Future[NDArray[np.float32]]] = OrderedDict()

    def __call__(self, draw: Draw) -> torch.Tensor:
        key = draw.key
        with self._lock:
            if key in self._tensors:
                self._tensors.move_to_end(key)
                return self._tensors[key]
            expected = self._expected.pop(key, None)
        x = torch.from_numpy(expected.result() if expected else draw.numbers()).to(draw.place).bfloat16()
        with self._lock:
            self._tensors[key] = x
            limit = self._share * _memory_bytes(draw.place)
            while len(self._tensors) > 2 and sum(each.nbytes for each in self._tensors.values()) > limit:
                self._tensors.popitem(last=False)
        return x

    def expect(self, draw: Draw) -> None:
        """Draw numbers ahead. The last few wait in the host's memory: the job may not come."""
        key = draw.key
        with self._lock:
            if key in self._tensors or key in self._expected or prod(draw.shape) > _MOST_EXPECTED:
                return
            self._expected[key] = _drawing.submit(draw.numbers)
            while len(self._expected) > _EXPECTED:
                self._expected.popitem(last=False)[1].cancel()

    def cache_clear(self) -> None:
        with self._lock:
            self._tensors.clear()


draws = Drawn()


def _memory_bytes(where: str) -> int:
    return _CPU_BYTES if where == "cpu" else torch.cuda.get_device_properties(where).total_memory


def least_bytes(job: GemmJob, plan: GemmPlan) -> int:
    """Least traffic of the GEMM: codes, scales and D once each, D twice where it is added into."""
    recipe, matmul = job.recipe_data, job.matmul_data
    layer = matmul.layer(*job.mnk)
    total = job.m * job.n * plan.numerics.spec.out.bytes * (2 if job.into is Into.ACCUMULATE else 1)
    for side in Side:
        shape, operand = layer.of(matmul.operand(side)), recipe.operand(matmul, side)
        own = prod(shape) * FORMATS["bf16"].bytes if operand is None else code_bytes(operand, shape)
        total += own if operand is None else own + scale_bytes(operand, shape)
    return total
