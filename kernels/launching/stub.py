"""The C function by which Triton 3.6 launches the kernels of one signature.

gcc builds it at the first launch: 0.3 s each, 24 of them in a check, one after the other. So a process that
compiles ahead builds it too. Triton 3.7 and later have one for all kernels.
"""

import subprocess
from contextlib import suppress
from functools import cache
from typing import Any


@cache
def build_stub(compiled: Any) -> None:
    """Build the function of a compiled kernel, and keep it on disk beside the kernel.

    Without a C compiler or NVIDIA's driver there is none: a launch builds it, or reports the fault.
    """
    from triton.backends.nvidia import driver

    if hasattr(driver, "make_launcher"):
        with suppress(AssertionError, ImportError, OSError, RuntimeError, subprocess.SubprocessError):
            driver.CudaLauncher(compiled.src, compiled.metadata)
