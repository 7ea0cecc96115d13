"""One-byte scales become fp32 numbers."""

import triton
import triton.language as tl

from kernels.operand_passes.read_kernel import decoded_scale


@triton.jit
def widen_scales_kernel(stored_ptr, scale_ptr, size, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    """Write float32[size] of as many bytes. SCALE names their format: see decoded_scale."""
    places = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))[None, :]
    stored = tl.load(stored_ptr + places, mask=places < size, other=0)
    tl.store(scale_ptr + places, decoded_scale(stored, SCALE), mask=places < size)
