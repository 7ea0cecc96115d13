"""Quantize a tensor on a device: `quantize(x, grid, spec)` gives the bits of fp8core.quantize.

`quantize_both` writes two operands from one read of x. Three more compute a result and quantize it: SwiGLU,
its gradients and RMSNorm (references: fp8core.fused). Their copies are those that `quantize` makes of the
result in bf16, bit for bit.

    quantize.py     the front doors: check, look up the launches of an earlier call
    plan.py         blocks of a launch, and its operands
    launch.py       memory for codes and scales, passes for an amax (collect.py, passes.py), the launch
    kernel.py       the quantizer; read first, it lists its parts
    facts.py        constants of formats, rules and operands for the kernels
    strips.py       two copies with tiles of 128, and whole columns, on Hopper; strip_kernel.py: in Gluon
    tensor.py       QuantizedTensor
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
