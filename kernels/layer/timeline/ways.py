"""The ways of a job, each ready to run: bf16 and FP8 by torch, our own layers, and the matmuls alone."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from kernels.device import Device, Unsupported
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_gemm
from kernels.layer.calls import KERNELS, Calls, Parts, Seeds, observed
from kernels.layer.float8_linear import Float8Linear
from kernels.layer.mlp import SwigluMlp
from kernels.layer.plan import Product, Reading
from kernels.layer.steps import Call, Steps, random_seeds, steps_of
from kernels.layer.timeline import casts
from kernels.layer.timeline.row import Block, Phase, Role, TimelineJob, Way
from kernels.layer.timeline.trace import EachOperation, Piece, Pieces, bytes_of, wait
from kernels.measure.torch_peers import ScaledOp, scaled_ops
from kernels.precompile import keep_compiled_code
from kernels.quantize import swiglu_backward_quantize, swiglu_quantize

_TRIES = 5
Compile = Callable[[Callable[..., Any]], Callable[..., Any]]
"""torch.compile, or what leaves a function as it is."""


@dataclass(frozen=True, kw_only=True)
class Tensors:
    """What a block is given, in bf16: x and dy [tokens, …], and one weight, or gate_up's and down's."""

    x: torch.Tensor
    dy: torch.Tensor
    weights: tuple[torch.Tensor, ...]

    @classmethod
    def of(cls, job: TimelineJob, place: str = "cuda", seed: int = 0) -> "Tensors":
        """Normal numbers on a device; weights are scaled so that y has x's size."""
        dice = torch.Generator(place).manual_seed(seed)

        def drawn(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=dice, dtype=torch.bfloat16, device=place)

        def weight(out: int, in_: int) -> torch.Tensor:
            return drawn(out, in_).mul_(in_**-0.5)

        is_mlp = job.block is Block.MLP
        first = weight((1 + is_mlp) * job.out, job.in_)
        weights = (first, weight(job.in_, job.out)) if is_mlp else (first,)
        dy = drawn(job.tokens, weights[-1].shape[0])
        return cls(x=drawn(job.tokens, job.in_), dy=dy, weights=weights)


@contextmanager
def _half(pieces: Pieces | None, phase: Phase) -> Iterator[None]:
    """Mark a half of a step, where somebody looks."""
    half = Piece(what=phase.value, role=Role.OTHER, phase=phase)
    with nullcontext() if pieces is None else pieces(half):
        yield


def marked(calls: Calls, pieces: Pieces, activation: Role = Role.FUSED) -> Calls:
    """Operations of a step, each of which marks a piece of it. `activation`: the role of SwiGLU."""

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
            made = calls.multiply(a, b, k, product, *rest)
            m, n = made.shape
            piece.written, piece.flop = bytes_of(made), 2 * m * n * k
            piece.what = f"{piece.what} {m} × {n} × {k}"
        return made

    return Calls(quantize, swiglu, multiply)


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A way, ready to run: `step(pieces)` is one step, whose pieces are marked where they are given.

    - held: bytes that a forward leaves for its backward. weight_bytes: of copies kept from step to step.
    - by_operation: each of torch's operations is a piece of its own.
    - note: asked once the step has run.
    """

    way: Way
    step: Callable[[Pieces | None], None]
    held: Callable[[], int]
    weight_bytes: int = 0
    by_operation: bool = False
    note: Callable[[], str] = str

    def run(self) -> None:
        """One step, as it is timed."""
        self.step(None)

    def marked(self, pieces: Pieces) -> None:
        """One step, piece by piece."""
        with EachOperation(pieces) if self.by_operation else nullcontext():
            self.step(pieces)


def ready(way: Way, job: TimelineJob, tensors: Tensors, device: Device) -> Ready:
    """Make a way ready. Raises Unsupported where it cannot be."""
    if way in (Way.OURS, Way.OURS_KEPT):
        return _layers(way, job, tensors)
    is_mlp = job.block is Block.MLP
    if way is Way.BOUND:
        nothing = "Neither SwiGLU nor any cast is in it." if is_mlp else "No cast is in it."
        step = Step.of(job, tensors, Bound().calls)
        return Ready(way=way, step=step, held=lambda: 0, note=lambda: nothing)
    if way is Way.BF16:
        step = Step.of(job, tensors, BF16, Role.ACTIVATION)
        note = "SwiGLU and its gradient are a kernel each, ours, which write bf16." if is_mlp else ""
        return Ready(way=way, step=step, held=step.held, note=lambda: note)
    by = eager if way is Way.NAIVE else _compiled
    torch_casts = TorchCasts(device, by)
    step = Step.of(job, tensors, torch_casts.calls, Role.ACTIVATION if by is eager else Role.FUSED)
    return Ready(way=way, step=step, held=step.held, by_operation=by is eager, note=lambda: torch_casts.note)


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step of a block by some operations; no autograd is in it.

    activation: FUSED where SwiGLU quantizes what it gives, else that is quantized by a piece of its own.
    """

    steps: Steps
    tensors: Tensors
    calls: Calls
    activation: Role
    seeds: tuple[torch.Tensor, ...]

    @classmethod
    def of(cls, job: TimelineJob, tensors: Tensors, calls: Calls, activation: Role = Role.FUSED) -> "Step":
        """The step of a job."""
        layers = len(tensors.weights)
        steps = steps_of(job.recipe, False, layers)
        seeds = random_seeds(steps.plan, layers, tensors.x.device)
        return cls(steps=steps, tensors=tensors, calls=calls, activation=activation, seeds=seeds)

    def __call__(self, pieces: Pieces | None) -> None:
        """Forward and backward; what they give is dropped."""
        with _half(pieces, Phase.FORWARD):
            call, groups = self.forward(pieces)
        with _half(pieces, Phase.BACKWARD):
            dtypes = (torch.bfloat16,) * len(call.needs_grad)
            self.steps.backward(self.tensors.dy, groups, dtypes, call)

    def forward(self, pieces: Pieces | None = None) -> tuple[Call, list[Parts]]:
        """The call, and the tensors that its backward reads."""
        weights = self.tensors.weights
        calls = self.calls if pieces is None else marked(self.calls, pieces, self.activation)
        if self.activation is not Role.FUSED:
            calls = calls._replace(swiglu=_apart(calls))
        call = Call(calls, (True,) * (1 + len(weights)), self.seeds, (None,) * len(weights))
        _, groups = self.steps.forward(self.tensors.x, weights, call)
        return call, groups

    def held(self) -> int:
        """Bytes of what a forward leaves for its backward, the weights apart."""
        _, groups = self.forward()
        return _bytes(_storages(groups), without=_storages(self.tensors.weights))


