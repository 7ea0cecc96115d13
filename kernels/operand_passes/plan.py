"""Operands with power-of-two scales along K: who takes them, and the blocks of the passes over them.

A GPU takes them as they are, or they are refolded first. Pure; no torch, no GPU.
"""

from dataclasses import replace
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from fp8core.accumulators import ACCUMULATORS
from fp8core.formats import FORMATS, FloatFormat, Format, Specials
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.refold import REFOLDED_TILES, SQUARE, refolded
from kernels.device import Device, DeviceKind, Unsupported
from kernels.operand_passes.native import NativeKind, native_kind

DEQUANTIZE_BLOCK = (64, 128)
REFOLD_BLOCK = (SQUARE.mn, SQUARE.k)
REFOLD_WARPS = 8

_SHIFTED = (Specials.NONE, Specials.NAN_ONLY, Specials.IEEE)
_REFOLDED_FORMATS = ("e4m3", "e5m2")


def refolded_spec(spec: MatmulSpec, device: Device) -> MatmulSpec | Unsupported:
    """The spec that is multiplied once both operands are refolded; or the reason why they are not."""
    if isinstance(native_kind(spec, device), NativeKind):
        return Unsupported(
            f"refolding is for GPUs without block-scaled MMA, and {device.name} multiplies these as they are"
        )
    for name, operand in (("A", spec.a), ("B", spec.b)):
        if operand is None or operand.format.name not in _REFOLDED_FORMATS or operand.scale_rule.outer:
            came = "bf16" if operand is None else f"{operand.format.name}, {operand.scale_rule.words}"
            return Unsupported(
                f"refolding moves codes of {' and '.join(_REFOLDED_FORMATS)} with one level of scales, and "
                f"{name} comes as {came}"
            )
    try:
        a, b = (refolded(spec.operand(side), REFOLDED_TILES[side]) for side in Side)
    except ValueError as error:
        return Unsupported(str(error))
    return replace(spec, a=a, b=b, accumulator=ACCUMULATORS["hopper_promoted"])


class Decoding(Enum):
    """How a pass finds the number that a code stands for.

    SHIFT: the bits of a floating-point code are moved to where fp32 has them. INTEGER: the code is one, in
    two's complement. TABLE: it is looked up.
    """

    SHIFT = "shift"
    INTEGER = "integer"
    TABLE = "table"


def decoding_of(spec: OperandSpec) -> Decoding:
    """How the codes of an operand are decoded.

    Codes for NaN and infinity are not told apart by a shift. That does no harm while the scale of their tile
    is NaN; a delayed scale is not.
    """
    format_ = spec.format
    if isinstance(format_, FloatFormat) and format_.signed and format_.specials in _SHIFTED:
        late = spec.scale_rule.history and format_.nan_code is not None
        return Decoding.TABLE if late else Decoding.SHIFT
    if integer_step(format_) is not None and not spec.scale_rule.history:
        return Decoding.INTEGER
    return Decoding.TABLE


@lru_cache(maxsize=64)
def integer_step(format_: Format) -> int | None:
    """The exponent of the step between a format's values, if its codes are integers in two's complement."""
    codes, half = np.arange(1 << format_.bits), 1 << (format_.bits - 1)
    values = format_.decode(codes.astype(format_.code_dtype))
    step = values[1]
    even = np.array_equal(values, ((codes ^ half) - half) * step)
    return int(np.log2(step)) if even and step > 0 and np.log2(step) % 1 == 0 else None


def pass_constants(spec: OperandSpec, block: tuple[int, int], kind: DeviceKind) -> dict[str, Any]:
    """The constexpr arguments that the passes over operands quantized as `spec` share."""
    return {
        "TILE_K": spec.tile.k or 0,
        "SCALE": spec.scale_rule.format.name,
        **decode_constants(spec),
        "CAST": kind is DeviceKind.GPU,
        "BLOCK_MN": block[0],
        "BLOCK_K": block[1],
    }


def decode_constants(spec: OperandSpec) -> dict[str, Any]:
    """The constexpr arguments with which a kernel decodes codes: see code_values."""
    format_, decoding = spec.format, decoding_of(spec)
    match decoding:
        case Decoding.SHIFT:
            shift, factor = decode_shift(format_, FORMATS["bf16"])
        case Decoding.INTEGER:
            shift, factor = 0, integer_step(format_)
        case Decoding.TABLE:
            shift, factor = 0, 0
    return {"BITS": format_.packed_bits, "DECODING": decoding.value, "SHIFT": shift, "FACTOR": factor}


def decode_shift(format_: FloatFormat, wide: FloatFormat) -> tuple[int, int]:
    """(shift, exponent): a code's magnitude bits << shift, read as `wide`, times 2**exponent is its value."""
    return wide.mantissa_bits - format_.mantissa_bits, wide.bias - format_.bias
