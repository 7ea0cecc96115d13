"""A first call's trace: launches, memory and operations that the functions of launch.py record.

A storage identifies a tensor: all its views share one, and it lives as long as the trace.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from threading import get_ident
from typing import TYPE_CHECKING, Any

from kernels.launching.launch_list import (
    Address,
    Launch,
    LaunchList,
    Layout,
    Step,
    View,
    allocator,
    clear_step,
    operation_step,
)
from kernels.launching.parameters import Parameter, Scalar, Uncacheable, parameters

if TYPE_CHECKING:
    import torch

    from kernels.launching.driver import Driver

CONSTANTS: "dict[int, torch.Tensor]" = {}
"""Tensors that live as long as the process and never change, such as tables, by storage."""
_ALIGNMENT = 512
"""Bytes; torch's allocator aligns memory so."""
_UNKNOWN: Address = (0, 0)
_traces: "dict[int, Trace]" = {}
"""By thread. No thread-local: autograd's threads may be new, and would make it anew."""


def current_trace() -> "Trace | None":
    return _traces.get(get_ident()) if _traces else None


@contextmanager
def tracing(trace: "Trace") -> Iterator["Trace"]:
    """Record this thread's launches and allocations in a trace."""
    thread = get_ident()
    _traces[thread] = trace
    try:
        yield trace
    finally:
        del _traces[thread]


def storage_of(tensor: "torch.Tensor") -> int:
    """The number of a tensor's storage, while that lives."""
    return tensor.untyped_storage()._cdata


@dataclass(eq=False)
class Buffer:
    """Memory of a call. steps: numbers of the steps that use it. layout: of a result or an input."""

    tensor: "torch.Tensor"
    layout: Layout | None = None
    steps: list[int] = field(default_factory=list)

    @property
    def start(self) -> int:
        """Bytes before the tensor in its storage."""
        return self.tensor.storage_offset() * self.tensor.itemsize

    @property
    def bytes(self) -> int:
        return self.tensor.untyped_storage().nbytes()


class Trace:
    """The steps of one call on one device.

    `launch_list` makes each step twice: to learn which buffers it uses, then with their addresses.
    """

    def __init__(self, inputs: "Sequence[torch.Tensor]" = (), scalars: Sequence[Scalar] = ()) -> None:
        self._buffers: dict[int, list[Buffer]] = {}
        self._inputs = [self._add(Buffer(each, Layout.of(each))) for each in inputs]
        self._scalars = scalars
        self._allocated: list[Buffer] = []
        self._targets: dict[Buffer, torch.Tensor] = {}
        """Memory of other buffers, where later calls write a buffer."""
        self._zeros: Buffer | None = None
        self._steps: list[Callable[[Trace], Step]] = []
        """Functions of the trace: if they held it, its tensors would stay until a collection of garbage."""
        self._number = 0
        """Number of the current step."""
        self._addresses: dict[int, Address] = {}
        """Addresses of buffers and scalars, by id."""

    def _add(self, buffer: Buffer) -> Buffer:
        self._buffers.setdefault(storage_of(buffer.tensor), []).append(buffer)
        return buffer

    def add_allocation(self, tensor: "torch.Tensor") -> None:
        self._allocated.append(self._add(Buffer(tensor)))

    def add_zeros(self, tensor: "torch.Tensor") -> None:
        self._zeros = self._zeros or self._add(Buffer(tensor))

    def add_launch(
        self, kernel: Any, grid: tuple[int, ...], arguments: Sequence[Any], constants: Mapping[str, Any]
    ) -> None:
        def step(trace: Trace) -> Launch:
            named = dict(zip(kernel.src.fn.arg_names, arguments, strict=False)) | dict(constants)
            every = parameters(kernel, named)
            return Launch(kernel, grid, every, tuple(map(trace._source, every)))

        self._steps.append(step)

    def add_clear(self, tensor: "torch.Tensor") -> None:
        """tensor: contiguous."""
        self._steps.append(lambda trace: clear_step(trace._address(tensor), tensor.nbytes))

    def add_operation(self, function: Callable[..., object], arguments: Sequence[Any]) -> None:
        def step(trace: Trace) -> Step:
            views = [trace._view(each) if hasattr(each, "data_ptr") else each for each in arguments]
            return operation_step(function, views)

        self._steps.append(step)

    def add_target(self, tensor: "torch.Tensor", target: "torch.Tensor") -> bool:
        """Have later calls write a tensor in a target; False if it does not fill its storage, or has one."""
        for each in self._buffers.get(storage_of(tensor), ()):
            fills = tensor.is_contiguous() and tensor.nbytes == each.bytes
            if fills and each in self._allocated and each not in self._targets:
                self._targets[each] = target
                return True
        return False

    def _source(self, parameter: Parameter) -> Address | None:
        """The address of a parameter; None for a fixed one."""
        if isinstance(parameter.value, Scalar):
            return self._addresses.get(id(parameter.value), _UNKNOWN)
        if parameter.tensor is None or storage_of(parameter.tensor) in CONSTANTS:
            return None
        return self._address(parameter.tensor)

    def _address(self, tensor: "torch.Tensor") -> Address:
        buffer, offset = self._buffer(tensor)
        number, start = self._addresses.get(id(buffer), _UNKNOWN)
        return number, start + offset

    def _view(self, tensor: "torch.Tensor") -> View:
        (buffer, offset), layout = self._buffer(tensor), Layout.of(tensor)
        is_whole = not offset and layout == buffer.layout
        return View(self._address(tensor), None if is_whole else layout)

    def _buffer(self, tensor: "torch.Tensor") -> tuple[Buffer, int]:
        """(the buffer that a tensor is a view of, bytes from its start), used by the current step.

        Inputs that share a storage, such as gradients in one, lie one after the other. Raises Uncacheable for
        a tensor of other memory.
        """
        start = tensor.storage_offset() * tensor.itemsize
        every = [each for each in self._buffers.get(storage_of(tensor), ()) if each.start <= start]
        if not every:
            raise Uncacheable("memory is used that the call was not given and did not ask for")
        buffer = max(every, key=lambda each: each.start)
        buffer.steps.append(self._number)
        return buffer, start - buffer.start

    def launch_list(self, driver: "Driver", device: int, value: Any) -> LaunchList:
        """The launches of a call with this value. Raises Uncacheable if they cannot be repeated."""
        import torch

        for step in self._steps:
            step(self)
            self._number += 1
        tensors, rebuild = _flat(value)
        results = [self._result(each) for each in tensors]
        outputs = [each for each in self._allocated if each.layout is not None]
        targets = {each: self._buffer(target) for each, target in self._targets.items()}
        for each, (target, _) in targets.items():
            if target in targets:
                raise Uncacheable("a tensor is copied into one that is copied itself")
            target.steps = sorted([*target.steps, *each.steps])
        temporary = [each for each in self._allocated if each.layout is None and each.steps]
        temporary = [each for each in temporary if each not in targets]
        positions, size = workspace_layout(temporary, outputs)
        workspace = [Layout(torch.uint8, (size,), (1,))] if size else []
        zeros = [] if self._zeros is None else [self._zeros]
        numbered = [*self._inputs, *outputs, *workspace, *zeros, *self._scalars]
        addresses = self._addresses = {id(each): (number, 0) for number, each in enumerate(numbered)}
        for each, (output, start) in positions.items():
            addresses[id(each)] = addresses[id(output or workspace[0])][0], start
        for each, (target, start) in targets.items():
            addresses[id(each)] = addresses[id(target)][0], start
        allocators = [allocator(each.layout, each.bytes, each.tensor.device) for each in outputs]
        allocators += [allocator(each, size, temporary[0].tensor.device) for each in workspace]
        return LaunchList(
            driver,
            device,
            allocators=allocators,
            takes_zeros=bool(zeros),
            steps=[step(self) for step in self._steps],
            results=[addresses[id(each)][0] for each in results],
            rebuild=rebuild,
        )

    def _result(self, tensor: "torch.Tensor") -> Buffer:
        """The input that a result is, or the memory that it fills alone, then allocated in its layout."""
        for each in self._inputs:
            if each.tensor is tensor:
                return each
        (buffer, offset), layout = self._buffer(tensor), Layout.of(tensor)
        if buffer.layout is None and buffer in self._allocated:
            buffer.layout = layout
        if offset or buffer in self._inputs or buffer in self._targets or buffer.layout != layout:
            raise Uncacheable("a result is a part of other memory")
        return buffer


