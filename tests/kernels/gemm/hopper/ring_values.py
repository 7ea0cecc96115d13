"""Stand-ins for the values of a traced kernel: tensors without numbers, shared memory, descriptors of TMA."""

from dataclasses import dataclass
from math import prod
from types import SimpleNamespace
from typing import Any

from tests.kernels.gemm.hopper.ring_ops import RUNNING, Access, Barrier


class Constant(int):
    """An integer that a kernel knows when it is compiled."""

    @property
    def value(self) -> int:
        return int(self)


def constexpr(value: Any) -> Any:
    return Constant(value) if type(value) is int else value


class Anything:
    """A layout, a type, or a function that changes no barrier."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> "Anything":
        return self


ANY = Anything()


class Shaped:
    """A tensor of unknown numbers, or a pointer."""

    type = dtype = ANY

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def __bool__(self) -> bool:
        raise TypeError("a branch depends on a tensor")

    def to(self, *_: Any, **__: Any) -> "Shaped":
        return self

    def reshape(self, shape: list[int]) -> "Shaped":
        assert prod(shape) == prod(self.shape), f"{self.shape} is not {shape}"
        return Shaped(*shape)

    def permute(self, order: list[int]) -> "Shaped":
        return Shaped(*(self.shape[axis] for axis in order))

    def split(self) -> tuple["Shaped", "Shaped"]:
        assert self.shape[-1] == 2, f"two are split, got {self.shape}"
        return Shaped(*self.shape[:-1]), Shaped(*self.shape[:-1])


def together(*values: Any) -> Shaped:
    """The result of an operation number by number."""
    shapes = [value.shape for value in values if isinstance(value, Shaped)]
    if all(shape == shapes[0] for shape in shapes):
        return Shaped(*shapes[0])
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return Shaped(*map(max, zip(*padded, strict=True)))


def _with(one: "Shaped", other: Any = None) -> Shaped:
    """The same of an operator, which most often has a number beside a tensor."""
    if not isinstance(other, Shaped) or other.shape == one.shape:
        return one
    return together(one, other)


for _name in ("add", "sub", "mul", "floordiv", "truediv", "mod", "and", "or", "xor", "lshift", "rshift"):
    setattr(Shaped, f"__{_name}__", _with)
    setattr(Shaped, f"__r{_name}__", _with)
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "invert"):
    setattr(Shaped, f"__{_name}__", _with)


class Arrivals:
    """A counter in memory: another program has counted itself in, and this one comes last where the trace
    says so.
    """

    def __eq__(self, other: object) -> bool:
        trace = RUNNING[-1]
        return other != 0 and trace.role.run == trace.last

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Type:
    """A type of numbers."""

    primitive_bitwidth: int


@dataclass(frozen=True)
class Allocation:
    """Shared memory that a kernel asked for. The name is that of the ring's field."""

    bytes: int
    names: list[str]


@dataclass(slots=True)
class Memory:
    """A view of shared memory, of bytes start to stop."""

    allocation: Allocation
    start: int
    stop: int
    shape: tuple[int, ...]
    dtype: Type
    layout: Any = ANY

    @property
    def barrier(self) -> Barrier:
        return self.allocation.names[-1], 8 * self.start // self.dtype.primitive_bitwidth

    def access(self, writes: bool, begin: int, end: int | None) -> Access:
        name = self.allocation.names[-1]
        assert 0 <= self.start < self.stop <= self.allocation.bytes, f"beyond {name}"
        return Access(name, self.start, self.stop, writes, begin, end)

    def _view(self, start: int, stop: int, shape: tuple[int, ...]) -> "Memory":
        return Memory(self.allocation, start, stop, shape, self.dtype, self.layout)

    def index(self, place: int) -> "Memory":
        size = (self.stop - self.start) // self.shape[0]
        start = self.start + place * size
        return self._view(start, start + size, self.shape[1:])

    def slice(self, start: int, length: int, dim: int = 0) -> "Memory":
        shape = (*self.shape[:dim], length, *self.shape[dim + 1 :])
        if dim:  # a part of each row: the bytes of all of them stand for it
            return self._view(self.start, self.stop, shape)
        size = (self.stop - self.start) // self.shape[0]
        return self._view(self.start + start * size, self.start + (start + length) * size, shape)

    def permute(self, order: list[int]) -> "Memory":
        return self._view(self.start, self.stop, tuple([self.shape[axis] for axis in order]))

    def reinterpret(self, dtype: Type, shape: list[int], layout: Any, _semantic: Any = None) -> "Memory":
        stop = self.start + prod(shape) * dtype.primitive_bitwidth // 8
        return Memory(self.allocation, self.start, stop, tuple(map(int, shape)), dtype, layout)

    def load(self, layout: Any) -> Shaped:
        RUNNING[-1].role.touch(self, writes=False)
        return Shaped(*self.shape)

    def store(self, value: Shaped) -> None:
        assert value.shape == self.shape, f"{value.shape} into {self.shape}"
        RUNNING[-1].role.touch(self, writes=True)


class Descriptor:
    """A descriptor of TMA, in blocks of a shape."""

    layout = ANY

    def __init__(self, bits: int, *shape: int) -> None:
        self.dtype = Type(bits)
        self.block_type = SimpleNamespace(shape=list(shape), nbytes=prod(shape) * bits // 8)
