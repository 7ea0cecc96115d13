"""Ways of a job: bf16 and FP8 by torch, our own layers, and the matmuls alone."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from kernels.device import Device, Unsupported
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_gemm
from kernels.layer.calls import KERNELS, Calls, Parts, Seeds, mn_first, observed
from kernels.layer.float8_linear import Float8Linear
from kernels.layer.mlp import SwigluMlp
from kernels.layer.plan import Product, Reading
from kernels.layer.steps import Call, random_seeds, steps_of
from kernels.layer.timeline import casts
from kernels.layer.timeline.row import Block, Phase, Role, TimelineJob, Way
from kernels.layer.timeline.trace import EachOperation, Piece, Pieces, bytes_of, wait
from kernels.measure.torch_peers import TorchOp, scaled_ops
from kernels.precompile import keep_compiled_code
from kernels.quantize import swiglu_backward_quantize, swiglu_quantize

_TRIES = 5
Compile = Callable[[Callable[..., Any]], Callable[..., Any]]


class Tensors:
    """Normal inputs of a block in bf16: x and dy [tokens, …], and its weights, by which y has x's size."""

    def __init__(self, job: TimelineJob, device: str = "cuda") -> None:
        dice = torch.Generator(device).manual_seed(0)

        def normal(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=dice, dtype=torch.bfloat16, device=device)

        def weight(out: int, in_: int) -> torch.Tensor:
            return normal(out, in_).mul_(in_**-0.5)

        is_mlp = job.block is Block.MLP
        first = weight((1 + is_mlp) * job.out, job.in_)
        self.weights = (first, weight(job.in_, job.out)) if is_mlp else (first,)
        self.dy = normal(job.tokens, self.weights[-1].shape[0])
        self.x = normal(job.tokens, job.in_)


def _half(pieces: Pieces | None, phase: Phase) -> AbstractContextManager[object]:
    half = Piece(what=phase.value, role=Role.OTHER, phase=phase)
    return nullcontext() if pieces is None else pieces(half)