def workspace_layout(
    buffers: Sequence[Buffer], outputs: Sequence[Buffer]
) -> tuple[dict[Buffer, tuple[Buffer | None, int]], int]:
    """(positions of buffers, bytes of the workspace); a position: (output or None for the workspace, offset).

    Two may overlap if no step needs both. An output is needed from its first step to the end of the call.
    """
    positions: dict[Buffer, tuple[Buffer | None, int]] = {}
    for buffer in sorted(buffers, key=lambda each: -each.bytes):
        first, last = buffer.steps[0], buffer.steps[-1]
        others = [each for each in positions if first <= each.steps[-1] and each.steps[0] <= last]
        for output in (*outputs, None):
            spans = [(positions[each][1], each.bytes) for each in others if positions[each][0] is output]
            start = _gap(buffer.bytes, spans)
            if output is None or (last < output.steps[0] and start + buffer.bytes <= output.bytes):
                positions[buffer] = output, start
                break
    ends = [start + each.bytes for each, (output, start) in positions.items() if output is None]
    return positions, max(ends, default=0)


def aligned(bytes_: int) -> int:
    """Bytes up to the next tensor in the same memory."""
    return -(-bytes_ // _ALIGNMENT) * _ALIGNMENT


def _gap(bytes_: int, spans: Sequence[tuple[int, int]]) -> int:
    """The first aligned offset of a gap of `bytes_` between spans (start, bytes)."""
    start = 0
    for begin, size in sorted(spans):
        if begin < start + bytes_:
            start = max(start, begin + aligned(size))
    return start


def _flat(value: Any) -> "tuple[list[torch.Tensor], Callable[[list[torch.Tensor]], Any]]":
    """(the tensors of a value, a function from other tensors to such a value).

    A value: None, a tensor, an object with tensors `parts` and a function `like`, or a list or tuple of
    values.
    """
    if value is None:
        return [], lambda tensors: None
    if hasattr(value, "data_ptr"):
        return [value], itemgetter(0)
    if hasattr(value, "parts"):
        return [*value.parts], value.like()
    kind, parts = type(value), [_flat(each) for each in value]
    tensors = [each for part, _ in parts for each in part]
    ends = [sum(len(part) for part, _ in parts[:count]) for count in range(len(parts) + 1)]
    spans = [slice(*each) for each in pairwise(ends)]
    if all(each is None or hasattr(each, "data_ptr") for each in value):
        positions = [None if span.start == span.stop else span.start for span in spans]
        return tensors, lambda tensors: kind([None if at is None else tensors[at] for at in positions])
    makes = [*zip(spans, [make for _, make in parts], strict=True)]
    return tensors, lambda tensors: kind([make(tensors[span]) for span, make in makes])
