"""Quantize a tensor on a device: `quantize(x, grid, spec)` gives the bits of fp8core.quantize."""

from kernels.quantize.launch import quantize
from kernels.quantize.tensor import QuantizedTensor

__all__ = ["QuantizedTensor", "quantize"]
