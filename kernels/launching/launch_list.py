"""A launch list: the launches of a call, repeated for other tensors.

A call allocates its results and one workspace, writes all addresses, and launches.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from struct import Struct
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from kernels.launching.driver import Driver
from kernels.launching.parameters import WORD_BYTES, Parameter, Uncacheable
from kernels.launching.stream_zeros import stream_zeros

if TYPE_CHECKING:
    import torch

_WORD = 1 << (8 * WORD_BYTES)
_HALF_BITS = 4 * WORD_BYTES
_MAP_ALIGNMENT = 64
_CONFIG_WORDS, _STREAM = 7, 4
"""Words of CUlaunchConfig: grid, block and shared memory in four, stream, attributes, their count."""
_COOPERATIVE, _STARTS_EARLY, _ATTRIBUTE_WORDS = 2, 6, 9
"""CU_LAUNCH_ATTRIBUTE_COOPERATIVE, _PROGRAMMATIC_STREAM_SERIALIZATION; size of a CUlaunchAttribute."""
Address = tuple[int, int]
"""(number of a tensor or integer of a call, bytes from its start)"""


class Layout(NamedTuple):
    """A tensor's view of memory, in elements."""

    dtype: "torch.dtype"
    size: tuple[int, ...]
    stride: tuple[int, ...]

    @classmethod
    def of(cls, tensor: "torch.Tensor") -> "Layout":
        return cls(tensor.dtype, tuple(tensor.shape), tensor.stride())


