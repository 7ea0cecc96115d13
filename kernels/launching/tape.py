"""A tape: the steps that a recorded call left, repeated with the tensors of another call like it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kernels.launching.cuda import Cuda

if TYPE_CHECKING:
    import torch

WORD = 1 << 64

Supplier = Callable[[int, int], "torch.Tensor"]
"""Gives memory that belongs to a device and a stream, by their numbers."""


Tensors = "list[torch.Tensor | None]"
"""The tensors of one call so far, by number: its own, None for each of its integers, what its steps added."""

Values = list[int]
"""Their addresses, and the integers."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A view of a tensor of the call: its number, and how its memory is looked at, in elements of `dtype`.

    `offset` counts from the tensor's own start, in bytes. `same` says that it is the tensor as it is.
    """

    root: int
    dtype: "torch.dtype"
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    same: bool

    def of(self, tensors: Tensors) -> "torch.Tensor":
        """The view in a call."""
        import torch

        base = tensors[self.root]
        assert base is not None, "an integer has no memory to look at"
        if self.same:
            return base
        start = base.storage_offset() * base.itemsize + self.offset
        empty = torch.empty(0, dtype=self.dtype, device=base.device)
        return empty.set_(base.untyped_storage(), start // self.dtype.itemsize, self.size, self.stride)


class Allocate:
    """Memory for a result, or for what passes between kernels. A result has the shape that it is given in.

    `rows` is the memory under it where a result does not fill it: some elements of its dtype.
    """

    def __init__(
        self,
        size: tuple[int, ...],
        stride: tuple[int, ...],
        dtype: "torch.dtype",
        device: "torch.device",
        rows: int = 0,
    ) -> None:
        import torch

        self.size, self.stride, self.device = size, stride, device
        shape = (rows,) if rows else size
        steps = (1,) if rows else stride
        # Inductor's own way to ask, on the GPU in use: half the time of torch.empty_strided.
        quick = getattr(torch._C._dynamo.guards, "_empty_strided_cuda", None)
        if device.type == "cuda" and quick is not None:
            self._empty = partial(quick, shape, steps, dtype)
        else:
            self._empty = partial(torch.empty_strided, shape, steps, dtype=dtype, device=device)
        self.make: Callable[[], torch.Tensor] = self._shaped if rows else self._empty

    def _shaped(self) -> "torch.Tensor":
        return self._empty().as_strided(self.size, self.stride)

    def __call__(self, tensors: Tensors, values: Values, stream: int) -> None:
        made = self.make()
        tensors.append(made)
        values.append(made.data_ptr())


@dataclass(frozen=True)
class Part:
    """Memory inside other memory of the call: that of tensor `root`, so many bytes on."""

    root: int
    offset: int

    def __call__(self, tensors: Tensors, values: Values, stream: int) -> None:
        tensors.append(None)
        values.append(values[self.root] + self.offset)


@dataclass(frozen=True)
class Release:
    """Memory that no later step reads is given back: later allocations may have it."""

    root: int

    def __call__(self, tensors: Tensors, values: Values, stream: int) -> None:
        tensors[self.root] = None


@dataclass(frozen=True)
class Clear:
    """Zeros in all bytes of a tensor of the call."""

    cuda: Cuda
    root: int
    bytes: int

    @property
    def reads(self) -> tuple[int, ...]:
        return (self.root,)

    def __call__(self, tensors: Tensors, values: Values, stream: int) -> None:
        given = values[self.root], 0, self.bytes, stream
        if status := self.cuda.fill(*given):
            self.cuda.settle(status, self.cuda.fill, *given)


@dataclass(frozen=True)
class Supply:
    """Memory that the stream has for itself, whatever call it is."""

    supplier: Supplier
    device: int

    def __call__(self, tensors: Tensors, values: Values, stream: int) -> None:
        given = self.supplier(self.device, stream)
        tensors.append(given)
        values.append(given.data_ptr())


@dataclass(frozen=True)
class Operation:
    """One of torch's own operations, on views of the call's tensors. `adds` its result to them."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    adds: bool

    @property
    def reads(self) -> tuple[int, ...]:
        """Numbers of the tensors that it takes."""
        return tuple(each.root for each in self.arguments if isinstance(each, Seen))

    def __call__(self, tensors: Tensors, values: Values, stream: int) -> None:
        given = [each.of(tensors) if isinstance(each, Seen) else each for each in self.arguments]
        made = self.function(*given, **self.options)
        if self.adds:
            tensors.append(made)
            values.append(made.data_ptr())


Step = Callable[[Tensors, Values, int], None]
"""One of the above, or a Prepared launch: called with the tensors, the values and the stream of a call."""


@dataclass(kw_only=True, eq=False)
class Tape:
    """The steps of a call on one device, and how its results lie in the call's tensors.

    A call gives so many `tensors`, and so many `integers`; what steps make is numbered after both.
    `kept` are tensors that never change, such as tables: the tape has their addresses. `finish` makes of the
    results what the caller is given.
    """

    cuda: Cuda
    device: int
    tensors: int
    integers: int
    steps: tuple[Step, ...]
    results: tuple[Seen, ...]
    kept: "tuple[torch.Tensor, ...]"
    finish: "Callable[[list[torch.Tensor]], Any]"

    def __call__(self, given: "Sequence[torch.Tensor]", integers: Sequence[int] = ()) -> Any:
        """What a call gives for its tensors and integers, in the order in which they were recorded."""
        cuda, device = self.cuda, self.device
        if cuda.device() != device:
            import torch

            with torch.cuda.device(device):
                return self(given, integers)
        stream, tensors = cuda.stream(device), [*given]
        values = [tensor.data_ptr() for tensor in given]
        if integers:
            tensors += [None] * len(integers)
            values += [integer % WORD for integer in integers]
        for step in self.steps:
            step(tensors, values, stream)
        return self.finish([tensors[seen.root] if seen.same else seen.of(tensors) for seen in self.results])
