"""Gluon's names in the Triton versions of kernels.device.KNOWN_TRITONS.

From 3.8 on, `async_load` and `async_store` replace `async_copy_global_to_shared` and
`async_copy_shared_to_global`, of TMA and of threads (`copy_async` here), and Gluon's aggregate is public.
`thread_barrier` is `barrier` from 3.7 on, `_reinterpret` is `reinterpret` in 3.9.
"""

from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language import _core
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import tma
from triton.language import core
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

async_load = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared
copy_async = getattr(async_copy, "async_load", None) or async_copy.async_copy_global_to_shared
async_store = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global
barrier = getattr(gl, "barrier", None) or gl.thread_barrier
_aggregate = getattr(gluon, "aggregate", None) or core._aggregate


def aggregate(cls: type) -> type:
    """Make a class of annotated fields an argument of Gluon kernels, built by naming every field once."""
    fields = dict(cls.__annotations__)

    def build(self: Any, **values: Any) -> None:
        if values.keys() != fields.keys():
            raise TypeError(f"{cls.__name__} has the fields {sorted(fields)}, got {sorted(values)}")
        for name, value in values.items():
            setattr(self, name, gl.constexpr(value) if fields[name] is gl.constexpr else value)

    build.__triton_builtin__ = True  # type: ignore[attr-defined]  # Python that runs while a kernel is compiled
    cls.__init__ = build  # type: ignore[misc]
    return _aggregate(cls)


@_core.builtin
def reinterpret(memory: Any, dtype: Any, shape: Any, layout: Any, _semantic: Any = None) -> Any:
    """View shared memory as another tensor, inside a Gluon kernel; nothing moves."""
    method = getattr(memory, "reinterpret", None) or memory._reinterpret
    return method(dtype, shape, layout, _semantic=_semantic)


@gluon.jit
def let_the_next_start():
    gdc_launch_dependents()


@gluon.jit
def wait_until_others_ended(row=0, column=0):
    """Wait until all kernels before this one have ended (early_kernel.py).

    A program's first row and column are not negative. This test makes it compute them before the wait.
    """
    if (row | column) >= 0:
        gdc_wait()


@gluon.jit
def wait_for_kernels_before():
    let_the_next_start()
    wait_until_others_ended()
