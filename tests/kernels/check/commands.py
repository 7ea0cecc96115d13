"""A command as a terminal runs it: a group of processes, with pipes for what it prints."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from signal import SIGKILL

from kernels.paths import TOP


@contextmanager
def command(arguments: Sequence[str]) -> Iterator[subprocess.Popen]:
    """Python with these arguments. Afterwards it has ended and its pipes are closed, even if a test fails."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TOP), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, SIGKILL)
