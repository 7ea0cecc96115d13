"""Bytes that a layer holds from forward to backward: the copies that Wgrad and Dgrad will read."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from fp8core.linear import LayerShape, LayerTensor
from fp8core.recipes import Recipe
from kernels.layer.calls import SHAPES
from kernels.layer.plan import layer_plan
from kernels.layer.steps import Call, steps_of


@dataclass(frozen=True, kw_only=True)
class HeldBytes:
    """Bytes held for the backward: x for Wgrad, and the copy of w for Dgrad, which comes beside w itself.

    A bf16 layer holds x, 2 bytes a number, and reads w itself.
    """

    x: int
    w: int
    bf16: int

    @property
    def total(self) -> int:
        return self.x + self.w


def held_bytes(recipe: str | Recipe, tokens: int, in_: int, out: int) -> HeldBytes:
    """Bytes held for x [tokens, in] and w [out, in] in bf16, where both get a gradient.

    Raises ValueError for another recipe, and for sizes below 0.
    """
    layer = LayerShape(tokens, in_, out)
    return _held(recipe, [layer.of(LayerTensor.X), layer.of(LayerTensor.W)])


def held_bytes_of_mlp(recipe: str | Recipe, tokens: int, in_: int, hidden: int) -> HeldBytes:
    """Bytes held by a SwigluMlp: by both layers, and gate_up [tokens, 2 · hidden] in bf16 between them.

    A bf16 block holds x, gate_up and h. Raises ValueError as held_bytes.
    """
    up = LayerShape(tokens, in_, 2 * hidden)
    shapes = [up.of(LayerTensor.X), up.of(LayerTensor.W), (in_, hidden)]
    return _held(recipe, shapes, between=3 * tokens * hidden)


def _held(recipe: str | Recipe, shapes: Sequence[tuple[int, int]], between: int = 0) -> HeldBytes:
    """Bytes that a forward leaves. `between`: numbers between the layers that a bf16 block holds."""
    plan = layer_plan(recipe, emulate=True)
    x, *weights = (torch.empty(shape, dtype=torch.bfloat16, device="meta") for shape in shapes)
    call = Call(SHAPES, (True,) * len(shapes))
    _, groups = steps_of(plan.key, True, len(weights)).forward(x, weights, call)
    own = {id(each) for each in weights}
    of_weights = [part for group in groups[1 : len(shapes)] for part in group if id(part) not in own]
    others = [part for group in (groups[0], *groups[len(shapes) :]) for part in group]
    return HeldBytes(
        x=sum(part.nbytes for part in others),
        w=sum(part.nbytes for part in of_weights),
        bf16=(x.numel() + between) * x.itemsize,
    )
