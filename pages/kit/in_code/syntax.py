"""Python's syntax trees of the project's own files, made one at a time.

In Python 3.11 and 3.12, `ast.parse` counts its depth in one place for all threads. Where a garbage collection
lets another thread in that parses too, the count is wrong, and SystemError is raised ("AST constructor
recursion depth mismatch", python/cpython issue 106905). Streamlit runs each session in a thread.
"""

import ast
from threading import Lock

_ONE_AT_A_TIME = Lock()


def parsed(text: str) -> ast.Module:
    """The syntax tree of a module's text. Raises SyntaxError where it is no Python."""
    with _ONE_AT_A_TIME:
        return ast.parse(text)
