"""Quantize a tensor on a device: `quantize(x, grid, spec)`, bit for bit as fp8core.quantize."""

from kernels.quantize.launch import QuantizedTensor, quantize

__all__ = ["QuantizedTensor", "quantize"]
