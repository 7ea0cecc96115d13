"""The C function by which Triton 3.6 launches the kernels of one signature.

gcc builds it in the process that first launches one: 0.3 s each, 24 of them in a check, one after the other.
So a process that compiles ahead builds it too. From Triton 3.7 on there is one for all kernels.
"""

import subprocess
from contextlib import suppress
from functools import cache
from typing import Any


@cache
def build_stub(compiled: Any) -> None:
    """Build the function of a compiled kernel, and keep it on disk beside the kernel.

    Without a C compiler or NVIDIA's driver there is none: whoever launches builds it, or says what is amiss.
    """
    from triton.backends.nvidia import driver

    if hasattr(driver, "make_launcher"):
        with suppress(AssertionError, ImportError, OSError, RuntimeError, subprocess.SubprocessError):
            driver.CudaLauncher(compiled.src, compiled.metadata)
