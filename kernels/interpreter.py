"""Triton's interpreter without its needless work, most of a kernel's time in it, and with every numpy.

- While a kernel runs, `triton.language` has the interpreter's functions. It puts them there again for each
  function that the kernel calls.
- For each sum of integers it tests for overflow and drops the answer: it has no `debug`.
- For each operation it builds the table of numpy's dtypes anew.
- Triton 3.6 takes an array of one number as an index, which numpy 2.4 refuses: no kernel could count up to an
  argument.

An interpreter of another design stays as it is.
"""

from dataclasses import replace
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from triton import language as tl
from triton.runtime import interpreter


@cache
def quickened() -> None:
    """Take the needless work out of this process's interpreter."""
    mend_indices()
    _patch_once_a_launch()
    builder = getattr(interpreter, "interpreter_builder", None)
    options = getattr(builder, "options", None)
    if getattr(options, "debug", None) is False and hasattr(options, "sanitize_overflow"):
        builder.options = replace(options, sanitize_overflow=False)
    if hasattr(interpreter, "_get_np_dtype"):
        _cache_dtypes()


@cache
def mend_indices() -> None:
    """Let `range` in a kernel of this process take an argument."""
    patch = getattr(interpreter, "_patch_lang_tensor", None)
    if patch is None:
        return

    def with_index(tensor: type[tl.tensor], scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = with_index


def _patch_once_a_launch() -> None:
    """Patch `triton.language` once a launch, not once a called function."""
    scope_type, patch = (getattr(interpreter, name, None) for name in ("_LangPatchScope", "_patch_lang"))
    if scope_type is None or patch is None:
        return
    names_of: dict[FunctionType, frozenset[str]] = {}
    patched: set[str] = set()

    def restored(scope: object) -> None:
        patched.clear()
        scope_type.restore(scope)

    def once(function: FunctionType) -> object:
        if (names := names_of.get(function)) is None:
            values = [value for value in function.__globals__.values() if isinstance(value, ModuleType)]
            names = names_of[function] = frozenset(
                value.__name__ for value in values if value is tl or value is tl.core
            )
        if names and names <= patched:
            return scope_type()
        scope = patch(function)
        patched.update(names)
        scope.restore = lambda: restored(scope)
        return scope

    interpreter._patch_lang = once


def _cache_dtypes() -> None:
    of_any = interpreter._get_np_dtype
    of_number = cache(of_any)

    def dtype_of(kind: object) -> object:
        number = kind.element_ty if isinstance(kind, tl.block_type) else kind
        return of_number(number) if type(number) is tl.dtype else of_any(kind)

    interpreter._get_np_dtype = dtype_of
