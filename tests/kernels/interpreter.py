"""Triton's interpreter without work that it does again: half of the time that a kernel takes in it.

While a kernel runs, the interpreter has its own functions in `triton.language`. It puts them there again for
each function that the kernel calls, though nothing has taken them away in between.
"""

from types import FunctionType, ModuleType

from triton import language as tl
from triton.runtime import interpreter


def patched_once_a_launch() -> None:
    """Let a function that a kernel calls find what the kernel's launch has put there.

    A Triton whose interpreter is made in another way is left as it is.
    """
    scope_type, patch = (getattr(interpreter, name, None) for name in ("_LangPatchScope", "_patch_lang"))
    if scope_type is None or patch is None or getattr(patch, "is_once", False):
        return
    seen_by: dict[FunctionType, frozenset[str]] = {}
    patched: set[str] = set()

    def restored(scope: object) -> None:
        patched.clear()
        scope_type.restore(scope)

    def once(function: FunctionType) -> object:
        if (names := seen_by.get(function)) is None:
            values = [value for value in function.__globals__.values() if isinstance(value, ModuleType)]
            names = seen_by[function] = frozenset(
                value.__name__ for value in values if value is tl or value is tl.core
            )
        if names and names <= patched:
            return scope_type()
        scope = patch(function)
        patched.update(names)
        scope.restore = lambda: restored(scope)
        return scope

    once.is_once = True
    interpreter._patch_lang = once
