"""What the server does around Streamlit: who is answered, what, and how soon."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.middleware import Middleware

from pages.kit.classroom.shared import shared
from pages.kit.classroom.store import store
from pages.kit.computing.pool import pool
from pages.kit.gemm.queue_panel import workers
from pages.kit.lesson.prepare import compute_every_fact
from pages.kit.server.at_once import AtOnce
from pages.kit.server.endpoints import OpenEndpoints
from pages.kit.server.first_reader import is_wanted, read_every_page
from pages.kit.server.hosts import KnownHosts
from pages.kit.server.resources import compute_on_one_core, give_back_what_is_freed, import_every_page
from pages.kit.server.uploads import FewUploads
from pages.kit.server.visitors import Visitors

MIDDLEWARE = [Middleware(layer) for layer in (AtOnce, KnownHosts, OpenEndpoints, FewUploads, Visitors)]
"""The outermost one first."""


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
    """Print the teacher's token on the server's terminal, and what is wrong with the class's file."""
    told = f"To teach a class, open the page Class and enter this token: {shared().token.text}\n"
    sys.stdout.write(f"{store().trouble}\n{told}" if store().trouble else told)
    sys.stdout.flush()


async def _read_everything() -> None:
    """Open every page, then compute what the lesson tells."""
    await read_every_page()
    await asyncio.to_thread(compute_every_fact)
