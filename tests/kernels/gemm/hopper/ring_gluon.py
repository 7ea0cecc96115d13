"""Stand-ins for the modules of Gluon and Triton: what a kernel calls is written down, or changes nothing."""

import inspect
from collections.abc import Callable
from functools import cache
from math import prod
from types import SimpleNamespace
from typing import Any

from tests.kernels.gemm.hopper.ring_ops import RUNNING, Role
from tests.kernels.gemm.hopper.ring_values import (
    ANY,
    Allocation,
    Anything,
    Arrivals,
    Descriptor,
    Memory,
    Shaped,
    Type,
    constexpr,
    together,
)


def _allocate(dtype: Type, shape: list[int], layout: Any) -> Memory:
    trace = RUNNING[-1]
    trace.memories += 1
    allocation = Allocation(prod(shape) * dtype.primitive_bitwidth // 8, [f"memory {trace.memories}"])
    return Memory(allocation, 0, allocation.bytes, tuple(map(int, shape)), dtype, layout)


signature = cache(inspect.signature)


def _specialize(calls: list[tuple[Callable[..., None], tuple[Any, ...]]], warps: Any, registers: Any) -> None:
    trace = RUNNING[-1]
    for function, given in calls:
        arguments = signature(function).bind(*given).arguments
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
