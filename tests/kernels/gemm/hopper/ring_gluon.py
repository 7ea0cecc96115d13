"""What the roles of a traced kernel did: operations on barriers, and uses of shared memory."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from math import prod
from types import SimpleNamespace
from typing import Any

Barrier = tuple[str, int]
"""(name of the barriers, number of one)."""


@dataclass(slots=True)
class Op:
    """One operation of a role. kind: "wait", "arrive", "expect", "load", or "touch" for all that no barrier
    sees. amount: the parity waited for, the arrivals, or the bytes.
    """

    kind: str
    barrier: Barrier | None = None
    amount: int = 0


@dataclass(slots=True)
class Access:
    """Use of bytes start to stop of shared memory, from a role's operation `begin` to its operation `end`; of
    a load, to its landing. `end` is None while a wgmma or a store by TMA is under way.
    """

    memory: str
    start: int
    stop: int
    writes: bool
    begin: int
    end: int | None


@dataclass
class Role:
    """One warpgroup or warp, and what it did."""

    name: str
    run: int = 0
    ops: list[Op] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    loads: list[tuple[int, Access]] = field(default_factory=list)
    products: list[list[Access]] = field(default_factory=list)
    stores: list[list[Access]] = field(default_factory=list)

    def add(self, kind: str, barrier: "Memory | None" = None, amount: int = 0) -> int:
        self.ops.append(Op(kind, barrier.barrier if barrier else None, amount))
        return len(self.ops) - 1

    def touch(self, memory: "Memory", *, writes: bool) -> None:
        at = self.add("touch")
        self.accesses.append(memory.access(writes, at, at))

    def begin(self, pending: list[list[Access]], *memories: "Memory") -> None:
        at = self.add("touch")
        begun = [each.access(False, at, None) for each in memories]
        self.accesses += begun
        pending.append(begun)

    def wait(self, pending: list[list[Access]], left: int) -> None:
        at = self.add("touch")
        while len(pending) > left:
            for access in pending.pop(0):
                access.end = at


@dataclass
class Trace:
    """What all roles of one program did. counts: arrivals that end a phase of each barrier."""

    program: int
    programs: int
    last: int | None
    asserts: bool
    roles: list[Role] = field(default_factory=list)
    counts: dict[Barrier, int] = field(default_factory=dict)
    initialized: "list[tuple[Memory, int]]" = field(default_factory=list)
    memories: int = 0

    @property
    def role(self) -> Role:
        return self.roles[-1]


RUNNING: list[Trace] = []
"""The trace under way, if one is, comes last."""


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


def _allocate(dtype: Type, shape: list[int], layout: Any) -> Memory:
    trace = RUNNING[-1]
    trace.memories += 1
    allocation = Allocation(prod(shape) * dtype.primitive_bitwidth // 8, [f"memory {trace.memories}"])
    return Memory(allocation, 0, allocation.bytes, tuple(map(int, shape)), dtype, layout)


signature = cache(inspect.signature)


def _specialize(calls: list[tuple[Callable[..., None], tuple[Any, ...]]], warps: Any, registers: Any) -> None:
    trace = RUNNING[-1]
    for function, values in calls:
        arguments = signature(function).bind(*values).arguments
        named = vars(arguments["ring"]) | {k: v for k, v in arguments.items() if isinstance(v, Memory)}
        # Of a barrier that stands in for others, the own name is the last one.
        for name in sorted(named, key=lambda name: (name == "full", name in ("ready", "empty"))):
            if isinstance(named[name], Memory):
                named[name].allocation.names.append(name)
        numbers = [str(value) for name, value in arguments.items() if name in ("WG", "SPLIT", "WHICH")]
        trace.roles.append(Role(" ".join([function.__name__, *numbers]), arguments.get("SPLIT", 0)))
        function(*values)
    trace.counts = {memory.barrier: count for memory, count in trace.initialized}


def _load(desc: Descriptor, place: Any, barrier: Memory, to: Memory, pred: Any = True) -> None:
    if pred:
        role = RUNNING[-1].role
        at = role.add("load", barrier, desc.block_type.nbytes)
        role.loads.append((at, to.access(True, at, None)))


def _store(desc: Descriptor, place: Any, memory: Memory) -> None:
    role = RUNNING[-1].role
    role.begin(role.stores, memory)


def _product(a: Any, b: Any, acc: Shaped, use_acc: Any, is_async: bool) -> Shaped:
    role = RUNNING[-1].role
    role.begin(role.products, *(each for each in (a, b) if isinstance(each, Memory)))
    return Shaped(*acc.shape)


def _product_wait(left: int, deps: list[Shaped]) -> Any:
    role = RUNNING[-1].role
    role.wait(role.products, left)
    return deps[0] if len(deps) == 1 else tuple(deps)


def _where(condition: Any, one: Any, other: Any) -> Any:
    if isinstance(condition, Shaped):
        return together(condition, one, other)
    return one if condition else other


def _choice(choose: Callable[..., Any]) -> Callable[..., Any]:
    def choice(*values: Any, **_: Any) -> Any:
        return together(*values) if any(isinstance(each, Shaped) for each in values) else choose(*values)

    return choice


def _expanded(value: Shaped, axis: int) -> Shaped:
    shape = list(value.shape)
    shape.insert(axis, 1)
    return Shaped(*shape)


def _reduced(value: Shaped, axis: int, _: Any) -> Shaped:
    return Shaped(*(size for place, size in enumerate(value.shape) if place != axis))


def _asm(_: str, __: str, operands: list[Any], dtype: Any, **___: Any) -> Any:
    return tuple(together(*operands) for _ in dtype) if isinstance(dtype, tuple) else together(*operands)


def _assert(holds: Any, *_: Any) -> None:
    assert holds or not RUNNING[-1].asserts, "the kernel refuses to be compiled"


def _assume(holds: Any) -> None:
    assert holds, "the kernel assumes what is not so"


def _decorator(function: Any = None, **_: Any) -> Any:
    return function if function is not None else _decorator


class _Language(Anything):
    """Stand-in for Gluon's language, and for Triton's: what is not here changes no barrier."""

    constexpr = staticmethod(constexpr)
    static_range = range
    cast = staticmethod(lambda value, dtype: value if isinstance(value, Shaped) else Shaped())
    convert_layout = staticmethod(lambda value, *_, **__: value)
    abs = staticmethod(lambda value: value)
    where = staticmethod(_where)
    maximum, minimum = staticmethod(_choice(max)), staticmethod(_choice(min))
    zeros = staticmethod(lambda shape, *_: Shaped(*shape))
    full = staticmethod(lambda shape, *_: Shaped(*shape))
    arange = staticmethod(lambda start, stop, layout=None: Shaped(stop - start))
    load = staticmethod(lambda pointer, **_: Shaped(*pointer.shape))
    expand_dims = staticmethod(_expanded)
    reduce = staticmethod(_reduced)
    broadcast = staticmethod(lambda *values: (together(*values),) * len(values))
    join = staticmethod(lambda one, other: Shaped(*together(one, other).shape, 2))
    inline_asm_elementwise = staticmethod(_asm)
    atomic_add = staticmethod(lambda *_, **__: Arrivals())
    static_assert, assume = staticmethod(_assert), staticmethod(_assume)
    program_id = staticmethod(lambda axis: RUNNING[-1].program)
    num_programs = staticmethod(lambda axis: RUNNING[-1].programs)
    allocate_shared_memory = staticmethod(_allocate)
    warp_specialize = staticmethod(_specialize)
    _core = SimpleNamespace(builtin=_decorator)
    uint8 = float8e4nv = float8e5 = Type(8)
    int16 = bfloat16 = Type(16)
    int32 = float32 = Type(32)
    int64 = Type(64)


def _barriers() -> SimpleNamespace:
    def add(kind: str) -> Callable[..., None]:
        def added(barrier: Memory, amount: int = 1, *, count: int = 1, pred: Any = True) -> None:
            if pred:
                RUNNING[-1].role.add(kind, barrier, count if kind == "arrive" else int(amount))

        return added

    return SimpleNamespace(
        MBarrierLayout=ANY,
        init=lambda barrier, count: RUNNING[-1].initialized.append((barrier, count)),
        wait=add("wait"),
        expect=add("expect"),
        arrive=add("arrive"),
    )


_LANGUAGE = _Language()
_TMA = SimpleNamespace(
    async_load=_load,
    async_store=_store,
    store_wait=lambda left: RUNNING[-1].role.wait(RUNNING[-1].role.stores, left),
)
_HOPPER = SimpleNamespace(
    mbarrier=_barriers(),
    tma=_TMA,
    fence_async_shared=ANY,
    warpgroup_mma=_product,
    warpgroup_mma_wait=_product_wait,
)
_GLUON = SimpleNamespace(jit=_decorator, aggregate=_decorator, language=_LANGUAGE)
_TRITON = SimpleNamespace(jit=_decorator, constexpr_function=_decorator, language=_LANGUAGE)
STAND_INS = {
    "triton": _TRITON,
    "triton.language": _LANGUAGE,
    "triton.experimental": SimpleNamespace(gluon=_GLUON),
    "triton.experimental.gluon": _GLUON,
    "triton.experimental.gluon.language": _LANGUAGE,
    "triton.experimental.gluon.language.nvidia.hopper": _HOPPER,
}
