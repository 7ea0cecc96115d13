"""A quantized copy as plain tensors and back: what operators take, and what autograd saves.

Parts of a copy, all contiguous:

    codes        uint8[mn, bytes of K, with zeros up to a multiple of K_PADDING codes]
    scales       [k_tiles, mn_tiles], uint8 or float32
    outer scales float32[outer k_tiles, outer mn_tiles], where the rule has two levels
"""

from collections.abc import Sequence

import torch

from fp8core.recipes import Operand
from fp8core.tiles import WHOLE, Extent, TileShape
from kernels.quantize import QuantizedTensor
from kernels.quantize.facts import stores_bytes
from kernels.quantize.plan import K_PADDING

Parts = list[torch.Tensor]
"""Tensors of a copy, or one tensor in bf16."""


def empty_parts(operand: Operand, like: torch.Tensor, shape: Sequence[int]) -> Parts:
    """The parts of the copy of a tensor [rows, columns], with nothing in them.

    torch.compile also asks it with unknown sizes.
    """
    mn, k = operand.stored(shape)
    rule = operand.spec.scale_rule

    def scales(tile: TileShape, dtype: torch.dtype) -> torch.Tensor:
        return like.new_empty((_tiles(k, tile.k), _tiles(mn, tile.mn)), dtype=dtype)

    row = -(-k // K_PADDING) * (K_PADDING * operand.spec.format.packed_bits // 8)
    codes = like.new_empty((mn, row), dtype=torch.uint8)
    parts = [codes, scales(operand.spec.tile, torch.uint8 if stores_bytes(rule) else torch.float32)]
    return parts if rule.outer is None else [*parts, scales(rule.outer.tile, torch.float32)]


def _tiles(size: int, extent: Extent) -> int:
    """Tiles along a dim: an empty one has none."""
    if extent is WHOLE:
        return 1 if size > 0 else 0
    return -(-size // extent)


def parts_of(copy: QuantizedTensor) -> Parts:
    """The parts of a copy. They share its memory."""
    codes, *scales = copy.tensors
    if codes.numel():
        codes = copy.operand_bytes
    else:
        codes = empty_parts(copy.operand, codes, copy.shape)[0]
    return [codes, *(scale if copy.operand.k_is_rows else scale.T for scale in scales)]


def from_parts(operand: Operand, parts: Parts, k: int) -> QuantizedTensor:
    """The copy with these parts, of a tensor that has k elements along K."""
    return QuantizedTensor.of(operand, parts[0], parts[1], k, *parts[2:])
