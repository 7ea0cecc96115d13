"""A quantized tensor on a device: codes packed along K, scales, and views of both."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fp8core.formats import FORMATS, Format
from fp8core.packing import packed_bytes
from fp8core.recipes import Operand, OperandSpec
from fp8core.rounding import Rounding
from fp8core.tiles import TileGrid
from kernels.launching.cache import interned, layout_key, token
from kernels.launching.launch import constant, empty
from kernels.quantize.facts import code_table, stores_bytes

if TYPE_CHECKING:
    import torch

_FLOAT8 = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
_PARTS = ("codes", "scale", "outer_scale", "amax")


@dataclass(frozen=True, kw_only=True)
class QuantizedTensor:
    """A tensor of `shape` (rows, columns) as codes and scales; value ≈ code · scale · outer scale.

    Memory is contiguous along K, whether K runs down the stored rows or along them; tensors are views in
    stored orientation.

    - codes: float8[rows, columns] in e4m3 and e5m2, uint8 in other formats of 8 bits. Codes of 4 and 6 bits
      are packed along K (fp8core.packing): that dim counts bytes.
    - scale: one for each tile, uint8 codes of a rule's format of 8 bits, else float32. A pass over a
      quantized tensor may leave float32 in both cases.
    - outer_scale: float32, one for each outer tile; None under a rule of one level.
    - amax: float32[1, 1] under a delayed scale, this step's amax, for the history; else None.
    """

    operand: Operand
    shape: tuple[int, int]
    codes: "torch.Tensor"
    scale: "torch.Tensor"
    outer_scale: "torch.Tensor | None" = None
    amax: "torch.Tensor | None" = None

    @classmethod
    def of(
        cls,
        operand: Operand,
        codes: "torch.Tensor",
        scale: "torch.Tensor",
        k: int,
        outer_scale: "torch.Tensor | None" = None,
        amax: "torch.Tensor | None" = None,
    ) -> "QuantizedTensor":
        """From a kernel's output: codes uint8[mn, bytes, padded], scales [k_tiles, mn_tiles]."""
        shape = operand.stored((codes.shape[0], k))
        if operand.spec.format.name in _FLOAT8:
            codes = codes.view(float8(operand.spec.format))
        codes = codes[:, : packed_bytes(k, operand.spec.format.packed_bits)]
        if operand.k_is_rows:
            codes = codes.T
        else:
            scale, outer_scale = scale.T, None if outer_scale is None else outer_scale.T
        return cls(operand=operand, shape=shape, codes=codes, scale=scale, outer_scale=outer_scale, amax=amax)

    @property
    def tensors(self) -> "tuple[torch.Tensor, ...]":
        parts = self.codes, self.scale
        return parts if self.outer_scale is None else (*parts, self.outer_scale)

    @cached_property
    def layout(self) -> Hashable:
        """Key of a call: equal for tensors of one operand, shape and layout in memory."""
        operand = token(self.operand.spec), self.operand.k_is_rows, self.shape
        return interned((operand, *map(layout_key, (self.codes, self.scale, self.outer_scale))))

    def __getstate__(self) -> dict[str, Any]:
        """All but the layout, a number of this process."""
        return {name: value for name, value in self.__dict__.items() if name != "layout"}

    @property
    def parts(self) -> "tuple[torch.Tensor, ...]":
        return self.tensors if self.amax is None else (*self.tensors, self.amax)

    def like(self) -> "Callable[[Sequence[torch.Tensor]], QuantizedTensor]":
        """A function from other `parts` to a QuantizedTensor, which keeps no tensor of this one alive."""
        present = [name for name in _PARTS if getattr(self, name) is not None]
        fixed = {"operand": self.operand, "shape": self.shape, "layout": self.layout, **dict.fromkeys(_PARTS)}

        def again(tensors: "Sequence[torch.Tensor]") -> "QuantizedTensor":
            # __init__ takes ten times as long.
            other = object.__new__(QuantizedTensor)
            fields = other.__dict__
            fields.update(fixed)
            for name, tensor in zip(present, tensors, strict=True):
                fields[name] = tensor
            return other

        return again

    @property
    def spec(self) -> OperandSpec:
        return self.operand.spec

    @property
    def grid(self) -> TileGrid:
        return self.operand.grid(self.shape)

    @property
    def operand_shape(self) -> tuple[int, int]:
        """(mn, K)."""
        return self.operand.stored(self.shape)

    @property
    def operand_codes(self) -> "torch.Tensor":
        """The codes [mn, K], packed or not, the last dim contiguous."""
        return self.codes.T if self.operand.k_is_rows else self.codes

    @property
    def operand_scale(self) -> "torch.Tensor":
        """The scales as stored [mn_tiles, k_tiles], the first dim contiguous."""
        return self.scale.T if self.operand.k_is_rows else self.scale

    @property
    def padded_codes(self) -> "torch.Tensor":
        """The codes [mn, K rounded up], packed or not, with the zeros that fill rows, contiguous."""
        codes = self.operand_codes
        if not codes.numel():
            return codes
        return codes.as_strided((codes.shape[0], codes.stride(0)), (codes.stride(0), 1))

    @property
    def operand_bytes(self) -> "torch.Tensor":
        """uint8[mn, bytes]: the padded codes in memory."""
        import torch

        return self.padded_codes.view(torch.uint8)

    @property
    def scale_values(self) -> "torch.Tensor":
        """float32[*grid.scale_shape]: the stored scales as numbers."""
        import torch

        if self.scale.dtype == torch.float32:
            return self.scale
        return _values(self.spec.scale_rule.format.name, self.scale.device).float()[self.scale.int()]

    def unpacked_codes(self) -> "torch.Tensor":
        """uint8[rows, columns]: one code an element."""
        codes = self._unpacked(0, self.operand_shape[0])
        return codes.T if self.operand.k_is_rows else codes

    def _unpacked(self, start: int, stop: int) -> "torch.Tensor":
        """uint8[stop - start, K]: one code an element, of rows of the operand [mn, K]."""
        import torch

        codes = self.operand_codes[start:stop].view(torch.uint8)
        _, k = self.operand_shape
        bits = self.spec.format.packed_bits
        if bits == 4:
            codes = torch.stack([codes & 15, codes >> 4], dim=-1).flatten(1)
        elif bits == 6:
            whole = torch.nn.functional.pad(codes, (0, -codes.shape[1] % 3)).int().unflatten(1, (-1, 3))
            word = whole[..., 0] | whole[..., 1] << 8 | whole[..., 2] << 16
            codes = torch.stack([(word >> 6 * number) & 63 for number in range(4)], dim=-1)
            codes = codes.flatten(1).to(torch.uint8)
        return codes[:, :k]

    def exact_operand(self, start: int, stop: int) -> "torch.Tensor":
        """float64[stop - start, K]: exact values of rows of the operand [mn, K]."""
        codes = self._unpacked(start, stop)
        value = _values(self.spec.format.name, codes.device)[codes.int()]
        value = value * self._expanded(self.scale_values, self.grid, start, stop)
        outer = self.operand.outer_grid(self.shape)
        if outer is not None and self.outer_scale is not None:
            value = value * self._expanded(self.outer_scale, outer, start, stop)
        return value

    def _expanded(self, scale: "torch.Tensor", grid: TileGrid, start: int, stop: int) -> "torch.Tensor":
        """float64[stop - start, K]: the scale of each element in rows of the operand."""
        mn, k = self.operand.stored(grid.extents)
        tiles = (scale.T if self.operand.k_is_rows else scale)[start // mn : -(-stop // mn)].double()
        rows = tiles.repeat_interleave(mn, 0)[start % mn :][: stop - start]
        return rows.repeat_interleave(k, 1)[:, : self.operand_shape[1]]

    def values(self) -> "torch.Tensor":
        """float32[rows, columns]: values of the codes, rounded once to fp32."""
        values = self.exact_operand(0, self.operand_shape[0]).float()
        return values.T if self.operand.k_is_rows else values


def float8(format_: Format) -> "torch.dtype":
    """torch's dtype for the codes of e4m3 and e5m2."""
    import torch

    return getattr(torch, _FLOAT8[format_.name])


@constant
def _values(name: str, device: "torch.device") -> "torch.Tensor":
    """float64[codes] of a format."""
    import torch

    return torch.from_numpy(np.asarray(FORMATS[name].values)).to(device)


def empty_scale(
    operand: Operand,
    shape: tuple[int, int],
    device: "torch.device",
    dtype: "torch.dtype | None" = None,
) -> "torch.Tensor":
    """[k_tiles, mn_tiles] uninitialized, for an operand of a tensor of `shape`; default: uint8 or float32."""
    import torch

    mn_tiles, k_tiles = operand.stored(operand.grid(shape).scale_shape)
    stored = torch.uint8 if stores_bytes(operand.spec.scale_rule) else torch.float32
    return empty((k_tiles, mn_tiles), dtype or stored, device)


@constant
def lookup_tables(
    name: str, rounding: Rounding, device: "torch.device"
) -> "tuple[torch.Tensor, torch.Tensor]":
    """(`code_table`, float32[codes]: the value of each code)."""
    import torch

    codes = torch.from_numpy(code_table(FORMATS[name], rounding)).to(device)
    values = torch.from_numpy(np.asarray(FORMATS[name].values, np.float32)).to(device)
    return codes, values
