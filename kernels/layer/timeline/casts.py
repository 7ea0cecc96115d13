"""Casts to FP8 in torch's operations, with the recipe's tiles, formats and scale rule.

They are no reference: the last bit of a scale may differ from fp8core's.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from fp8core.formats import FORMATS
from fp8core.recipes import Operand
from fp8core.scales import Fit
from fp8core.tiles import WHOLE
from kernels.device import Unsupported
from kernels.layer.plan import Reading
from kernels.quantize.tensor import QuantizedTensor, float8

_FP32 = FORMATS["fp32"]
_MANTISSA = (1 << _FP32.mantissa_bits) - 1
_CODES = ("e4m3", "e5m2")
_FITS = (Fit.NEAREST, Fit.ROUND_UP)


class Cast(NamedTuple):
    """Extents of a tile (mn, k) are 0 for a whole dim. is_shared: codes are the first cast's, transposed."""

    mn: int
    k: int
    k_is_rows: bool
    largest: float
    dtype: torch.dtype
    powers_of_two: bool
    is_delayed: bool
    is_shared: bool = False


Casts = tuple[Cast | None, ...]
"""A cast for each reading of a tensor; None for bf16."""


class TorchCopy(NamedTuple):
    """Codes float8[mn, K], scales float32[mn_tiles, k_tiles], amax under a delayed scale."""

    codes: torch.Tensor
    scale: torch.Tensor
    amax: torch.Tensor | None = None


def _cast_of(reading: Reading) -> Cast | None:
    """The cast of a reading; None for bf16. Raises Unsupported for formats and rules unknown to torch."""
    operand = reading.operand
    if operand is None:
        return None
    spec, rule = operand.spec, operand.spec.scale_rule
    plain = not (spec.rotation or spec.is_random or spec.saved_as or rule.outer or len(rule.search) > 1)
    if spec.format.name not in _CODES or rule.fit not in _FITS or not plain:
        raise Unsupported(
            f"torch has no cast for {spec.format.name} under this recipe's rules, so nobody writes one in "
            "its operations"
        )
    return Cast(
        mn=0 if spec.tile.mn is WHOLE else spec.tile.mn,
        k=0 if spec.tile.k is WHOLE else spec.tile.k,
        k_is_rows=reading.k_is_rows,
        largest=rule.target or spec.format.max,
        dtype=float8(spec.format),
        powers_of_two=rule.powers_of_two,
        is_delayed=rule.history > 0,
    )


def casts_of(readings: Sequence[Reading], shape: Sequence[int]) -> Casts:
    """Casts of a tensor [rows, columns] for one reading or two.

    Raises Unsupported if torch has no cast, or a tile would end outside the tensor.
    """
    casts = [*map(_cast_of, readings)]
    for cast in filter(None, casts):
        mn, k = reversed(shape) if cast.k_is_rows else shape
        if (cast.mn and mn % cast.mn) or (cast.k and k % cast.k):
            raise Unsupported(
                f"casts by torch's operations want whole tiles: [{mn}, {k}] is no multiple of "
                f"[{cast.mn or mn}, {cast.k or k}]"
            )
    first, last = casts[0], casts[-1]
    whole = first is not None and not (first.mn or first.k)
    if whole and first._replace(k_is_rows=not first.k_is_rows) == last:  # one format and one scale
        casts[-1] = last._replace(is_shared=True)
    return tuple(casts)


def cast_all(x: torch.Tensor, casts: Casts, last: torch.Tensor | None = None) -> list[TorchCopy | None]:
    """A copy of x [rows, columns] for each cast.

    last: float32[1], the amax of earlier steps, for a delayed scale.
    """
    copies: list[TorchCopy | None] = []
    for cast in casts:
        if cast is not None and cast.is_shared:
            first = copies[0]
            copies.append(TorchCopy(first.codes.t().contiguous(), first.scale, first.amax))
        else:
            copies.append(None if cast is None else _cast(x, cast, last))
    return copies


def _cast(x: torch.Tensor, cast: Cast, last: torch.Tensor | None) -> TorchCopy:
    x = x.t() if cast.k_is_rows else x  # [mn, K]
    mn, k = cast.mn or x.shape[0], cast.k or x.shape[1]
    tiles = x.unflatten(1, (-1, k)).unflatten(0, (-1, mn))  # [mn_tiles, mn, k_tiles, k]
    amax = tiles.abs().amax((1, 3)).float()
    scale = (last.view(1, 1) if cast.is_delayed and last is not None else amax) / cast.largest
    if cast.powers_of_two:
        bits = scale.view(torch.int32)
        scale = ((bits + _MANTISSA) & ~_MANTISSA).view(torch.float32)
    scaled = tiles.float() * scale.reciprocal()[:, None, :, None]
    codes = scaled.clamp(-cast.largest, cast.largest).to(cast.dtype)
    return TorchCopy(codes.reshape(x.shape).contiguous(), scale, amax.view(1) if cast.is_delayed else None)


def as_operand(codes: torch.Tensor, scale: torch.Tensor, operand: Operand) -> QuantizedTensor:
    return QuantizedTensor.of(operand, codes.view(torch.uint8), scale.t().contiguous(), codes.shape[1])


def values(codes: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """bf16[mn, K]."""
    mn, k = (size // tiles for size, tiles in zip(codes.shape, scale.shape, strict=True))
    tiles = codes.to(torch.bfloat16).unflatten(1, (-1, k)).unflatten(0, (-1, mn))
    return (tiles * scale.to(torch.bfloat16)[:, None, :, None]).reshape(codes.shape)


def swiglu(gate_up: torch.Tensor) -> torch.Tensor:
    gate, up = gate_up.chunk(2, dim=1)
    return torch.nn.functional.silu(gate) * up


def swiglu_backward(dh: torch.Tensor, gate_up: torch.Tensor) -> torch.Tensor:
    """The gradient of gate_up, by the operations of eager autograd."""
    gate, up = gate_up.chunk(2, dim=1)
    d_up = dh * torch.nn.functional.silu(gate)
    return torch.cat([torch.ops.aten.silu_backward(dh * up, gate), d_up], dim=1)
