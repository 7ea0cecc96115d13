"""The server's start and end around Streamlit."""

import asyncio
import ctypes
import gc
import os
import platform
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from starlette.middleware import Middleware
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ButtonGroup_pb2 import ButtonGroup
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime
from threadpoolctl import threadpool_limits

from kernels.paths import TOP
from pages.kit.classroom.shared import shared
from pages.kit.classroom.store import store
from pages.kit.computing.pool import pool
from pages.kit.gemm.queue_panel import workers
from pages.kit.lesson.library import library
from pages.kit.server.heads import Heads
from pages.kit.server.middleware import AtOnce, KnownHosts, OpenEndpoints, Visitors

# The outermost one first
MIDDLEWARE = [Middleware(layer) for layer in (AtOnce, KnownHosts, OpenEndpoints, Visitors, Heads)]


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Start modules, processes and a first reader before others come; end them with the server."""
    give_back_what_is_freed()
    import_every_page()
    compute_on_one_core()
    pool().start()
    workers()
    trouble = f"{store().trouble}\n" if store().trouble else ""
    token = shared().token
    sys.stdout.write(f"{trouble}To teach a class, open the page Class and enter this token: {token}\n")
    sys.stdout.flush()
    reading = asyncio.create_task(_read_everything()) if os.environ.get(FIRST_READER) != "no" else None
    yield
    if reading is not None:
        reading.cancel()
        await asyncio.wait([reading])
    pool().close()


async def _read_everything() -> None:
    await read_every_page()
    await asyncio.to_thread(library().compute_facts)


def give_back_what_is_freed() -> None:
    """Return freed arrays to the system at once.

    GNU's C library gives threads their own heaps, and takes ever larger arrays from them. Every rerun is a
    new thread, so a small object that stays keeps megabytes of freed arrays.
    """
    if platform.libc_ver()[0] != "glibc":
        return
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(-8, 1)  # M_ARENA_MAX: one heap
    mallopt(-3, 128 << 10)  # M_MMAP_THRESHOLD: a larger array is a mapping of its own, which ends with it
    mallopt(-1, 1 << 20)  # M_TRIM_THRESHOLD: freed bytes at the heap's end that stay


def compute_on_one_core() -> None:
    """Limit NumPy's matrices to one core: sessions are many.

    OpenBLAS starts a thread a core, and they wait for each other without rest. On 2026-11-23, thirty sessions
    on 16 cores took 358 s of the processor in 49 s.
    """
    threadpool_limits(limits=1, user_api="blas")


def import_every_page() -> None:
    """Import all pages before any session, and keep them out of garbage collections.

    A full collection looks at every object, and holds the interpreter for 100 ms.
    """
    for path in sorted((TOP / "pages").glob("*/**/*.py")):
        import_module(".".join(path.relative_to(TOP).with_suffix("").parts))
    gc.collect()
    gc.freeze()


# A first reader without a browser opens every section of every page when the server starts. Some things are
# made once and kept, such as templates of charts: a class that comes at once would wait for all of them. The
# environment's FP8_EXPLORER_FIRST_READER=no leaves the reader out.
FIRST_READER = "FP8_EXPLORER_FIRST_READER"
PATIENCE_S = 60.0
MAIN = 0  # the place of the page's own part; the sidebar has another


class _Reader:
    """Browser's side of a session, with the pages, and a page's sections."""

    client_context = None

    def __init__(self) -> None:
        self.answered = asyncio.Event()
        self.pages: list[str] = []
        self.sections: ButtonGroup | None = None

    def write_forward_msg(self, message: ForwardMsg) -> None:
        match message.WhichOneof("type"):
            case "navigation":
                self.pages = [
                    page.page_script_hash for page in message.navigation.app_pages if not page.is_hidden
                ]
            case "delta" if message.metadata.delta_path[0] == MAIN and self.sections is None:
                element = message.delta.new_element
                if element.WhichOneof("type") == "button_group" and element.button_group.required:
                    self.sections = element.button_group
            case "script_finished" if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                self.answered.set()


async def read_every_page() -> None:
    runtime, reader = Runtime.instance(), _Reader()
    session = runtime.connect_session(client=reader, user_info={})

    async def run(page: str, section: str | None = None) -> None:
        message = BackMsg()
        message.rerun_script.page_script_hash = page
        message.rerun_script.context_info.color_scheme = "light"
        if section is not None and reader.sections is not None:
            widget = message.rerun_script.widget_states.widgets.add(id=reader.sections.id)
            widget.string_array_value.data.append(section)
        reader.answered.clear()
        runtime.handle_backmsg(session, message)
        await asyncio.wait_for(reader.answered.wait(), PATIENCE_S)

    try:
        await run("")
        for page in reader.pages:
            reader.sections = None
            await run(page)
            for option in reader.sections.options if reader.sections is not None else ():
                await run(page, option.content)
    finally:
        runtime.close_session(session)
