"""What Gluon calls things in the Triton versions of kernels.device.KNOWN_TRITONS.

3.6 and 3.7 have `async_copy_global_to_shared` and `async_copy_shared_to_global`, 3.8 and later `async_load`
and `async_store`; `thread_barrier` is `barrier` from 3.7 on; `aggregate` is public from 3.8 on; a memory
descriptor's `_reinterpret` is `reinterpret` in 3.9.
"""

from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language import _core
from triton.experimental.gluon.language.nvidia.hopper import tma
from triton.language import core

async_load = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared
async_store = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global
barrier = getattr(gl, "barrier", None) or gl.thread_barrier
aggregate = getattr(gluon, "aggregate", None) or core._aggregate


@_core.builtin
def reinterpret(memory: Any, dtype: Any, shape: Any, layout: Any, _semantic: Any = None) -> Any:
    """The same shared memory as another tensor. For use inside Gluon kernels."""
    method = getattr(memory, "reinterpret", None) or memory._reinterpret
    return method(dtype, shape, layout, _semantic=_semantic)
