"""A quantized copy as plain tensors and back: what operators take, and what autograd saves.

Parts of a copy, all contiguous, so that a hook may move them (to the CPU and back) without harm:

    codes        uint8[mn, bytes of K, with zeros up to a multiple of K_PADDING codes]
    scales       [k_tiles, mn_tiles], uint8 or float32
    outer scales float32[outer k_tiles, outer mn_tiles], where the rule has two levels
"""

from collections.abc import Sequence
from typing import TypeVar

import torch

from fp8core.recipes import Operand
from fp8core.tiles import WHOLE, Extent
from kernels.quantize import QuantizedTensor
from kernels.quantize.facts import stores_bytes
from kernels.quantize.plan import K_PADDING

Size = TypeVar("Size", int, torch.SymInt)


def parts_of(copy: QuantizedTensor) -> list[torch.Tensor]:
    """The parts of a copy. They share its memory."""
    shapes = part_shapes(copy.operand, copy.shape)
    codes = (
        copy.operand_bytes if copy.codes.numel() else copy.codes.new_empty(shapes[0][0], dtype=shapes[0][1])
    )
    scales = (copy.scale, copy.outer_scale)
    if not copy.operand.k_is_rows:
        scales = tuple(None if scale is None else scale.T for scale in scales)
    return [codes, *(scale for scale in scales if scale is not None)]


def from_parts(operand: Operand, parts: Sequence[torch.Tensor], k: int) -> QuantizedTensor:
    """The copy with these parts, of a tensor that has k elements along K."""
    outer = parts[2] if len(parts) > 2 else None
    return QuantizedTensor.of(operand, parts[0], parts[1], k, outer)


def part_shapes(operand: Operand, shape: tuple[Size, Size]) -> list[tuple[tuple[Size, Size], torch.dtype]]:
    """Shape and dtype of each part of a tensor's copy. torch.compile also asks it with unknown sizes."""
    mn, k = operand.stored(shape)
    rule, tile = operand.spec.scale_rule, operand.spec.tile
    row = -(-k // K_PADDING) * (K_PADDING * operand.spec.format.packed_bits // 8)
    scales = torch.uint8 if stores_bytes(rule) else torch.float32
    found = [((mn, row), torch.uint8), ((_tiles(k, tile.k), _tiles(mn, tile.mn)), scales)]
    if rule.outer is not None:
        outer = rule.outer.tile
        found.append(((_tiles(k, outer.k), _tiles(mn, outer.mn)), torch.float32))
    return found


def _tiles(size: Size, extent: Extent) -> Size | int:
    """Tiles along a dim: an empty one has none."""
    if extent is WHOLE:
        return 1 if size > 0 else 0
    return -(-size // extent)
