"""Faults of broken packages, in one line for a reader."""

from collections.abc import Iterator
from subprocess import SubprocessError

_EITHER = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
BROKEN_IMPORTS = (*_EITHER, NameError, SyntaxError)
"""Errors of a broken installation: a missing or foreign shared library, versions that do not fit."""
BREAKAGE = (*_EITHER, SubprocessError)
"""Errors of a kernel on a broken machine, beside Triton's own."""

_LONGEST = 300


def first_line(error: BaseException) -> str:
    """The line of an error that says most: a compiler's message follows the source."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    text = lines[-1] if lines[0].startswith("at ") else lines[0]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def named(error: BaseException) -> str:
    """An error's type and the line that says most."""
    return f"{type(error).__name__}: {first_line(error)}"


def triton_errors() -> Iterator[type[Exception]]:
    """Base classes of Triton's own errors, which are no RuntimeError, if Triton loads."""
    try:
        from triton.errors import TritonError
    except BROKEN_IMPORTS:
        return
    yield TritonError
