"""Compile kernels for a GPU in a process that uses none: launchers do all as ever but launch.

Triton keeps the code on disk (TRITON_CACHE_DIR), and a process with the GPU finds it there. The same facts
decide on code in both: the plan for this GPU, and the dtypes, shapes, strides and alignment of tensors.
"""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernels.device import Device, compile_for
from kernels.gemm.simple.blocks import THREADS_A_WARP

if TYPE_CHECKING:
    from triton.backends.compiler import GPUTarget


@dataclass(frozen=True)
class _Driver:
    """What Triton asks a driver before it compiles. It says for which GPU."""

    capability: tuple[int, int]

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> "GPUTarget":
        from triton.backends.compiler import GPUTarget

        major, minor = self.capability
        return GPUTarget("cuda", 10 * major + minor, THREADS_A_WARP)


def compile_only(device: Device) -> None:
    """From now on until it ends, this process compiles for a GPU. Call it before anything asks for a GPU.

    It hides all GPUs from torch, so that it takes none of their memory.
    """
    assert device.capability is not None, "the interpreter compiles nothing"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch
    from triton.runtime import driver

    torch.set_num_threads(1)
    driver.set_active(_Driver(device.capability))
    compile_for(device)
