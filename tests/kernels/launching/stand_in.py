"""Kernels that Python runs on the CPU, and a driver that launches them from memory laid out for CUDA."""

import ctypes
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

POINTER, INTEGER = "*fp32", "i32"
_BYTES = {POINTER: 8, INTEGER: 4}
UNUSED = 2
"""Pointers that follow all parameters of a kernel."""


class Kernel:
    """A kernel as Triton gives it: compiled by its first launch. `run` takes addresses and integers."""

    def __init__(self, run: Callable[..., None], *kinds: str) -> None:
        names = [f"argument_{number}" for number in range(len(kinds))]
        self.run, self.function = run, id(self)
        self.sizes = (*(_BYTES[kind] for kind in kinds), *[8] * UNUSED)
        self.src = SimpleNamespace(
            signature=dict(zip(names, kinds, strict=True)), fn=SimpleNamespace(arg_names=names)
        )
        self.metadata = SimpleNamespace(
            global_scratch_size=0,
            profile_scratch_size=0,
            num_ctas=1,
            tensordesc_meta=None,
            num_warps=4,
            target=SimpleNamespace(warp_size=32),
            shared=0,
            launch_pdl=True,
            launch_cooperative_grid=False,
        )

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., "Kernel"]:
        def launch(*arguments: object, **options: object) -> "Kernel":
            self.run(*(each.data_ptr() if hasattr(each, "data_ptr") else each for each in arguments))
            return self

        return launch


class Driver:
    """CUDA's driver on the CPU. `streams`: those of all launches."""

    def __init__(self, *kernels: Kernel) -> None:
        self._kernels = {kernel.function: kernel for kernel in kernels}
        self.current, self.streams = 0, []

    def device(self) -> int:
        return -1

    def stream(self, device: int) -> int:
        return self.current

    def parameter_bytes(self, function: int) -> tuple[int, ...]:
        return self._kernels[function].sizes

    def launch(self, configuration: int, function: int, addresses: int, extra: None) -> int:
        kernel = self._kernels[function]
        places = (ctypes.c_void_p * len(kernel.sizes)).from_address(addresses)
        used = [*zip(places, kernel.sizes, strict=True)][:-UNUSED]
        types = {8: ctypes.c_uint64, 4: ctypes.c_int32}
        self.streams.append((ctypes.c_uint64 * 7).from_address(configuration)[4])
        kernel.run(*(types[size].from_address(place).value for place, size in used))
        return 0

    def fill(self, address: int, byte: int, count: int, stream: int) -> int:
        ctypes.memset(address, byte, count)
        return 0


def floats(address: int, count: int) -> np.ndarray:
    """float32[count] at an address."""
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))
