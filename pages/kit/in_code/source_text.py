"""Source code of kernels, read as text, without Triton."""

import ast
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

from kernels.gemm.variants import WHOLE_FILE
from kernels.gemm.variants import Source as Place
from kernels.paths import TOP

_KERNELS = TOP / "kernels"
_TEXTS_KEPT = 64


@dataclass(frozen=True, kw_only=True)
class Source:
    """Places of a kernel's code: (file in kernels/, function or WHOLE_FILE).

    The docstring of the file `explained_in`, if any, explains the kernel.
    """

    title: str
    places: tuple[Place, ...]
    explained_in: str = ""


def files(source: Source) -> str:
    return ", ".join(dict.fromkeys(f"`kernels/{file}`" for file, _ in source.places))


@lru_cache(maxsize=_TEXTS_KEPT)
def explanation(file: str) -> str:
    return ast.get_docstring(parsed((_KERNELS / file).read_text(encoding="utf-8"))) or ""


@lru_cache(maxsize=_TEXTS_KEPT)
def text(source: Source) -> str:
    return "\n\n\n".join(
        body((_KERNELS / file).read_text(encoding="utf-8"), name) for file, name in source.places
    )


def body(module: str, name: str) -> str:
    """Source of a function with its decorators, or the whole text. Raises ValueError."""
    if name == WHOLE_FILE:
        return module.rstrip()
    for node in parsed(module).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(module.splitlines()[first - 1 : node.end_lineno])
    raise ValueError(f"there is no function {name} in the text")


# In Python 3.11 and 3.12, `ast.parse` counts its depth in one place for all threads. Where a garbage
# collection lets another thread in that parses too, it raises SystemError (python/cpython issue 106905).
_ONE_AT_A_TIME = Lock()


def parsed(text: str) -> ast.Module:
    """Syntax tree of a module's text. Raises SyntaxError."""
    with _ONE_AT_A_TIME:
        return ast.parse(text)
