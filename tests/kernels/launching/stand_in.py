"""CUDA's driver and compiled kernels on the CPU: a launch runs Triton's interpreter on the same memory."""

import ctypes
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import chain
from time import sleep
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import _disable_current_modes

from kernels.launching import launch as launching
from kernels.launching.warm import Warm
from tests.kernels.cases import ON_GPU

CPU = -1
"""The number that torch gives the CPU as a device."""
_SIZES = {"*": 8, "i32": 4, "i64": 8}


class Kernel:
    """A kernel whose every launch is interpreted, and which has the face of a compiled one."""

    def __init__(self, cuda, kernel):
        self.cuda, self.kernel = cuda, kernel

    def __getitem__(self, grid):
        def launched(*arguments, **constants):
            with _disable_current_modes():  # the interpreter uses torch, a GPU does not
                self.kernel[grid](*arguments, **constants)
            return self.cuda.compiled(self.kernel, grid, arguments, constants)

        return launched


class StandIn:
    """A driver that counts what it is asked, and knows each compiled kernel by a number."""

    def __init__(self):
        self.functions, self.launches, self.fills, self.stream_now = {}, 0, 0, 0

    def compiled(self, kernel, grid, arguments, constants):
        """A handle: tensors are pointers, integers but 1 are arguments, all else are constants."""
        kinds = [kind_of(each) for each in arguments]
        number = len(self.functions) + 1
        names = [f"argument_{place}" for place in range(len(arguments))]
        self.functions[number] = (kernel, grid, kinds, arguments, constants)
        metadata = SimpleNamespace(
            global_scratch_size=0,
            profile_scratch_size=0,
            launch_cooperative_grid=False,
            launch_pdl=False,
            tensordesc_meta=[described(each) for each in arguments if is_descriptor(each)],
            num_ctas=1,
            num_warps=4,
            shared=0,
            target=SimpleNamespace(warp_size=32),
        )
        signature = dict(zip(names, (kind or "constexpr" for kind in kinds), strict=True))
        source = SimpleNamespace(signature=signature, fn=SimpleNamespace(arg_names=names))
        return SimpleNamespace(src=source, metadata=metadata, function=number)

    def parameter_bytes(self, function):
        _, _, kinds, arguments, _ = self.functions[function]
        sizes = [sizes_of(kind, each) for kind, each in zip(kinds, arguments, strict=True)]
        return (*chain(*sizes), 8, 8)

    def launch(self, configuration, function, addresses, extra):
        self.launches += 1
        sleep(0)  # Another thread's turn: it must not write where this launch reads its arguments.
        kernel, grid, kinds, arguments, constants = self.functions[function]
        count = len(self.parameter_bytes(function))
        places = iter((ctypes.c_void_p * count).from_address(addresses))
        with np.errstate(all="ignore"), _disable_current_modes():
            given = [read(kind, each, places) for kind, each in zip(kinds, arguments, strict=True)]
            kernel[grid](*given, **constants)
        return 0

    def fill(self, address, byte, count, stream):
        self.fills += 1
        ctypes.memset(address, byte, count)
        return 0

    def device(self):
        return CPU

    def stream(self, device):
        return self.stream_now

    def encode(self, place, tensor_map, address):
        assert place % 64 == 0
        self.replace(place, address)

    def replace(self, place, address):
        ctypes.c_uint64.from_address(place).value = address
        return 0

    def check(self, status):
        assert not status


def kind_of(argument):
    """The type that Triton's signature has for an argument; empty for what it takes as a constant."""
    if isinstance(argument, torch.Tensor):
        return "*u8"
    if is_descriptor(argument):
        return "tensordesc<u8>"
    return "i64" if isinstance(argument, int) and argument != 1 else ""


def is_descriptor(argument):
    return hasattr(argument, "block_shape")


def described(descriptor):
    """What the compiler says of a descriptor."""
    size, box = descriptor.base.itemsize, list(descriptor.block_shape)
    return {"swizzle": 0, "elem_size": size, "elem_type": 0, "block_size": box, "fp4_padded": False}


def sizes_of(kind, argument):
    """Bytes of the parameters that an argument becomes."""
    if not kind:
        return []
    if not is_descriptor(argument):
        return [_SIZES[kind[:1] if kind[0] == "*" else kind]]
    rank = len(argument.shape)
    return [128, *[4] * rank, *[8] * rank]


def read(kind, recorded, places):
    """An argument as the driver was given it; a tensor is made anew over the memory at an address."""
    if not kind:
        return recorded
    word = ctypes.c_int64.from_address(next(places)).value
    if is_descriptor(recorded):
        rank = len(recorded.shape)
        shape = [ctypes.c_int32.from_address(next(places)).value for _ in range(rank)]
        strides = [ctypes.c_int64.from_address(next(places)).value for _ in range(rank)]
        assert (shape, strides) == (list(recorded.shape), list(recorded.strides))
        return replace(recorded, base=over(word, recorded.base))
    return over(word, recorded) if kind[0] == "*" else word


def over(address, recorded):
    """A tensor like another one, over the memory at an address."""
    bytes_ = recorded.itemsize * (
        1 + sum((size - 1) * step for size, step in zip(recorded.shape, recorded.stride(), strict=True))
    )
    memory = (ctypes.c_uint8 * bytes_).from_address(address)
    flat = torch.frombuffer(memory, dtype=torch.uint8).view(recorded.dtype)
    return flat.as_strided(recorded.shape, recorded.stride())


@contextmanager
def standing_in():
    """Calls are recorded, and warm ones go to the stand-in, which is given."""
    cuda = StandIn()
    with pytest.MonkeyPatch.context() as patch:
        original = launching.launch

        def launch(kernel, grid, *arguments, **constants):
            return original(Kernel(cuda, kernel), grid, *arguments, **constants)

        for module in LAUNCHERS:
            name = "launch_kernel" if ".gemm." in module else "launch"
            patch.setattr(f"{module}.{name}", launch)
        recording = launching.recording_here
        patch.setattr(Warm, "_driver", lambda warm, key, tensors: None if recording() else cuda)
        yield cuda


@contextmanager
def no_tapes_yet(*kept):
    """CUDA's driver as None on a GPU, else what stands in for it; these keep no tapes of calls before."""
    for tapes in kept:
        tapes.forget()
    with nullcontext() if ON_GPU else standing_in() as cuda:
        yield cuda


LAUNCHERS = (
    "kernels.fused.launch",
    "kernels.fused.passes",
    "kernels.gemm.simple.launch",
    "kernels.layer.record",
    "kernels.operand_passes.bf16",
    "kernels.operand_passes.dequantize",
    "kernels.operand_passes.refold",
    "kernels.operand_passes.widen_scales",
    "kernels.quantize.both",
    "kernels.quantize.work",
)
