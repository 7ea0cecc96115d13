"""Quantize a tensor on a device: `quantize(x, grid, spec)` gives the bits of fp8core.quantize."""

from kernels.quantize.launch import QuantizedTensor, quantize

__all__ = ["QuantizedTensor", "quantize"]