def _apart(calls: Calls) -> Callable[..., list[Parts]]:
    """SwiGLU in bf16, and then its copies."""

    def swiglu(
        gate_up: torch.Tensor, dh: torch.Tensor | None, readings: Sequence[Reading], seeds: Seeds
    ) -> list[Parts]:
        ((h,),) = calls.swiglu(gate_up, dh, readings, seeds)
        targets = [each for each in readings if each.operand is not None]
        copies = iter(calls.quantize(h, targets, seeds) if targets else ())
        return [[h] if each.operand is None else next(copies) for each in readings]

    return swiglu


def _turned(x: torch.Tensor, reading: Reading) -> torch.Tensor:
    """[mn, K] of a stored tensor in bf16."""
    return x.t() if reading.k_is_rows else x


def _bf16_swiglu(gate_up: torch.Tensor, dh: torch.Tensor | None, *rest: Any) -> list[Parts]:
    """Our own kernel, faster than torch.compile's."""
    if dh is None:
        return [[*swiglu_quantize(gate_up, [None])]]
    return [[*swiglu_backward_quantize(dh, gate_up, [None])]]


def _bf16_multiply(a: Parts, b: Parts, k: int, product: Product, *rest: Any) -> torch.Tensor:
    return torch.mm(_turned(a[0], product.a), _turned(b[0], product.b).t())


BF16 = Calls(lambda x, readings, seeds: [[x] for _ in readings], _bf16_swiglu, _bf16_multiply)
"""torch's bf16 matmuls."""


@dataclass(frozen=True)
class TorchCasts:
    """Casts by torch's operations, and torch's scaled matmul; by bf16 of decoded copies where it has none.

    - compiled: torch.compile, or `eager`. Compiled, SwiGLU is one function with the casts, to be fused.
    - ops: torch's op of each matmul by its sizes, or why it has none; found at the first call.
    """

    device: Device
    compiled: Compile
    ops: dict[tuple[str, int, int, int], ScaledOp | str] = field(default_factory=dict)

    @property
    def calls(self) -> Calls:
        return Calls(self._quantize, self._swiglu, self._multiply)

    def _quantize(self, x: torch.Tensor, readings: Sequence[Reading], seeds: Seeds) -> list[Parts]:
        copies = self.compiled(casts.cast_both)(x, casts.Casts.of(readings, x.shape))
        return [[copy.codes, copy.scale] for copy in copies if copy is not None]

    def _swiglu(
        self, gate_up: torch.Tensor, dh: torch.Tensor | None, readings: Sequence[Reading], seeds: Seeds
    ) -> list[Parts]:
        if self.compiled is eager:
            return [[_activated(gate_up, dh)]]
        shape = gate_up.shape[0], gate_up.shape[1] // (2 if dh is None else 1)
        wanted = casts.Casts.of(readings, shape)
        h, copies = self.compiled(_activated_and_cast)(gate_up, dh, wanted)
        return [[h] if copy is None else [copy.codes, copy.scale] for copy in copies]

    def _multiply(self, a: Parts, b: Parts, k: int, product: Product, *rest: Any) -> torch.Tensor:
        """By torch's op of the recipe; else decoded, by bf16."""
        operands = (a, product.a), (b, product.b)
        m, n = (_turned(x[0], each).shape[0] if len(x) == 1 else x[0].shape[0] for x, each in operands)
        key = product.matmul.name, m, n, k
        if key not in self.ops:
            self.ops[key] = self._op(product, (m, n, k), operands)
        op = self.ops[key]
        if isinstance(op, ScaledOp):
            return op.build(*(casts.as_operand(*x, each.operand) for x, each in operands))()
        left, right = (
            _turned(x[0], each) if len(x) == 1 else self.compiled(casts.values)(*x) for x, each in operands
        )
        return torch.mm(left, right.t())

    def _op(
        self, product: Product, mnk: tuple[int, int, int], operands: Sequence[tuple[Parts, Reading]]
    ) -> ScaledOp | str:
        """The fastest of torch's scaled matmuls for these operands; or a sentence on why there is none."""
        if any(each.operand is None for _, each in operands):
            return "an operand stays bf16"
        plan = plan_gemm(product.bf16_spec, mnk, self.device, Summation.RECIPE)
        if isinstance(plan, Unsupported):
            return plan.reason
        offered = [casts.as_operand(*x, each.operand) for x, each in operands]
        ops = scaled_ops(*offered, plan)
        return ops if isinstance(ops, str) else min(ops, key=lambda op: _seconds(op.build(*offered)))

    @property
    def note(self) -> str:
        """Sentences on the matmuls for which torch has no op."""
        reasons = {reason for reason in self.ops.values() if isinstance(reason, str)}
        return " ".join(f"Decoded and multiplied in bf16: {reason}." for reason in sorted(reasons))


