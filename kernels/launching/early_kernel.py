"""Early launches: a kernel starts while the one before it on the stream still ends.

CUDA calls it programmatic dependent launch. Such a kernel gets its SMs, makes its barriers, then waits until
all kernels before have ended and their writes are visible. A normal launch reaches the SMs only then: about a
microsecond later, and a GEMM of few tokens takes five.

Before the wait it reads and writes no memory: not operands, not D, not split-K's counters. Every program
waits, so no kernel ends before the one before it.

Source: CUDA programming guide, "Programmatic dependent launch and synchronization"; PTX ISA, griddepcontrol.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait


@triton.jit
def wait_for_kernels_before(EARLY: tl.constexpr):
    """Let the next kernel start, then wait until all before have ended. EARLY: this kernel started early."""
    if EARLY:
        gdc_launch_dependents()
        gdc_wait()
