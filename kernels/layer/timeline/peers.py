"""Arithmetics of a step by torch alone: bf16, and FP8 with casts by its operations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import torch

from fp8core.formats import FORMATS
from fp8core.linear import LayerTensor, Matmul
from fp8core.recipes import MatmulSpec, Recipe
from kernels.bench.peers.torch_ops import ScaledOp, scaled_ops
from kernels.device import Device, Unsupported
from kernels.fused import swiglu_backward_quantize, swiglu_quantize
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_gemm
from kernels.layer.plan import Reading, wanted_readings
from kernels.layer.timeline import casts
from kernels.layer.timeline.block import Pair, flop_of, multiplying, quantizing
from kernels.layer.timeline.labels import Label, Tell, bytes_of, wait
from kernels.layer.timeline.row import Role
from kernels.quantize import QuantizedTensor

_TRIES = 5
Compile = Callable[[Callable[..., Any]], Callable[..., Any]]
"""torch.compile, or what leaves a function as it is."""


def both_readings(recipe: Recipe, tensor: LayerTensor) -> tuple[Reading, ...]:
    return wanted_readings(recipe.name, tensor.value, True, True)


def _turned(x: torch.Tensor, reading: Reading) -> torch.Tensor:
    """[mn, K] of a stored tensor in bf16."""
    return x.t() if reading.k_is_rows else x


def in_bf16(spec: MatmulSpec) -> MatmulSpec:
    """The spec with D in bf16: weights and their gradients are bf16 in every way that is timed."""
    return replace(spec, out=FORMATS["bf16"])


def matmul_label(matmul: Matmul, a: Any, b: Any, shape: tuple[int, int], n: int, layer: str) -> Label:
    return Label(
        what=multiplying(matmul, layer), role=Role.MATMUL, read=bytes_of((a, b)), flop=flop_of(shape, n)
    )


@dataclass(frozen=True)
class Bf16:
    """torch's bf16 matmuls, and SwiGLU by our own kernels, which write bf16: faster than torch.compile's."""

    recipe: Recipe

    def copies(self, tell: Tell, x: torch.Tensor, tensor: LayerTensor, name: str) -> Pair:
        """Views of it."""
        first, second = both_readings(self.recipe, tensor)
        return _turned(x, first), _turned(x, second)

    def swiglu(self, tell: Tell, gate_up: torch.Tensor, dh: torch.Tensor | None) -> Pair:
        made, tensor = _activated(tell, _swiglu, _swiglu_backward, gate_up, dh)
        return self.copies(tell, made, tensor, "")

    def multiply(self, tell: Tell, matmul: Matmul, a: torch.Tensor, b: torch.Tensor, layer: str) -> Any:
        with tell(matmul_label(matmul, a, b, tuple(a.shape), b.shape[0], layer)) as piece:
            made = torch.mm(a, b.t())
            piece.wrote(made)
        return made


def _swiglu(gate_up: torch.Tensor) -> torch.Tensor:
    (made,) = swiglu_quantize(gate_up, [None])
    return made


def _swiglu_backward(dh: torch.Tensor, gate_up: torch.Tensor) -> torch.Tensor:
    (made,) = swiglu_backward_quantize(dh, gate_up, [None])
    return made


def _activated(
    tell: Tell,
    forward: Callable[[torch.Tensor], torch.Tensor],
    backward: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    gate_up: torch.Tensor,
    dh: torch.Tensor | None,
) -> tuple[torch.Tensor, LayerTensor]:
    """SwiGLU or its gradient, and what that is to the layer which reads it."""
    read = bytes_of((gate_up, dh))
    if dh is None:
        with tell(Label(what="SwiGLU", role=Role.ACTIVATION, read=read)) as piece:
            made = forward(gate_up)
            piece.wrote(made)
        return made, LayerTensor.X
    with tell(Label(what="gradient of SwiGLU", role=Role.ACTIVATION, read=read)) as piece:
        made = backward(dh, gate_up)
        piece.wrote(made)
    return made, LayerTensor.DY


@dataclass(frozen=True)
class Copy:
    """A copy that torch's operations made, and which reading of its tensor it is for."""

    made: casts.Made
    reading: Reading

    @property
    def as_operand(self) -> QuantizedTensor:
        """Itself as torch's scaled matmuls are offered it."""
        assert self.reading.operand is not None, "a copy is of a reading that is quantized"
        return casts.as_operand(self.made, self.reading.operand)


