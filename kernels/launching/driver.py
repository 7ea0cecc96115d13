"""The calls of CUDA's driver that a cached launch makes.

Sources: CUDA driver API, cuLaunchKernelEx, cuFuncGetParamInfo, cuTensorMapEncodeTiled, cuMemsetD8Async,
cuStreamGetCaptureInfo.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

from kernels.device import lacks_gluon, triton_version
from kernels.launching.parameters import MAP_WORDS, WORD_BYTES, TensorMap, Uncacheable

_LIBRARY = "libcuda.so.1"
_NO_CONTEXT = 201
"""CUDA_ERROR_INVALID_CONTEXT: status of a thread's first call, if it has not used CUDA's runtime."""
_PROMOTION_OF_128_BYTES = 2
"""CU_TENSOR_MAP_L2_PROMOTION_L2_128B, as Triton has it."""
_LAST_SMALL_BIT_DRIVER = 13010
_SMALL_BYTES, _SMALL_BIT = 1 << 17, 21
_OTHER_ADDRESS = (1 << 40) - 16
"""Bits of an address that a second tensor map has the other way round."""


class Driver:
    """CUDA's driver in this process. Each call takes addresses and returns a status."""

    launch: Callable[[int, int, int, None], int]
    """(configuration, function, addresses of parameters, None)"""
    fill: Callable[[int, int, int, int], int]
    """(address, byte, count, stream)"""

    def __init__(self) -> None:
        import torch

        self._library = library()
        self._parameter_info = self._library.cuFuncGetParamInfo
        self.launch = _declared(self._library.cuLaunchKernelEx, *[ctypes.c_void_p] * 4)
        kinds = ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p
        self.fill = _declared(self._library.cuMemsetD8Async, *kinds)
        # torch.cuda.current_device without its check that CUDA is in use.
        self.device: Callable[[], int] = torch._C._cuda_getDevice
        self.stream: Callable[[int], int] = torch._C._cuda_getCurrentRawStream

    def parameter_bytes(self, function: int) -> tuple[int, ...]:
        """Sizes of a kernel's parameters in its machine code.

        The driver refuses the number after the last, and compute-sanitizer reports that.
        """
        sizes, offset, size = [], ctypes.c_size_t(), ctypes.c_size_t()
        numbers = map(ctypes.c_size_t, count())
        while not self._parameter_info(
            ctypes.c_void_p(function), next(numbers), ctypes.byref(offset), ctypes.byref(size)
        ):
            sizes.append(size.value)
        return tuple(sizes)

    def encode(self, destination: int, tensor_map: TensorMap, address: int) -> None:
        """Write a tensor map to an address that is a multiple of 64.

        Later calls write its first word, the address, and need no call of the driver's. Raises Uncacheable if
        maps of two addresses differ by more; RuntimeError in CUDA's words.
        """
        words = (ctypes.c_uint64 * MAP_WORDS).from_address(destination)
        self._encode(destination, tensor_map, address ^ _OTHER_ADDRESS)
        first, *rest = words
        self._encode(destination, tensor_map, address)
        if first != address ^ _OTHER_ADDRESS or [*words] != [address, *rest]:
            raise Uncacheable("this driver's tensor maps are not an address and words that stay")

    def _encode(self, destination: int, tensor_map: TensorMap, address: int) -> None:
        rank = len(tensor_map.dims)
        wide, narrow = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank
        status = self._library.cuTensorMapEncodeTiled(
            ctypes.c_void_p(destination),
            ctypes.c_int(tensor_map.element_type),
            ctypes.c_uint32(rank),
            ctypes.c_void_p(address),
            wide(*tensor_map.dims),
            wide(*tensor_map.strides),
            narrow(*tensor_map.box),
            narrow(*[1] * rank),
            ctypes.c_int(0),
            ctypes.c_int(tensor_map.swizzle),
            ctypes.c_int(_PROMOTION_OF_128_BYTES),
            ctypes.c_int(tensor_map.nan_beyond),
        )
        self.check(status)
        version = ctypes.c_int()
        self.check(self._library.cuDriverGetVersion(ctypes.byref(version)))
        if version.value <= _LAST_SMALL_BIT_DRIVER and tensor_map.spans < _SMALL_BYTES:
            # Drivers up to 13.1 set a bit for small tensors that is not meant for them (CUTLASS b7ecaa60).
            ctypes.c_uint64.from_address(destination + WORD_BYTES).value &= ~(1 << _SMALL_BIT)

    def retry_or_raise(self, status: int, call: Callable[..., int], *arguments: Any) -> None:
        """Repeat a failed call if it was the first of its thread; else raise RuntimeError."""
        if status == _NO_CONTEXT:
            self.bind()
            status = call(*arguments)
        self.check(status)

    def bind(self) -> None:
        """Give this thread its current GPU's primary context, that of torch's and Triton's memory."""
        number, context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self._library.cuDeviceGet(ctypes.byref(number), ctypes.c_int(self.device())))
        self.check(self._library.cuDevicePrimaryCtxRetain(ctypes.byref(context), number))
        self.check(self._library.cuCtxSetCurrent(context))

    def check(self, status: int) -> None:
        """Raise RuntimeError for an error, in CUDA's words."""
        if status:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(ctypes.c_int(status), ctypes.byref(text))
            words = (text.value or b"unknown error").decode()
            raise RuntimeError(f"CUDA gave error {status} at a kernel launch: {words}")


def _declared(function: Any, *types: Any) -> Any:
    function.argtypes, function.restype = types, ctypes.c_int
    return function


@cache
def library() -> ctypes.CDLL:
    return ctypes.CDLL(_LIBRARY)


def capture_id(stream: int) -> int:
    """CUDA's number of a stream's capture, unique in the process. Raises RuntimeError for CUDA's errors."""
    status, number = ctypes.c_int(), ctypes.c_uint64()
    info = library().cuStreamGetCaptureInfo
    error = info(ctypes.c_void_p(stream), ctypes.byref(status), ctypes.byref(number))
    if error:
        raise RuntimeError(f"CUDA gave error {error} when asked which graph the stream captures")
    return number.value


@cache
def driver() -> Driver | None:
    """The driver; None if it is missing or older than CUDA 12.4, or for an unknown version of Triton.

    Then Triton launches its kernels.
    """
    if lacks_gluon(triton_version()):
        return None
    try:
        return Driver()
    except (OSError, AttributeError):
        return None
