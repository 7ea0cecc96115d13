"""Our own steps: through the layers that users call, and of their matmuls alone."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from fp8core.linear import MATMULS, LayerTensor, Matmul
from fp8core.recipes import Recipe
from kernels.gemm.launch import gemm, operand_shape
from kernels.layer.autograd import run
from kernels.layer.calls import PYTHON, Calls, calling
from kernels.layer.carried import W
from kernels.layer.matmuls import Copies, copies
from kernels.layer.mlp.autograd import run_mlp
from kernels.layer.mlp.module import SwigluMlp
from kernels.layer.module import Float8Linear
from kernels.layer.plan import AND
from kernels.layer.timeline.block import Pair, Tensors, flop_of
from kernels.layer.timeline.job import Block, TimelineJob
from kernels.layer.timeline.labels import Label, Tell, bytes_of, silent
from kernels.layer.timeline.peers import both_readings, in_bf16, matmul_label
from kernels.layer.timeline.row import Phase, Role
from kernels.quantize import quantize


@dataclass(frozen=True)
class Layers:
    """A block of our layers, whose step goes forward and backward through autograd.

    - kept: copies of the weights that are there already; None where each step makes them.
    - fuses: what an activation gives is quantized as it is computed, or there is none.
    """

    job: TimelineJob
    tensors: Tensors
    layers: tuple[Float8Linear, ...]
    kept: tuple[Copies, ...] | None
    run: Callable[[torch.Tensor], torch.Tensor]
    fuses: bool

    @classmethod
    def of(cls, job: TimelineJob, tensors: Tensors, *, keeps: bool) -> "Layers":
        """Layers with the tensors' weights. Raises Unsupported for a recipe without kernels."""
        options: dict[str, Any] = {"recipe": job.recipe, "device": "meta", "dtype": torch.bfloat16}
        module: Float8Linear | SwigluMlp
        if job.block is Block.MLP:
            module = SwigluMlp(job.in_, job.out, **options)
            layers: tuple[Float8Linear, ...] = (module.gate_up, module.down)
        else:
            module = Float8Linear(job.in_, job.out, bias=False, **options)
            layers = (module,)
        fuses = module.fuses(job.tokens) if isinstance(module, SwigluMlp) else True
        for layer, weight in zip(layers, tensors.weights, strict=True):
            layer.weight = torch.nn.Parameter(weight)
        if not keeps:
            return cls(job, tensors, layers, None, module, fuses)
        kept = tuple(_kept(layer, tensors.x) for layer in layers)
        return cls(job, tensors, layers, kept, lambda x: _run_kept(x, layers, kept), fuses)

    def __call__(self, tell: Tell = silent) -> None:
        """Forward and backward; what they give is dropped."""
        x = self.tensors.x.detach().requires_grad_()
        with calling(told(PYTHON, tell)) if tell is not silent else nullcontext():
            with tell(Label(what="forward", role=Role.OTHER, phase=Phase.FORWARD)):
                y = self.run(x)
            with tell(Label(what="backward", role=Role.OTHER, phase=Phase.BACKWARD)):
                torch.autograd.grad(y, (x, *(layer.weight for layer in self.layers)), self.tensors.dy)

    def held(self) -> list[torch.Tensor]:
        """The tensors that a forward leaves for its backward."""
        found: list[torch.Tensor] = []

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            found.append(tensor)
            return tensor

        x = self.tensors.x.detach().requires_grad_()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            self.run(x)
        return found


def _kept(layer: Float8Linear, x: torch.Tensor) -> Copies:
    """Both copies of a layer's weight."""
    carried, _ = layer.step(x, None)
    with torch.no_grad():
        return copies(layer.weight, layer.plan, layer.plan.w, PYTHON, carried, (W, True, True))


def _run_kept(x: torch.Tensor, layers: tuple[Float8Linear, ...], kept: tuple[Copies, ...]) -> torch.Tensor:
    carried = [layer.step(x, None)[0] for layer in layers]
    if len(layers) == 1:
        return run(x, layers[0].weight, None, layers[0].plan, carried[0], kept[0])
    up, down = layers
    return run_mlp(x, (up.weight, down.weight), up.plan, (carried[0], carried[1]), (kept[0], kept[1]))


def _of_history(rest: Sequence[Any]) -> int | None:
    """Bytes of the history among the last arguments of a call: seeds, history, emulate. None without one."""
    *_, history, _ = rest
    return None if history is None else bytes_of(history)