def _activated(gate_up: torch.Tensor, dh: torch.Tensor | None) -> torch.Tensor:
    return casts.swiglu(gate_up) if dh is None else casts.swiglu_backward(dh, gate_up)


def _activated_and_cast(
    gate_up: torch.Tensor, dh: torch.Tensor | None, wanted: casts.Casts
) -> tuple[torch.Tensor | None, list[casts.TorchCopy | None]]:
    """SwiGLU or its gradient in bf16 where somebody reads that, and its copies."""
    h = _activated(gate_up, dh)
    both = wanted.first is not None and wanted.second is not None
    return (None if both else h), casts.cast_both(h, wanted)


def _seconds(launch: Callable[[], object]) -> float:
    """Seconds of a few launches, once warm."""
    launch()
    wait()
    started = perf_counter()
    for _ in range(_TRIES):
        launch()
    wait()
    return perf_counter() - started


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return function


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function by torch.compile, for the shapes that it meets."""
    keep_compiled_code()
    return torch.compile(function, dynamic=False, fullgraph=True)


class Bound:
    """Matmuls of operands that were quantized before: a step in which quantizing is free, and SwiGLU too."""

    def __init__(self) -> None:
        self._copies: dict[object, list[Parts]] = {}

    @property
    def calls(self) -> Calls:
        return KERNELS._replace(quantize=self._quantize, swiglu=self._swiglu)

    def _quantize(self, x: torch.Tensor, readings: Sequence[Reading], seeds: Seeds) -> list[Parts]:
        """Copies of the first call's x."""
        key = readings[0].tensor, x.data_ptr()
        if key not in self._copies:
            self._copies[key] = KERNELS.quantize(x, readings, seeds)
        return self._copies[key]

    def _swiglu(
        self, gate_up: torch.Tensor, dh: torch.Tensor | None, readings: Sequence[Reading], seeds: Seeds
    ) -> list[Parts]:
        """Copies of normal numbers, whatever gate_up has."""
        key = "h" if dh is None else "gradient"
        if key not in self._copies:
            shape = gate_up.shape[0], gate_up.shape[1] // (2 if dh is None else 1)
            h = torch.randn(shape, dtype=torch.bfloat16, device=gate_up.device)
            self._copies[key] = _apart(KERNELS._replace(swiglu=lambda *given: [[h]]))(
                gate_up, dh, readings, seeds
            )
        return self._copies[key]


def _layers(way: Way, job: TimelineJob, tensors: Tensors) -> Ready:
    """A block of our layers, whose step goes forward and backward through autograd."""
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
    keeps = way is Way.OURS_KEPT
    w_copies = _storages([layer.w_copies(is_first_microbatch=True) for layer in layers] if keeps else ())
    run = (lambda x: module(x, is_first_microbatch=False)) if keeps else module

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
    note = " ".join(filter(None, (_KEPT if keeps else "", "" if fuses else _APART)))
    return Ready(way=way, step=step, held=held, weight_bytes=_bytes(w_copies, without={}), note=lambda: note)


_KEPT = "The copies of the weights were made before, as between two microbatches of one step."
_APART = "SwiGLU is written in bf16 and then quantized: no kernel does both for this recipe and shape."


def _storages(things: Any) -> dict[int, int]:
    """Bytes of each piece of memory under tensors, by its address."""
    storages = [each.untyped_storage() for each in tree_leaves(things) if isinstance(each, torch.Tensor)]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}


def _bytes(storages: dict[int, int], without: dict[int, int]) -> int:
    return sum(size for address, size in storages.items() if address not in without)