def marked(calls: Calls, pieces: Pieces, activation: Role = Role.FUSED) -> Calls:
    """Operations, each marked as a piece. `activation`: the role of SwiGLU."""

    def quantize(x: torch.Tensor, readings: Sequence[Reading], seeds: Seeds) -> list[Parts]:
        titles = " and ".join(each.matmul.title for each in readings)
        what = f"quantize {readings[0].tensor.value} {list(x.shape)} for {titles}"
        with pieces(Piece(what=what, role=Role.QUANTIZE, read=bytes_of(x))) as piece:
            copies = calls.quantize(x, readings, seeds)
            piece.written = bytes_of(copies)
        return copies

    def swiglu(gate_up: torch.Tensor, dh: torch.Tensor | None, *rest: Any) -> list[Parts]:
        what = "SwiGLU" if dh is None else "gradient of SwiGLU"
        what = f"{what}, quantized" if activation is Role.FUSED else what
        with pieces(Piece(what=what, role=activation, read=bytes_of((gate_up, dh)))) as piece:
            copies = calls.swiglu(gate_up, dh, *rest)
            piece.written = bytes_of(copies)
        return copies

    def multiply(a: Parts, b: Parts, k: int, product: Product, *rest: Any) -> torch.Tensor:
        with pieces(Piece(what=product.matmul.title, role=Role.MATMUL, read=bytes_of((a, b)))) as piece:
            d = calls.multiply(a, b, k, product, *rest)
            m, n = d.shape
            piece.written, piece.flop = bytes_of(d), 2 * m * n * k
            piece.what = f"{piece.what} {m} × {n} × {k}"
        return d

    return Calls(quantize, swiglu, multiply)


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A way, ready to run: `step(pieces)` is one step, with marks unless pieces is None.

    - held: bytes that a forward leaves for its backward. weight_bytes: of copies that live between steps.
    - by_operation: each of torch's operations is a piece.
    - note: sentences, called after a step.
    """

    way: Way
    step: Callable[[Pieces | None], None]
    held: Callable[[], int]
    weight_bytes: int = 0
    by_operation: bool = False
    note: Callable[[], str] = str

    def run(self) -> None:
        self.step(None)

    def marked(self, pieces: Pieces) -> None:
        with EachOperation(pieces) if self.by_operation else nullcontext():
            self.step(pieces)


def ready(way: Way, job: TimelineJob, tensors: Tensors, device: Device) -> Ready:
    """Prepare a way. Raises Unsupported if it cannot run."""
    if way in (Way.OURS, Way.OURS_KEPT):
        return _layers(way, job, tensors)
    is_mlp = job.block is Block.MLP
    if way is Way.BOUND:
        nothing = "Neither SwiGLU nor any cast is in it." if is_mlp else "No cast is in it."
        step = Step(job, tensors, _bound())
        return Ready(way=way, step=step, held=lambda: 0, note=lambda: nothing)
    if way is Way.BF16:
        step = Step(job, tensors, BF16, Role.ACTIVATION)
        note = "SwiGLU and its gradient are a kernel each, ours, which write bf16." if is_mlp else ""
        return Ready(way=way, step=step, held=step.held, note=lambda: note)
    by = eager if way is Way.NAIVE else _compiled
    torch_casts = TorchCasts(device, by)
    step = Step(job, tensors, torch_casts.calls, Role.ACTIVATION if by is eager else Role.FUSED)
    return Ready(way=way, step=step, held=step.held, by_operation=by is eager, note=lambda: torch_casts.note)


class Step:
    """A step of a block by some operations, without autograd.

    activation: FUSED if SwiGLU quantizes its result; else another piece does.
    """

    def __init__(
        self, job: TimelineJob, tensors: Tensors, calls: Calls, activation: Role = Role.FUSED
    ) -> None:
        layers = len(tensors.weights)
        self._steps = steps_of(job.recipe, False, layers)
        self._seeds = random_seeds(self._steps.plan, layers, tensors.x.device)
        self._tensors, self._calls, self._activation = tensors, calls, activation

    def __call__(self, pieces: Pieces | None) -> None:
        with _half(pieces, Phase.FORWARD):
            call, groups = self.forward(pieces)
        with _half(pieces, Phase.BACKWARD):
            dtypes = (torch.bfloat16,) * len(call.needs_grad)
            self._steps.backward(self._tensors.dy, groups, dtypes, call)

    def forward(self, pieces: Pieces | None = None) -> tuple[Call, list[Parts]]:
        weights = self._tensors.weights
        calls = self._calls if pieces is None else marked(self._calls, pieces, self._activation)
        if self._activation is not Role.FUSED:
            calls = calls._replace(swiglu=_apart(calls))
        call = Call(calls, (True,) * (1 + len(weights)), self._seeds, (None,) * len(weights))
        _, groups = self._steps.forward(self._tensors.x, weights, call)
        return call, groups

    def held(self) -> int:
        _, groups = self.forward()
        return _bytes(_storages(groups), without=_storages(self._tensors.weights))


def _apart(calls: Calls) -> Callable[..., list[Parts]]:
    """SwiGLU in bf16, then its copies."""

    def swiglu(
        gate_up: torch.Tensor, dh: torch.Tensor | None, readings: Sequence[Reading], seeds: Seeds
    ) -> list[Parts]:
        ((h,),) = calls.swiglu(gate_up, dh, readings, seeds)
        targets = [each for each in readings if each.operand is not None]
        copies = iter(calls.quantize(h, targets, seeds) if targets else ())
        return [[h] if each.operand is None else next(copies) for each in readings]

    return swiglu


def _bf16_swiglu(gate_up: torch.Tensor, dh: torch.Tensor | None, *rest: Any) -> list[Parts]:
    """Ours: faster than torch.compile's."""
    if dh is None:
        return [[*swiglu_quantize(gate_up, [None])]]
    return [[*swiglu_backward_quantize(dh, gate_up, [None])]]


