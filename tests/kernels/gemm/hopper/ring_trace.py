"""Runs the warp-specialized kernels as plain Python; keeps what each role does to barriers and memory.

The source of a kernel is executed with stand-ins for Gluon. A tensor is its shape: no number of it is known,
and a branch on one is an error. Sizes, stages and phases are Python's integers. Roles run one after the
other; ring_faults.py says whether their operations are sound in every order that barriers allow.
"""

import builtins
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kernels.gemm.blocks import Body
from kernels.gemm.hopper import launch, narrow_launch
from kernels.gemm.hopper.decoding import launch as decoding_launch
from kernels.gemm.hopper.storage import wgmma_rows
from kernels.gemm.plan import GemmPlan
from kernels.paths import TOP

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

    def begin(self, pending: list[list[Access]], memories: list[Any]) -> None:
        at = self.add("touch")
        begun = [each.access(False, at, None) for each in memories if isinstance(each, Memory)]
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


_running: list[Trace] = []


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
        trace = _running[-1]
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
        _running[-1].role.touch(self, writes=False)
        return Shaped(*self.shape)

    def store(self, value: Shaped) -> None:
        assert value.shape == self.shape, f"{value.shape} into {self.shape}"
        _running[-1].role.touch(self, writes=True)


class Descriptor:
    """A descriptor of TMA, in blocks of a shape."""

    layout = ANY

    def __init__(self, bits: int, *shape: int) -> None:
        self.dtype = Type(bits)
        self.block_type = SimpleNamespace(shape=list(shape), nbytes=prod(shape) * bits // 8)


def _allocate(dtype: Type, shape: list[int], layout: Any) -> Memory:
    trace = _running[-1]
    trace.memories += 1
    allocation = Allocation(prod(shape) * dtype.primitive_bitwidth // 8, [f"memory {trace.memories}"])
    return Memory(allocation, 0, allocation.bytes, tuple(map(int, shape)), dtype, layout)


_signature = cache(inspect.signature)


def _specialize(calls: list[tuple[Callable[..., None], tuple[Any, ...]]], warps: Any, registers: Any) -> None:
    trace = _running[-1]
    for function, given in calls:
        arguments = _signature(function).bind(*given).arguments
        named = vars(arguments["ring"]) | {k: v for k, v in arguments.items() if isinstance(v, Memory)}
        # Of a barrier that stands in for others, the own name is the last one.
        for name in sorted(named, key=lambda name: (name == "full", name in ("ready", "empty"))):
            if isinstance(named[name], Memory):
                named[name].allocation.names.append(name)
        numbers = [str(value) for name, value in arguments.items() if name in ("WG", "RUN", "WHICH")]
        trace.roles.append(Role(" ".join([function.__name__, *numbers]), arguments.get("RUN", 0)))
        function(*given)
    trace.counts = {memory.barrier: count for memory, count in trace.initialized}


def _load(desc: Descriptor, place: Any, barrier: Memory, to: Memory, pred: Any = True) -> None:
    if pred:
        role = _running[-1].role
        at = role.add("load", barrier, desc.block_type.nbytes)
        role.loads.append((at, to.access(True, at, None)))


def _store(desc: Descriptor, place: Any, memory: Memory) -> None:
    role = _running[-1].role
    role.begin(role.stores, [memory])


def _product(a: Any, b: Any, acc: Shaped, use_acc: Any, is_async: bool) -> Shaped:
    role = _running[-1].role
    role.begin(role.products, [a, b])
    return Shaped(*acc.shape)


def _product_wait(left: int, deps: list[Shaped]) -> Any:
    role = _running[-1].role
    role.wait(role.products, left)
    return deps[0] if len(deps) == 1 else tuple(deps)


def _where(condition: Any, one: Any, other: Any) -> Any:
    if isinstance(condition, Shaped):
        return together(condition, one, other)
    return one if condition else other


def _choice(choose: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(*values: Any, **_: Any) -> Any:
        return together(*values) if any(isinstance(each, Shaped) for each in values) else choose(*values)

    return chosen


def _expanded(value: Shaped, axis: int) -> Shaped:
    shape = list(value.shape)
    shape.insert(axis, 1)
    return Shaped(*shape)


def _reduced(value: Shaped, axis: int, _: Any) -> Shaped:
    return Shaped(*(size for place, size in enumerate(value.shape) if place != axis))


def _asm(_: str, __: str, given: list[Any], dtype: Any, **___: Any) -> Any:
    return tuple(together(*given) for _ in dtype) if isinstance(dtype, tuple) else together(*given)


def _assert(holds: Any, *_: Any) -> None:
    assert holds or not _running[-1].asserts, "the kernel refuses to be compiled"


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
    program_id = staticmethod(lambda axis: _running[-1].program)
    num_programs = staticmethod(lambda axis: _running[-1].programs)
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
                _running[-1].role.add(kind, barrier, count if kind == "arrive" else int(amount))

        return added

    return SimpleNamespace(
        MBarrierLayout=ANY,
        init=lambda barrier, count: _running[-1].initialized.append((barrier, count)),
        wait=add("wait"),
        expect=add("expect"),
        arrive=add("arrive"),
    )


_LANGUAGE = _Language()
_TMA = SimpleNamespace(
    async_load=_load,
    async_store=_store,
    store_wait=lambda left: _running[-1].role.wait(_running[-1].role.stores, left),
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
_STAND_INS = {
    "triton": _TRITON,
    "triton.language": _LANGUAGE,
    "triton.experimental": SimpleNamespace(gluon=_GLUON),
    "triton.experimental.gluon": _GLUON,
    "triton.experimental.gluon.language": _LANGUAGE,
    "triton.experimental.gluon.language.nvidia.hopper": _HOPPER,
}


@cache
def kernel_module(name: str) -> Any:
    """A copy of a module of kernels that imports Triton, with the stand-ins in its place."""
    path = _path(name)
    made: dict[str, Any] = {"__name__": name, "__builtins__": vars(builtins) | {"__import__": _imported}}
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), made)
    return SimpleNamespace(**made)


def _path(name: str) -> Path:
    """The file of a module of kernels, or where it would be."""
    return TOP.joinpath(*name.split(".")).with_suffix(".py")


@cache
def _is_kernel(name: str) -> bool:
    path = _path(name)
    if not (name.startswith("kernels.") and path.is_file()):
        return False
    return "\nimport triton" in (source := path.read_text(encoding="utf-8")) or "\nfrom triton" in source


def _imported(name: str, _globals: Any = None, _locals: Any = None, names: Any = (), level: int = 0) -> Any:
    """`__import__` for a copy of a kernel's module."""
    if name.split(".")[0] == "triton":
        return _STAND_INS.get(name, ANY) if names else _TRITON
    if not names:
        return __import__(name)
    if _is_kernel(name):
        return kernel_module(name)
    module = import_module(name)
    parts = {}
    for part in names:
        inner = f"{name}.{part}"
        parts[part] = kernel_module(inner) if _is_kernel(inner) else _part(module, part)
    return SimpleNamespace(**parts)


def _part(module: Any, part: str) -> Any:
    return getattr(module, part) if hasattr(module, part) else import_module(f"{module.__name__}.{part}")


@contextmanager
def _recorded(trace: Trace) -> Iterator[None]:
    _running.append(trace)
    try:
        yield
    finally:
        _running.pop()


def _run(kernel: Callable[..., None], trace: Trace, given: dict[str, Any]) -> Trace:
    """Run one program of a kernel. Pointers that are not given point anywhere."""
    with _recorded(trace):
        kernel(**{name: given.get(name, Shaped()) for name in _signature(kernel).parameters})
    return trace


def traced(
    plan: GemmPlan,
    mnk: tuple[int, int, int],
    *,
    accumulate: bool = False,
    program: int = 0,
    last: int | None = None,
    asserts: bool = False,
    **changed: Any,
) -> Trace:
    """Trace of one program of a plan's launch.

    last: the run of K, of those of this program, whose warpgroups find the other programs' sums all written;
    None where another program comes last. changed: constants to have instead of the plan's; the kernel's own
    assertions then count only where `asserts` says so.
    """
    m, n, k = mnk
    if plan.body is Body.DECODING:
        chosen = decoding_launch.constants(plan, k, accumulate=accumulate)
        name, function = "kernels.gemm.hopper.decoding.kernel", "decoding_gemm_kernel"
        given, programs = _decoding_descriptors(plan), plan.launched(m, n, chosen["RUNS"] // chosen["EACH"])
    elif plan.body is Body.NARROW:
        chosen = narrow_launch.constants(plan)
        name, function = "kernels.gemm.hopper.narrow", "narrow_gemm_kernel"
        given, programs = _boxes(plan, m), plan.blocks.count(m, n)
    else:
        chosen = launch.constants(plan, k, accumulate=accumulate)
        name, function = "kernels.gemm.hopper.kernel", "specialized_gemm_kernel"
        given, programs = _ring_descriptors(plan, m), plan.launched(m, n, chosen["RUNS"])
    trace = Trace(program % programs, programs, last, asserts=asserts or not changed)
    sizes = {"m": m, "n": n, "k": k, "a_mn_tiles": m, "b_mn_tiles": n, "group": plan.blocks.group}
    given |= sizes | {"whole": plan.whole(m, n)} | chosen | changed
    return _run(getattr(kernel_module(name), function), trace, given)


def _boxes(plan: GemmPlan, m: int) -> dict[str, Any]:
    storage, (a, b) = plan.storage, plan.meaning.multiplied
    return {
        "a_desc": Descriptor(8 * a.bytes, *storage.loaded(m)),
        "b_desc": Descriptor(8 * b.bytes, *storage.b_box),
    }


def _ring_descriptors(plan: GemmPlan, m: int) -> dict[str, Any]:
    storage = plan.storage
    return _boxes(plan, m) | {
        "a_scale_desc": Descriptor(32, storage.a_scale_box),
        "b_scale_desc": Descriptor(32, storage.b_scale_box),
        "out_desc": Descriptor(8 * plan.meaning.spec.out.bytes, *storage.out_box),
    }


def _decoding_descriptors(plan: GemmPlan) -> dict[str, Any]:
    storage, of_a = plan.storage, plan.blocks.decoded == "a"
    codes, (rows, columns) = (storage.a_box, storage.b_box) if of_a else (storage.b_box, storage.a_box)
    first, rest = wgmma_rows(rows)
    bits = 8 if plan.blocks.decoded == "ab" else 16
    return {
        "values_desc": Descriptor(bits, first, columns),
        "rest_desc": Descriptor(bits, rest or first, columns),
        "codes_desc": Descriptor(8, *codes),
        "scale_desc": Descriptor(8, storage.scale_tiles, codes[0]),
        "out_desc": Descriptor(8 * plan.meaning.spec.out.bytes, *storage.out_box),
    }