@dataclass(frozen=True)
class TorchCasts:
    """Casts by torch's operations, and torch's scaled matmul; by bf16 of decoded copies where it has none.

    - compiled: torch.compile, or `eager`. Compiled, SwiGLU is one function with the casts, to be fused.
    - last: float32[1], the amax of earlier steps for a delayed scale.
    - ops: torch's op of each matmul by its sizes, or why it has none; found at the first call.
    """

    recipe: Recipe
    device: Device
    compiled: Compile
    last: torch.Tensor
    ops: dict[tuple[str, int, int, int], ScaledOp | str] = field(default_factory=dict)

    def copies(self, tell: Tell, x: torch.Tensor, tensor: LayerTensor, name: str) -> Pair:
        """A copy for each reader, or x itself for one that takes bf16."""
        readings = both_readings(self.recipe, tensor)
        wanted = _casts(readings, (x.shape[0], x.shape[1]))
        if wanted.first is None and wanted.second is None:
            return _turned(x, readings[0]), _turned(x, readings[1])
        with tell(Label(what=quantizing(name, tensor), role=Role.QUANTIZE, read=bytes_of(x))) as piece:
            made = self.compiled(casts.cast_both)(x, wanted, self.last)
            piece.wrote(made)
        return _given(x, made, readings)

    def swiglu(self, tell: Tell, gate_up: torch.Tensor, dh: torch.Tensor | None) -> Pair:
        if self.compiled is eager:
            x, tensor = _activated(tell, casts.swiglu, casts.swiglu_backward, gate_up, dh)
            return self.copies(tell, x, tensor, "h" if dh is None else "the gradient of gate and up")
        readings = both_readings(self.recipe, LayerTensor.X if dh is None else LayerTensor.DY)
        wanted = _casts(readings, (gate_up.shape[0], gate_up.shape[1] // (2 if dh is None else 1)))
        what = f"{'SwiGLU' if dh is None else 'gradient of SwiGLU'}, quantized"
        with tell(Label(what=what, role=Role.FUSED, read=bytes_of((gate_up, dh)))) as piece:
            h, made = self.compiled(_swiglu_and_casts)(gate_up, dh, wanted, self.last)
            piece.wrote(h, made)
        return _given(h, made, readings)

    def multiply(self, tell: Tell, matmul: Matmul, a: Any, b: Any, layer: str) -> torch.Tensor:
        """By torch's op of the recipe; else decoded, by bf16."""
        (m, k), (n, _) = _shape(a), _shape(b)
        op = self.ops.get((matmul.name, m, n, k))
        if op is None:
            op = self.ops[matmul.name, m, n, k] = self._op(matmul, a, b)
        with tell(matmul_label(matmul, _tensors(a), _tensors(b), (m, k), n, layer)) as piece:
            if isinstance(op, ScaledOp):
                made = op.build(a.as_operand, b.as_operand)()
            else:
                left, right = (
                    self.compiled(casts.values)(each.made) if isinstance(each, Copy) else each
                    for each in (a, b)
                )
                made = torch.mm(left, right.t())
            piece.wrote(made)
        return made

    def _op(self, matmul: Matmul, a: Any, b: Any) -> ScaledOp | str:
        """The fastest of torch's scaled matmuls for these operands; or a sentence on why there is none."""
        spec = in_bf16(self.recipe.spec(matmul))
        if not (isinstance(a, Copy) and isinstance(b, Copy)):
            return "an operand stays bf16"
        (m, k), (n, _) = _shape(a), _shape(b)
        plan = plan_gemm(spec, (m, n, k), self.device, Summation.RECIPE)
        if isinstance(plan, Unsupported):
            return plan.reason
        operands = a.as_operand, b.as_operand
        found = scaled_ops(*operands, plan)
        return found if isinstance(found, str) else min(found, key=lambda op: _time(op, *operands))

    @property
    def note(self) -> str:
        """Sentences on the matmuls for which torch has no op."""
        reasons = {reason for reason in self.ops.values() if isinstance(reason, str)}
        return " ".join(f"Decoded and multiplied in bf16: {reason}." for reason in sorted(reasons))


def _casts(readings: tuple[Reading, ...], shape: tuple[int, int]) -> casts.Casts:
    """The casts of a tensor of that shape for both readings. Raises Unsupported where there is none."""
    first, second = (casts.cast_of(reading) for reading in readings)
    for cast in (first, second):
        if cast is not None:
            casts.check_divides(cast, shape)
    return casts.Casts.of(first, second)


def _given(x: torch.Tensor | None, made: Sequence[casts.Made | None], readings: tuple[Reading, ...]) -> Pair:
    """What each reader is given."""
    first, second = (
        _turned(x, reading) if each is None else Copy(each, reading)
        for each, reading in zip(made, readings, strict=True)
    )
    return first, second


def _tensors(operand: Any) -> Any:
    return (operand.made.codes, operand.made.scale) if isinstance(operand, Copy) else operand


def _shape(operand: Any) -> tuple[int, int]:
    """(mn, K)."""
    mn, k = (operand.made.codes if isinstance(operand, Copy) else operand).shape
    return mn, k


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return function


def _swiglu_and_casts(
    gate_up: torch.Tensor, dh: torch.Tensor | None, wanted: casts.Casts, last: torch.Tensor
) -> tuple[torch.Tensor | None, list[casts.Made | None]]:
    """SwiGLU or its gradient in bf16 where somebody reads that, and its copies."""
    made = casts.swiglu(gate_up) if dh is None else casts.swiglu_backward(dh, gate_up)
    both = wanted.first is not None and wanted.second is not None
    return (None if both else made), casts.cast_both(made, wanted, last)


def _time(op: ScaledOp, a: QuantizedTensor, b: QuantizedTensor) -> float:
    """Seconds of a few launches, once warm."""
    launch = op.build(a, b)
    launch()
    wait()
    started = perf_counter()
    for _ in range(_TRIES):
        launch()
    wait()
    return perf_counter() - started