def _bf16_multiply(a: Parts, b: Parts, k: int, product: Product, *rest: Any) -> torch.Tensor:
    left = a[0].t() if product.a.k_is_rows else a[0]
    return torch.mm(left, b[0] if product.b.k_is_rows else b[0].t())


BF16 = Calls(lambda x, readings, seeds: [[x] for _ in readings], _bf16_swiglu, _bf16_multiply)


@dataclass(frozen=True)
class TorchCasts:
    """Casts by torch's operations, and torch's scaled matmul, or bf16 of decoded copies if it has none.

    - compiled: torch.compile, which gets SwiGLU and its casts as one function to fuse, or `eager`.
    - ops: torch's op of each matmul by its sizes, or the reason why it has none.
    """

    device: Device
    compiled: Compile
    ops: dict[tuple[str, int, int, int], TorchOp | str] = field(default_factory=dict)

    @property
    def calls(self) -> Calls:
        return Calls(self._quantize, self._swiglu, self._multiply)

    def _quantize(self, x: torch.Tensor, readings: Sequence[Reading], seeds: Seeds) -> list[Parts]:
        copies = self.compiled(casts.cast_all)(x, casts.casts_of(readings, x.shape))
        return [[copy.codes, copy.scale] for copy in copies if copy is not None]

    def _swiglu(
        self, gate_up: torch.Tensor, dh: torch.Tensor | None, readings: Sequence[Reading], seeds: Seeds
    ) -> list[Parts]:
        if self.compiled is eager:
            return [[_activated(gate_up, dh)]]
        shape = gate_up.shape[0], gate_up.shape[1] // (2 if dh is None else 1)
        both = casts.casts_of(readings, shape)
        h, copies = self.compiled(_activated_and_cast)(gate_up, dh, both)
        return [[h] if copy is None else [copy.codes, copy.scale] for copy in copies]

    def _multiply(self, a: Parts, b: Parts, k: int, product: Product, *rest: Any) -> torch.Tensor:
        operands = (a, product.a), (b, product.b)
        m, n = (mn_first(each, x).shape[0] for x, each in operands)
        key = product.matmul.name, m, n, k
        if key not in self.ops:
            self.ops[key] = self._op(product, (m, n, k), operands)
        op = self.ops[key]
        if isinstance(op, TorchOp):
            return op.build(*(casts.as_operand(*x, each.operand) for x, each in operands))()
        left, right = (
            mn_first(each, x) if len(x) == 1 else self.compiled(casts.values)(*x) for x, each in operands
        )
        return torch.mm(left, right.t())

    def _op(
        self, product: Product, mnk: tuple[int, int, int], operands: Sequence[tuple[Parts, Reading]]
    ) -> TorchOp | str:
        """The fastest of torch's scaled matmuls, or a reason why there is none."""
        if any(each.operand is None for _, each in operands):
            return "an operand stays bf16"
        plan = plan_gemm(product.bf16_spec, mnk, self.device, Summation.RECIPE)
        if isinstance(plan, Unsupported):
            return plan.reason
        tensors = [casts.as_operand(*x, each.operand) for x, each in operands]
        ops = scaled_ops(*tensors, plan)
        return ops if isinstance(ops, str) else min(ops, key=lambda op: _seconds(op.build(*tensors)))

    @property
    def note(self) -> str:
        reasons = {reason for reason in self.ops.values() if isinstance(reason, str)}
        return " ".join(f"Decoded and multiplied in bf16: {reason}." for reason in sorted(reasons))


def _activated(gate_up: torch.Tensor, dh: torch.Tensor | None) -> torch.Tensor:
    return casts.swiglu(gate_up) if dh is None else casts.swiglu_backward(dh, gate_up)


def _activated_and_cast(
    gate_up: torch.Tensor, dh: torch.Tensor | None, both: casts.Casts
) -> tuple[torch.Tensor | None, list[casts.TorchCopy | None]]:
    """h in bf16 if a matmul reads that, and its copies."""
    h = _activated(gate_up, dh)
    return (h if None in both else None), casts.cast_all(h, both)


