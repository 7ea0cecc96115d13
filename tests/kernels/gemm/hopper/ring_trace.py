"""Runs the warp-specialized kernels as plain Python; keeps what each role does to barriers and memory.

The source of a kernel is executed with stand-ins for Gluon. A tensor is its shape: no number of it is known,
and a branch on one is an error. Sizes, stages and phases are Python's integers. Roles run one after the
other; ring_faults.py says whether their operations are sound in every order that barriers allow.
"""

import builtins
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kernels.gemm.blocks import Variant
from kernels.gemm.hopper import launch
from kernels.gemm.hopper.decoding import launch as decoding_launch
from kernels.gemm.plan import GemmPlan
from kernels.paths import TOP
from tests.kernels.gemm.hopper.ring_gluon import ANY, RUNNING, STAND_INS, Descriptor, Shaped, Trace, signature


@cache
def kernel_module(name: str) -> Any:
    """A copy of a module of kernels that imports Triton, with the stand-ins in its place."""
    path = _path(name)
    namespace: dict[str, Any] = {"__name__": name, "__builtins__": vars(builtins) | {"__import__": _imported}}
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), namespace)
    return SimpleNamespace(**namespace)


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
        return STAND_INS.get(name, ANY) if names else STAND_INS["triton"]
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


def _run(kernel: Callable[..., None], trace: Trace, arguments: dict[str, Any]) -> Trace:
    """Run one program of a kernel. Pointers that are not given point anywhere."""
    RUNNING.append(trace)
    try:
        kernel(**{name: arguments.get(name, Shaped()) for name in signature(kernel).parameters})
    finally:
        RUNNING.pop()
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
    if plan.variant is Variant.DECODING:
        constants = decoding_launch.constants(plan, k, accumulate=accumulate)
        name, function = "kernels.gemm.hopper.decoding.kernel", "decoding_gemm_kernel"
        arguments, sharing = _decoding_descriptors(plan), constants["SPLITS"] // constants["OWN_SPLITS"]
    else:
        constants = launch.constants(plan, k, accumulate=accumulate)
        name, function = "kernels.gemm.hopper.kernel", "specialized_gemm_kernel"
        arguments, sharing = _ring_descriptors(plan, m), constants["SPLITS"]
    programs = plan.programs(m, n, sharing)
    trace = Trace(program % programs, programs, last, asserts=asserts or not changed)
    sizes = {"m": m, "n": n, "k": k, "a_mn_tiles": m, "b_mn_tiles": n, "group": plan.blocks.group}
    arguments |= sizes | constants | changed
    return _run(getattr(kernel_module(name), function), trace, arguments)


def _boxes(plan: GemmPlan, m: int) -> dict[str, Any]:
    storage, (a, b) = plan.storage, plan.numerics.multiplied
    return {
        "a_desc": Descriptor(8 * a.bytes, *storage.loaded(m)),
        "b_desc": Descriptor(8 * b.bytes, *storage.b_box),
    }


def _ring_descriptors(plan: GemmPlan, m: int) -> dict[str, Any]:
    storage = plan.storage
    return _boxes(plan, m) | {
        "a_scale_desc": Descriptor(32, storage.a_scale_box),
        "b_scale_desc": Descriptor(32, storage.b_scale_box),
        "out_desc": Descriptor(8 * plan.numerics.spec.out.bytes, *storage.out_box),
    }


def _decoding_descriptors(plan: GemmPlan) -> dict[str, Any]:
    storage, of_a = plan.storage, plan.blocks.decoded == "a"
    codes, (rows, columns) = (storage.a_box, storage.b_box) if of_a else (storage.b_box, storage.a_box)
    bits = 8 if plan.blocks.decoded == "ab" else 16
    return {
        "values_desc": Descriptor(bits, rows, columns),
        "codes_desc": Descriptor(8, *codes),
        "scale_desc": Descriptor(8, storage.scale_tiles, codes[0]),
        "out_desc": Descriptor(8 * plan.numerics.spec.out.bytes, *storage.out_box),
    }
