"""Operands with power-of-two scales along K: who takes them, and the blocks of the passes over them.

A GPU takes them as they are, or they are refolded first. Pure; no torch, no GPU.
"""

from dataclasses import replace

from fp8core.accumulators import ACCUMULATORS
from fp8core.formats import FORMATS, FloatFormat
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.refold import REFOLDED_TILES, SQUARE, refolded
from fp8core.tiles import TileShape
from kernels.device import Device, DeviceKind, Unsupported

DEQUANTIZE_BLOCK = (64, 128)
REFOLD_BLOCK = (SQUARE.mn, SQUARE.k)
REFOLD_WARPS = 8

_BLACKWELL, _AFTER_BLACKWELL = (10, 0), (12, 0)
DOT_SCALED_TILE = TileShape(1, 32)
"""The scales that tl.dot_scaled takes: E8M0, one every 32 along K."""


def has_native_mx(spec: MatmulSpec, device: Device) -> bool:
    """True if the GPU's tensor core takes these scales itself."""
    return (
        device.kind is DeviceKind.GPU
        and device.capability is not None
        and _BLACKWELL <= device.capability < _AFTER_BLACKWELL
        and all(operand.tile == DOT_SCALED_TILE for operand in (spec.a, spec.b))
    )


def refolded_spec(spec: MatmulSpec, device: Device) -> MatmulSpec | Unsupported:
    """The spec that is multiplied once both operands are refolded; or the reason why they are not."""
    if has_native_mx(spec, device):
        return Unsupported(
            f"refolding is for GPUs without block-scaled MMA, and {device.name} multiplies these as they are"
        )
    try:
        a, b = (refolded(spec.operand(side), REFOLDED_TILES[side]) for side in Side)
    except ValueError as error:
        return Unsupported(str(error))
    return replace(spec, a=a, b=b, accumulator=ACCUMULATORS["hopper_promoted"])


def pass_constants(spec: OperandSpec, block: tuple[int, int], kind: DeviceKind) -> dict[str, int | bool]:
    """The constexpr arguments that the passes over operands quantized as `spec` share."""
    shift, factor = decode_shift(spec.format, FORMATS["bf16"])
    return {
        "TILE_K": spec.tile.k,
        "SHIFT": shift,
        "FACTOR": factor,
        "CAST": kind is DeviceKind.GPU,
        "BLOCK_MN": block[0],
        "BLOCK_K": block[1],
    }


def decode_shift(format_: FloatFormat, wide: FloatFormat) -> tuple[int, int]:
    """(shift, exponent): a code's magnitude bits << shift, read as `wide`, times 2**exponent is its value."""
    return wide.mantissa_bits - format_.mantissa_bits, wide.bias - format_.bias