def _seconds(launch: Callable[[], object]) -> float:
    launch()
    wait()
    start = perf_counter()
    for _ in range(_TRIES):
        launch()
    wait()
    return perf_counter() - start


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    keep_compiled_code()
    return torch.compile(function, dynamic=False, fullgraph=True)


def _bound() -> Calls:
    """Quantizing and SwiGLU are free: the first copies are used again, of normal numbers after SwiGLU."""
    copies: dict[object, list[Parts]] = {}

    def quantize(x: torch.Tensor, readings: Sequence[Reading], seeds: Seeds) -> list[Parts]:
        key = readings[0].tensor, x.data_ptr()
        if key not in copies:
            copies[key] = KERNELS.quantize(x, readings, seeds)
        return copies[key]

    def swiglu(
        gate_up: torch.Tensor, dh: torch.Tensor | None, readings: Sequence[Reading], seeds: Seeds
    ) -> list[Parts]:
        key = "h" if dh is None else "gradient"
        if key not in copies:
            shape = gate_up.shape[0], gate_up.shape[1] // (2 if dh is None else 1)
            h = torch.randn(shape, dtype=torch.bfloat16, device=gate_up.device)
            copies[key] = _apart(KERNELS._replace(swiglu=lambda *inputs: [[h]]))(gate_up, dh, readings, seeds)
        return copies[key]

    return KERNELS._replace(quantize=quantize, swiglu=swiglu)


def _layers(way: Way, job: TimelineJob, tensors: Tensors) -> Ready:
    options: dict[str, Any] = {"recipe": job.recipe, "device": "meta", "dtype": torch.bfloat16}
    module: Float8Linear | SwigluMlp
    if job.block is Block.MLP:
        module = SwigluMlp(job.in_, job.out, **options)
        layers: tuple[Float8Linear, ...] = (module.gate_up, module.down)
    else:
        module = Float8Linear(job.in_, job.out, bias=False, **options)
        layers = (module,)
    for layer, weight in zip(layers, tensors.weights, strict=True):
        layer.weight = torch.nn.Parameter(weight)
    is_later = way is Way.OURS_KEPT
    w_copies = _storages([layer.w_copies(is_first_microbatch=True) for layer in layers if is_later])
    run = (lambda x: module(x, is_first_microbatch=False)) if is_later else module

    def step(pieces: Pieces | None) -> None:
        x = tensors.x.detach().requires_grad_()
        with nullcontext() if pieces is None else observed(lambda calls: marked(calls, pieces)):
            with _half(pieces, Phase.FORWARD):
                y = run(x)
            with _half(pieces, Phase.BACKWARD):
                torch.autograd.grad(y, (x, *(layer.weight for layer in layers)), tensors.dy)

    def held() -> int:
        saved: list[torch.Tensor] = []
        with torch.autograd.graph.saved_tensors_hooks(lambda x: saved.append(x) or x, lambda x: x):
            run(tensors.x.detach().requires_grad_())
        return _bytes(_storages(saved), without=w_copies | _storages(tensors.weights))

    fuses = module.fuses(job.tokens) if isinstance(module, SwigluMlp) else True
    note = " ".join(filter(None, (_LATER if is_later else "", "" if fuses else _APART)))
    return Ready(way=way, step=step, held=held, weight_bytes=_bytes(w_copies, without={}), note=lambda: note)


_LATER = "The copies of the weights were made before, as between two microbatches of one step."
_APART = "SwiGLU is written in bf16 and then quantized: no kernel does both for this recipe and shape."


def _storages(things: Any) -> dict[int, int]:
    storages = [each.untyped_storage() for each in tree_leaves(things) if isinstance(each, torch.Tensor)]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}


def _bytes(storages: dict[int, int], without: dict[int, int]) -> int:
    return sum(size for address, size in storages.items() if address not in without)
