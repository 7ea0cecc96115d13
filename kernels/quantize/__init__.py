"""Quantize a tensor on a device: `quantize(x, grid, spec)` gives the bits of fp8core.quantize.

`quantize_both(x, first, second)` gives those of two operands, from one read of x. Three more quantize what a
layer computes right before: SwiGLU, its gradients and RMSNorm, whose references are in fp8core.fused. Their
copies are those that `quantize` makes of the result in bf16, bit for bit.
"""

from kernels.quantize.quantize import (
    quantize,
    quantize_both,
    rms_norm_quantize,
    swiglu_backward_quantize,
    swiglu_quantize,
)
from kernels.quantize.tensor import QuantizedTensor

__all__ = [
    "QuantizedTensor",
    "quantize",
    "quantize_both",
    "rms_norm_quantize",
    "swiglu_backward_quantize",
    "swiglu_quantize",
]
