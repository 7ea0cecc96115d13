"""What the server does around Streamlit: who is answered, what, and how soon."""

import asyncio
import ctypes
import gc
import platform
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from starlette.middleware import Middleware
from threadpoolctl import threadpool_limits

from kernels.paths import TOP
from pages.kit.classroom.shared import shared
from pages.kit.classroom.store import store
from pages.kit.computing.pool import pool
from pages.kit.gemm.queue_panel import workers
from pages.kit.lesson.library import library
from pages.kit.server.first_reader import is_wanted, read_every_page
from pages.kit.server.heads import Heads
from pages.kit.server.middleware import AtOnce, FewUploads, KnownHosts, OpenEndpoints, Visitors

# The outermost one first
MIDDLEWARE = [Middleware(layer) for layer in (AtOnce, KnownHosts, OpenEndpoints, FewUploads, Visitors, Heads)]


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Have modules and the processes that compute before the first reader comes, and let one of the server's
    own come first. End them with the server.
    """
    give_back_what_is_freed()
    import_every_page()
    compute_on_one_core()
    pool().start()
    workers()
    tell_the_teacher()
    reading = asyncio.create_task(_read_everything()) if is_wanted() else None
    yield
    if reading is not None:
        reading.cancel()
        await asyncio.wait([reading])
    pool().close()


def tell_the_teacher() -> None:
    invitation = f"To teach a class, open the page Class and enter this token: {shared().token.text}\n"
    sys.stdout.write(f"{store().trouble}\n{invitation}" if store().trouble else invitation)
    sys.stdout.flush()


async def _read_everything() -> None:
    await read_every_page()
    await asyncio.to_thread(library().compute_facts)


# Bytes: an allocation of this size or more is a mapping of its own, which ends when it is freed
_LARGE = 128 << 10

_SPARE = 1 << 20  # freed bytes at the heap's end that are kept

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
