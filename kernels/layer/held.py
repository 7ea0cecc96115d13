"""Bytes that a layer holds from forward to backward: the copies that Wgrad and Dgrad will read.

Copies of at most a MiB lie in one piece of memory, each part of them at a multiple of 512 bytes. The bytes
between the parts are not counted.

Pure; no torch, no GPU.
"""

from dataclasses import dataclass
from math import prod

from fp8core.linear import MATMULS, LayerShape, LayerTensor
from fp8core.recipes import Operand, Recipe
from kernels.layer.parts import part_sizes
from kernels.layer.plan import layer_plan

_BF16 = 2
"""Bytes of a number."""


@dataclass(frozen=True, kw_only=True)
class HeldBytes:
    """Bytes held for the way back: x for Wgrad, and the copy of w for Dgrad, which comes beside w itself.

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
    layer, made = LayerShape(tokens, in_, out), layer_plan(recipe, emulate=True).recipe

    def held(tensor: LayerTensor, matmul: str) -> int:
        side = MATMULS[matmul].side_of(tensor)
        return _bytes(made.operand(MATMULS[matmul], side), layer.of(tensor), own=tensor is LayerTensor.W)

    return HeldBytes(
        x=held(LayerTensor.X, "wgrad"),
        w=held(LayerTensor.W, "dgrad"),
        bf16=_BF16 * tokens * in_,
    )


def held_bytes_of_mlp(recipe: str | Recipe, tokens: int, in_: int, hidden: int) -> HeldBytes:
    """Bytes held by a SwigluMlp: by both layers, and gate_up [tokens, 2 · hidden] in bf16 between them.

    A bf16 block holds x, gate_up and h. Raises ValueError as held_bytes.
    """
    up, down = held_bytes(recipe, tokens, in_, 2 * hidden), held_bytes(recipe, tokens, hidden, in_)
    between = _BF16 * tokens * 2 * hidden
    return HeldBytes(
        x=up.x + between + down.x,
        w=up.w + down.w,
        bf16=up.bf16 + between + down.bf16,
    )


def _bytes(operand: Operand | None, shape: tuple[int, int], *, own: bool) -> int:
    """Bytes of a copy's parts, or of a tensor that stays bf16; a weight, its `own`, is there anyway."""
    if operand is None:
        return 0 if own else _BF16 * prod(shape)
    return sum(prod(part.shape) * part.itemsize for part in part_sizes(operand, shape))
