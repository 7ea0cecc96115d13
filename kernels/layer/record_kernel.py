"""The kernel that adds a step's amax to a history."""

import triton
import triton.language as tl

from kernels.bits import FP32_INF, FP32_SIZE_MASK


@triton.jit
def record_kernel(steps_ptr, amax_ptr, other_steps_ptr, other_amax_ptr, count, STEPS: tl.constexpr):
    """steps int32[count], bits of amax, move one place to the front; amax float32[1] takes the last.

    One program does it all, and a second one does it for others, if there are any. STEPS: a power of two, at
    least count.
    """
    if other_steps_ptr is not None:
        if tl.program_id(0) == 1:
            steps_ptr, amax_ptr = other_steps_ptr, other_amax_ptr
    place = tl.arange(0, STEPS)
    later = tl.load(steps_ptr + place + 1, mask=place + 1 < count, other=0)  # [STEPS]
    bits = tl.load(amax_ptr).to(tl.int32, bitcast=True)
    sound = tl.where((bits & FP32_SIZE_MASK) < FP32_INF, bits, 0)
    # Each thread writes what its neighbor reads: all have read before one writes.
    tl.debug_barrier()
    tl.store(steps_ptr + place, tl.where(place == count - 1, sound, later), mask=place < count)
