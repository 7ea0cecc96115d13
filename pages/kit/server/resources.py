"""The server's memory and cores: freed memory goes back to the system, collections leave modules alone, and a
matrix takes one core.

Measured on 2026-11-23 with thirty sessions that change pages for 40 seconds: the server grew by 170 MB
before, by 30 now.
"""

import ctypes
import gc
import platform
from importlib import import_module

from threadpoolctl import threadpool_limits

from kernels.paths import TOP

_LARGE = 128 << 10
"""Bytes: an allocation of this size or more is a mapping of its own, which ends when it is freed."""

_SPARE = 1 << 20
"""Freed bytes at the heap's end that are kept."""

# The names of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8


def give_back_what_is_freed() -> None:
    """Have arrays leave the process as soon as they are freed.

    GNU's C library gives threads heaps of their own, and takes ever larger arrays from them the more of them
    are freed. Every rerun is a new thread. So a small object that stays keeps megabytes of freed arrays.
    """
    if platform.libc_ver()[0] != "glibc":
        return
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(_M_ARENA_MAX, 1)
    mallopt(_M_MMAP_THRESHOLD, _LARGE)
    mallopt(_M_TRIM_THRESHOLD, _SPARE)


def compute_on_one_core() -> None:
    """Have each matrix of NumPy's worked on by one core: sessions are many.

    OpenBLAS starts a thread for every core, and they wait for each other without rest. On 2026-11-23, thirty
    sessions on 16 cores took 358 s of the processor in 49 s.
    """
    threadpool_limits(limits=1, user_api="blas")


def import_every_page() -> None:
    """Import what pages import, so that no session waits for it, and keep it out of garbage collections.

    A full collection looks at every object, and holds the interpreter for 100 ms. Modules are no garbage.
    """
    for path in sorted((TOP / "pages").glob("*/**/*.py")):
        import_module(".".join(path.relative_to(TOP).with_suffix("").parts))
    gc.collect()
    gc.freeze()
