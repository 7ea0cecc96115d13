"""Operands on the device out of the numpy reference: kernels that multiply are tested without a quantizer."""

import numpy as np
import torch

from fp8core.linear import Matmul, Side
from fp8core.packing import pack
from fp8core.quantize import quantize
from fp8core.recipes import Operand, Recipe
from kernels.quantize.facts import K_PADDING
from kernels.quantize.tensor import QuantizedTensor
from tests.fp8core.by_hand import stored_bits
from tests.kernels.cases import WHERE, sample


def quantized(x: np.ndarray, operand: Operand, seed: int = 0) -> QuantizedTensor:
    """x float32[rows, columns] as the reference quantizes it, laid out as the device's quantizer does."""
    return on_device(quantize(x, operand, random=stored_bits(operand, x.shape, seed)))


def on_device(reference) -> QuantizedTensor:
    """A quantized tensor of the reference on the device: codes packed along K, scales of 8 bits as bytes."""
    operand, spec = reference.operand, reference.spec
    codes = reference.codes.T if operand.k_is_rows else reference.codes
    mn, k = codes.shape
    padded = np.zeros((mn, -(-k // K_PADDING) * K_PADDING), np.uint8)
    padded[:, :k] = codes
    packed = _there(pack(padded, spec.format.packed_bits))
    stored = reference.scale_codes() if spec.scale_rule.format.bits == 8 else reference.scale
    scale = stored if operand.k_is_rows else stored.T  # [k_tiles, mn_tiles]
    outer = reference.outer_scale
    outer = outer if outer is None or operand.k_is_rows else outer.T
    return QuantizedTensor.of(operand, packed, _there(scale), k, None if outer is None else _there(outer))


def _there(x: np.ndarray) -> torch.Tensor:
    """A contiguous copy of x where kernels run, with the strides that torch gives an empty one, too."""
    made = torch.empty(x.shape, dtype=torch.from_numpy(np.empty(0, x.dtype)).dtype, device=WHERE)
    return made.copy_(torch.from_numpy(np.ascontiguousarray(x)))


def operands(
    recipe: Recipe, matmul: Matmul, mnk: tuple[int, int, int], name: str = "gaussian"
) -> tuple[QuantizedTensor | torch.Tensor, QuantizedTensor | torch.Tensor]:
    """A and B of a matmul, each quantized, or bf16 [mn, K] where it stays so."""
    made = []
    for seed, side in enumerate(Side, 1):
        shape = matmul.layer(*mnk).of(matmul.operand(side))
        x = sample(name if side is Side.A or name not in ("nan", "inf") else "gaussian", shape, seed)
        operand = recipe.operand(matmul, side)
        if operand is None:
            own = torch.from_numpy(x).bfloat16().to(WHERE)
            made.append(own.T if matmul.k_is_rows(side) else own)
        else:
            made.append(quantized(x, operand, seed))
    return made[0], made[1]
