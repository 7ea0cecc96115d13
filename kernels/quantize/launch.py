"""The device quantizer: from a torch tensor to the codes and scales of fp8core.quantize, bit for bit.

Codes lie contiguous along K, whatever the stored orientation, in rows padded with zeros. `codes` and `scale`
of the result are views in stored orientation.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fp8core.formats import FORMATS, FloatFormat
from fp8core.quantize import operand_of
from fp8core.recipes import Operand, OperandSpec
from fp8core.scales import Fit
from fp8core.tiles import TileGrid, TileShape
from kernels.device import COMPILE_OPTIONS, DeviceKind, current_device, launching
from kernels.quantize.plan import K_PADDING, check_operand, plan_quantize

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class QuantizedTensor:
    """codes float8[rows, columns] and scale float32[*grid.scale_shape] on a device; value ≈ code · scale.

    Memory is contiguous along K, whether K runs down the stored rows or along them.
    """

    operand: Operand
    codes: "torch.Tensor"
    scale: "torch.Tensor"

    @property
    def spec(self) -> OperandSpec:
        return self.operand.spec

    @property
    def grid(self) -> TileGrid:
        """The tiles over the codes."""
        return self.operand.grid(tuple(self.codes.shape))

    @classmethod
    def of(cls, operand: Operand, codes: "torch.Tensor", scale: "torch.Tensor", k: int) -> "QuantizedTensor":
        """What a kernel writes: codes uint8[mn, k or more] and scale float32[k_tiles, mn_tiles]."""
        codes = codes.view(float8(operand.spec.format))[:, :k]
        if operand.k_is_rows:
            return cls(operand=operand, codes=codes.T, scale=scale)
        return cls(operand=operand, codes=codes, scale=scale.T)

    @property
    def operand_codes(self) -> "torch.Tensor":
        """float8[mn, K], the last dim contiguous."""
        return self.codes.T if self.operand.k_is_rows else self.codes

    @property
    def operand_scale(self) -> "torch.Tensor":
        """float32[mn_tiles, k_tiles], the first dim contiguous."""
        return self.scale.T if self.operand.k_is_rows else self.scale

    @property
    def operand_extents(self) -> tuple[int, int]:
        """(mn, k) elements of a full tile, WHOLE resolved."""
        return self.operand.stored(self.grid.extents)

    @property
    def padded_codes(self) -> "torch.Tensor":
        """float8[mn, K rounded up]: the operand with the zeros that fill its rows, contiguous."""
        codes = self.operand_codes
        return codes.as_strided((codes.shape[0], codes.stride(0)), (codes.stride(0), 1))

    def exact_operand(self, start: int, stop: int) -> "torch.Tensor":
        """float64[stop - start, K]: rows of the operand [mn, K] as the exact numbers they stand for."""
        mn, k = self.operand_extents
        tiles = self.operand_scale[start // mn : -(-stop // mn)].double()
        scale = tiles.repeat_interleave(mn, 0)[start % mn :][: stop - start]
        codes = self.operand_codes[start:stop].float().double()
        return codes * scale.repeat_interleave(k, 1)[:, : codes.shape[1]]

    def values(self) -> "torch.Tensor":
        """float32[rows, columns]: the numbers the codes stand for, rounded once to fp32."""
        values = self.exact_operand(0, self.operand_codes.shape[0]).float()
        return values.T if self.operand.k_is_rows else values


def quantize(
    x: "torch.Tensor",
    grid: TileGrid | Operand,
    spec: OperandSpec | None = None,
    *,
    k_is_rows: bool | None = None,
) -> QuantizedTensor:
    """Quantize x: bfloat16, float16 or float32 [rows, columns], any strides, as an operand of a matmul.

    A recipe has the operand. A `grid` and a `spec` say the same, together with `k_is_rows`: True where the
    matmul contracts over the rows of x, so that codes are laid down the columns. Left out, it is what makes
    the grid's tiles those of the spec, and False where both do.

    Raises ValueError for another dtype, shape or device, NoTriton, and Unsupported for a format, rounding or
    scale rule without a kernel.
    """
    import torch

    device = current_device()
    operand = operand_of(grid, spec)
    if k_is_rows is not None and k_is_rows != operand.k_is_rows:
        turned = TileShape(operand.spec.tile.k, operand.spec.tile.mn)
        operand = Operand(spec=replace(operand.spec, tile=turned), k_is_rows=k_is_rows)
    reason = check_operand(operand.spec)
    if reason is not None:
        raise reason
    if x.dtype not in (torch.bfloat16, torch.float16, torch.float32):
        raise ValueError(
            f"quantize takes bfloat16, float16 or float32, got {str(x.dtype).removeprefix('torch.')}"
        )
    if isinstance(grid, TileGrid) and tuple(x.shape) != grid.shape:
        raise ValueError(f"this grid lies over a tensor of shape {grid.shape}, got {tuple(x.shape)}")
    check_place(x, device.kind, "x")
    if device.kind is DeviceKind.INTERPRETER:
        x = x.float()  # its loads of bfloat16 are not to be trusted; the values are the same
    return _launch(x, operand, device.kind)


def float8(format_: FloatFormat) -> "torch.dtype":
    """torch's dtype for the codes of an 8-bit format."""
    import torch

    return {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[format_.name]


def check_place(x: "torch.Tensor", kind: DeviceKind, name: str) -> None:
    """Raise ValueError unless x lies where this process's kernels run."""
    need = "cuda" if kind is DeviceKind.GPU else "cpu"
    if x.device.type != need:
        raise ValueError(f"{name} lies on {x.device}, and the kernels here run on {need} ({kind.value})")


def empty_scale(operand: Operand, shape: tuple[int, int], device: "torch.device") -> "torch.Tensor":
    """float32[k_tiles, mn_tiles] with nothing in it, for an operand stored in `shape`."""
    import torch

    mn_tiles, k_tiles = operand.stored(operand.grid(shape).scale_shape)
    return torch.empty((k_tiles, mn_tiles), dtype=torch.float32, device=device)


def _launch(x: "torch.Tensor", operand: Operand, kind: DeviceKind) -> QuantizedTensor:
    """Run the kernels on a tensor in stored orientation."""
    import torch

    from kernels.quantize.kernel import amax_kernel, quantize_kernel

    spec = operand.spec
    scale = empty_scale(operand, tuple(x.shape), x.device)
    x = x.T if operand.k_is_rows else x
    mn, k = x.shape
    padded = -(-k // K_PADDING) * K_PADDING
    codes = torch.empty((mn, padded), dtype=torch.uint8, device=x.device)
    if not x.numel():
        return QuantizedTensor.of(operand, codes, scale, k)
    mn_tiles = scale.shape[1]
    plan = plan_quantize(spec.tile)
    sizes = (mn, k, x.stride(0), x.stride(1))
    constants = quantize_constants(spec, kind)
    blocks = (-(-mn // plan.block_mn), -(-padded // plan.block_k))
    amax = scale
    with launching(x):
        if not plan.fused:
            amax = torch.zeros(scale.shape, dtype=torch.int32, device=x.device)
            cut = {name: constants[name] for name in amax_kernel.arg_names if name in constants}
            amax_kernel[blocks](x, amax, *sizes, mn_tiles, **cut, num_warps=plan.warps, **COMPILE_OPTIONS)
        quantize_kernel[blocks](
            x,
            amax,
            codes,
            scale,
            *sizes,
            padded,
            mn_tiles,
            **constants,
            num_warps=plan.warps,
            **COMPILE_OPTIONS,
        )
    return QuantizedTensor.of(operand, codes, scale, k)


def quantize_constants(spec: OperandSpec, kind: DeviceKind) -> dict[str, int | bool]:
    """The constexpr arguments of quantize_kernel; amax_kernel takes some of them. fp32 numbers go as bits."""
    tile = spec.tile
    plan = plan_quantize(tile)
    return {
        **format_facts(spec.format),
        "TILE_MN": tile.mn or 0,
        "TILE_K": tile.k or 0,
        "PART_MN": plan.part_mn,
        "PART_K": plan.part_k,
        "BLOCK_MN": plan.block_mn,
        "BLOCK_K": plan.block_k,
        "MIN_SCALE_BITS": _fp32_bits(spec.scale_rule.min_scale),
        "NAN_CODE": spec.format.nan_code,
        "POWER_OF_TWO": spec.scale_rule.powers_of_two,
        "ROUND_UP": spec.scale_rule.fit is Fit.ROUND_UP,
        "AMAX_KNOWN": not plan.fused,
        "CAST": kind is DeviceKind.GPU,
    }


def format_facts(format_: FloatFormat) -> dict[str, int]:
    """Facts of a format for the kernels: largest value (as fp32 bits), mantissa bits and bias."""
    return {"MAX_BITS": _fp32_bits(format_.max), "MANTISSA": format_.mantissa_bits, "BIAS": format_.bias}


def _fp32_bits(value: float) -> int:
    return int(FORMATS["fp32"].encode(np.float64(value)))
