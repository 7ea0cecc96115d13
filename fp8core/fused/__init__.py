"""Operations right before a layer quantizes: SwiGLU, its gradients, RMSNorm.

Each is the numpy truth of a kernel that also quantizes. The order of operations is fixed, in fp32 with IEEE
rounding, so kernel and reference agree bit for bit. The result is rounded once, to bf16: `quantize` of it
gives the fused kernel's codes and scales.
"""

from fp8core.fused.rms_norm import reciprocal_rms, rms_norm
from fp8core.fused.swiglu import multiply_add, sigmoid, swiglu, swiglu_backward

__all__ = ["multiply_add", "reciprocal_rms", "rms_norm", "sigmoid", "swiglu", "swiglu_backward"]