def allocator(layout: Layout, bytes_: int, device: "torch.device") -> "Callable[[], torch.Tensor]":
    """A function that allocates memory of `bytes_` in a layout, which need not fill it."""
    import torch

    dtype, size, stride = layout
    last = sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
    fills = (last + 1) * dtype.itemsize == bytes_
    shape = (size, stride) if fills else ((bytes_ // dtype.itemsize,), (1,))
    make = partial(torch.empty_strided, *shape, dtype=dtype, device=device)
    # Inductor's function, for the current GPU: half the time of torch.empty_strided.
    quick = getattr(torch._C._dynamo.guards, "_empty_strided_cuda", None)
    if device.type == "cuda" and quick is not None:
        make = partial(quick, *shape, dtype)
    return make if fills else lambda: make().as_strided(size, stride)


class View(NamedTuple):
    """A view of a tensor of a call. layout: None for the tensor itself."""

    address: Address
    layout: Layout | None

    def of(self, tensors: "Sequence[torch.Tensor]") -> "torch.Tensor":
        import torch

        (number, offset), layout = self
        base = tensors[number]
        if layout is None:
            return base
        start = base.storage_offset() * base.itemsize + offset
        view = torch.empty(0, dtype=layout.dtype, device=base.device)
        return view.set_(base.untyped_storage(), start // layout.dtype.itemsize, layout.size, layout.stride)


HostStep = Callable[[Driver, "Sequence[torch.Tensor]", Sequence[int], int], None]
"""A step between launches: (driver, a call's tensors, their addresses, stream)."""


def operation_step(function: Callable[..., object], arguments: Sequence[Any]) -> HostStep:
    """One of torch's operations, with views of a call's tensors."""

    def run(driver: Driver, tensors: "Sequence[torch.Tensor]", addresses: Sequence[int], stream: int) -> None:
        function(*[each.of(tensors) if type(each) is View else each for each in arguments])

    return run


def clear_step(source: Address, bytes_: int) -> HostStep:
    base, start = source

    def run(driver: Driver, tensors: "Sequence[torch.Tensor]", addresses: Sequence[int], stream: int) -> None:
        arguments = addresses[base] + start, 0, bytes_, stream
        if status := driver.fill(*arguments):
            driver.retry_or_raise(status, driver.fill, *arguments)

    return run


@dataclass(frozen=True)
class Launch:
    """One launch of a compiled kernel. sources: None for each fixed parameter."""

    kernel: Any
    grid: tuple[int, ...]
    parameters: tuple[Parameter, ...]
    sources: tuple[Address | None, ...]


Step = Launch | HostStep


class LaunchList:
    """Launches on one device, with zeros and torch's operations between them.

    Numbers of a call's tensors: inputs, those of `allocators`, the stream's zeros if `takes_zeros`, integers.
    `rebuild` makes the value of a call from the tensors `results`. Threads may share a list: a lock guards
    the arguments until CUDA has copied them.
    """

    def __init__(
        self,
        driver: Driver,
        device: int,
        *,
        allocators: "Sequence[Callable[[], torch.Tensor]]",
        takes_zeros: bool,
        steps: Sequence[Step],
        results: Sequence[int],
        rebuild: "Callable[[list[torch.Tensor]], Any]",
    ) -> None:
        """Raises Uncacheable for a kernel that declares other parameters than its launch has."""
        self._driver, self._device, self._lock, self._stream = driver, device, Lock(), 0
        self._makes = list(allocators)
        self._takes_zeros, self._results, self._rebuild = takes_zeros, list(results), rebuild
        launches = [each for each in steps if isinstance(each, Launch)]
        self._kernels = [each.kernel for each in launches]
        for each in launches:
            sizes = tuple(one.bytes for one in each.parameters)
            if sizes != (declared := driver.parameter_bytes(each.kernel.function)):
                raise Uncacheable(f"the kernel declares parameters of {declared} bytes, expected {sizes}")
        self._lay_out(launches)
        self._configure(launches)
        self._segments = self._split(steps)

    def _lay_out(self, launches: Sequence[Launch]) -> None:
        """Place the parameters: tensor maps at multiples of 64 bytes, those that change, then fixed ones."""
        every = [one for each in launches for one in zip(each.parameters, each.sources, strict=True)]
        count = sum(parameter.words for parameter, _ in every)
        self._memory = memory = (ctypes.c_uint64 * (count + _MAP_ALIGNMENT // WORD_BYTES))()
        self._addresses = (ctypes.c_void_p * len(every))()
        self._sources: list[Address] = []
        self._maps: list[tuple[int, int, int]] = []
        """Words that are addresses of tensor maps: (number, address)."""
        start = ctypes.addressof(memory)
        word = -start % _MAP_ALIGNMENT // WORD_BYTES
        order = [(one.tensor_map is None, source is None, at) for at, (one, source) in enumerate(every)]
        for *_, number in sorted(order):
            (parameter, source), pointer = every[number], start + WORD_BYTES * word
            self._addresses[number] = pointer
            if parameter.tensor_map is not None:
                self._driver.encode(pointer, parameter.tensor_map, parameter.tensor.data_ptr())
                if source is not None:
                    self._maps.append((word, *source))
            elif source is not None:
                self._first = word * WORD_BYTES if not self._sources else self._first
                self._sources.append(source)
            else:
                fixed = parameter.value if parameter.tensor is None else parameter.tensor.data_ptr()
                memory[word] = fixed % _WORD
            word += parameter.words
        self._pack = Struct(f"{len(self._sources)}Q").pack_into

    def _configure(self, launches: Sequence[Launch]) -> None:
        """Write a CUlaunchConfig a launch, and its attributes: a number and a 1 each."""
        self._attributes = (ctypes.c_uint64 * (2 * _ATTRIBUTE_WORDS * len(launches) or 1))()
        address, words, at = ctypes.addressof(self._attributes), [], 0
        for each in launches:
            facts, (x, y, z) = each.kernel.metadata, (*each.grid, 1, 1)[:3]
            halves = (x, y, z, facts.num_warps * facts.target.warp_size, 1, 1, facts.shared, 0)
            words += [low | high << _HALF_BITS for low, high in zip(halves[::2], halves[1::2], strict=True)]
            numbers = [_STARTS_EARLY] * facts.launch_pdl + [_COOPERATIVE] * facts.launch_cooperative_grid
            words += [0, address + WORD_BYTES * at, len(numbers)]
            for number in numbers:
                self._attributes[at : at + 2] = [number, 1]
                at += _ATTRIBUTE_WORDS
        self._configurations = (ctypes.c_uint64 * (len(words) or 1))(*words)

    def _split(self, steps: Sequence[Step]) -> list[tuple[list[tuple[int, int, int, None]], HostStep | None]]:
        """Arguments of cuLaunchKernelEx, in segments that end with another step or None."""
        configuration, addresses = map(ctypes.addressof, (self._configurations, self._addresses))
        segments, launches = [], []
        for each in steps:
            if not isinstance(each, Launch):
                segments.append((launches, each))
                launches = []
                continue
            launches.append((configuration, each.kernel.function, addresses, None))
            configuration += WORD_BYTES * _CONFIG_WORDS
            addresses += WORD_BYTES * len(each.parameters)
        return [*segments, (launches, None)]

    def __call__(self, inputs: "Sequence[torch.Tensor]", scalars: Sequence[int] = ()) -> Any:
        """The value of a call with other inputs and integers. Raises RuntimeError for an error of CUDA."""
        driver, device = self._driver, self._device
        if driver.device() != device:
            import torch

            with torch.cuda.device(device):
                return self(inputs, scalars)
        stream = driver.stream(device)
        tensors = [*inputs, *[make() for make in self._makes]]
        if self._takes_zeros:
            tensors.append(stream_zeros(device, stream))
        addresses = [tensor.data_ptr() for tensor in tensors]
        if scalars:
            addresses += [scalar % _WORD for scalar in scalars]
        launch = driver.launch
        with self._lock:
            if self._sources:
                self._pack(
                    self._memory, self._first, *[addresses[base] + offset for base, offset in self._sources]
                )
            for word, base, offset in self._maps:
                self._memory[word] = addresses[base] + offset
            if stream != self._stream:
                for pointer in range(_STREAM, len(self._configurations), _CONFIG_WORDS):
                    self._configurations[pointer] = stream
                self._stream = stream
            for launches, step in self._segments:
                for one in launches:
                    if status := launch(*one):
                        driver.retry_or_raise(status, launch, *one)
                if step is not None:
                    step(driver, tensors, addresses, stream)
        return self._rebuild([tensors[number] for number in self._results])