def told(calls: Calls, tell: Tell) -> Calls:
    """Calls that tell of themselves before they are made."""

    def quantized(x: torch.Tensor, recipe: str, tensor: str, matmuls: str, *rest: Any) -> Any:
        titles = " and ".join(MATMULS[name].title for name in matmuls.split(AND))
        what = f"quantize {tensor} {list(x.shape)} for {titles}"
        own = {"read": bytes_of(x), "amax_read": _of_history(rest)}
        with tell(Label(what=what, role=Role.QUANTIZE, **own)) as piece:
            made = calls.quantize(x, recipe, tensor, matmuls, *rest)
            piece.wrote(made)
        return made

    def activated(gate_up: torch.Tensor, dh: torch.Tensor | None, *rest: Any) -> Any:
        what = f"{'SwiGLU' if dh is None else 'gradient of SwiGLU'}, quantized"
        own = {"read": bytes_of((gate_up, dh)), "amax_read": _of_history(rest)}
        with tell(Label(what=what, role=Role.FUSED, **own)) as piece:
            made = calls.swiglu(gate_up, dh, *rest)
            piece.wrote(made)
        return made

    def multiplied(a: Sequence[Any], b: Sequence[Any], k: int, recipe: str, matmul: str, *rest: Any) -> Any:
        label = Label(what=MATMULS[matmul].title, role=Role.MATMUL, read=bytes_of((a, b)))
        with tell(label) as piece:
            made = calls.gemm(a, b, k, recipe, matmul, *rest)
            piece.wrote(made)
            if piece.label is not None:
                shape = (made.shape[0], k)
                sizes = " × ".join(str(size) for size in (*made.shape, k))
                words = f"{piece.label.what} {sizes}"
                piece.label = replace(piece.label, what=words, flop=flop_of(shape, made.shape[1]))
        return made

    def recorded(steps: torch.Tensor, amax: torch.Tensor) -> None:
        with tell(Label(what="keep this step's amax", role=Role.QUANTIZE, read=bytes_of(steps))) as piece:
            calls.record(steps, amax)
            piece.wrote(steps)

    return calls._replace(quantize=quantized, swiglu=activated, gemm=multiplied, record=recorded)


@dataclass(frozen=True)
class MatmulsAlone:
    """Matmuls of operands that were quantized before: a step in which quantizing is free, and SwiGLU too.

    `ready`: the operands by what they are; they are made at the first call.
    """

    recipe: Recipe
    ready: dict[tuple[LayerTensor, tuple[int, int], str], Pair] = field(default_factory=dict)

    def copies(self, tell: Tell, x: torch.Tensor, tensor: LayerTensor, name: str) -> Pair:
        """Copies of the first call's x."""
        key = tensor, (x.shape[0], x.shape[1]), name
        if key not in self.ready:
            self.ready[key] = self._made(x, tensor)
        return self.ready[key]

    def swiglu(self, tell: Tell, gate_up: torch.Tensor, dh: torch.Tensor | None) -> Pair:
        """Copies of normal numbers, whatever gate_up has."""
        if dh is None:
            key, halves = (LayerTensor.X, "h"), 2
        else:
            key, halves = (LayerTensor.DY, "the gradient of gate and up"), 1
        shape = gate_up.shape[0], gate_up.shape[1] // halves
        if (key[0], shape, key[1]) not in self.ready:
            drawn = torch.randn(shape, dtype=torch.bfloat16, device=gate_up.device)
            return self.copies(tell, drawn, *key)
        return self.ready[key[0], shape, key[1]]

    def multiply(self, tell: Tell, matmul: Matmul, a: Any, b: Any, layer: str) -> torch.Tensor:
        shape, n = operand_shape(a), operand_shape(b)[0]
        with tell(matmul_label(matmul, a, b, shape, n, layer)) as piece:
            made = gemm(a, b, in_bf16(self.recipe.spec(matmul)))
            piece.wrote(made)
        return made

    def _made(self, x: torch.Tensor, tensor: LayerTensor) -> Pair:
        first, second = (
            (x.t() if reading.k_is_rows else x)
            if reading.operand is None
            else quantize(x, reading.operand, seed=0 if reading.is_random else None)
            for reading in both_readings(self.recipe, tensor)
        )
        return first, second
