"""Triton's key of a function, equal in every process.

Triton 3.6 and 3.7 add to a function's key the constants of callees that were hashed before. So a key depends
on earlier launches of its process, and other processes do not find the compiled kernel. A check on an H200
compiled 85 kernels a second time, in 50 s (2026-11-29). Here callees are hashed first.
"""

import ast
from collections.abc import Iterator
from inspect import ismodule
from typing import Any

_hashed: set[int] = set()
"""Ids of functions: hash() of a JITFunction is its key."""


def hash_callees_first(function: Any) -> None:
    """Have Triton hash a JIT function after all functions that it calls."""
    from triton.runtime.jit import JITFunction

    if isinstance(function, JITFunction) and id(function) not in _hashed:
        _hashed.add(id(function))
        for callee in callees(function):
            hash_callees_first(callee)
        function.cache_key  # noqa: B018  # a property that hashes once


def callees(function: Any) -> Iterator[Any]:
    """Other JIT functions that a JIT function names, alone or in a module."""
    from triton.runtime.jit import JITFunction

    def value(node: ast.AST) -> object:
        if isinstance(node, ast.Name):
            return function.fn.__globals__.get(node.id)
        module = value(node.value) if isinstance(node, ast.Attribute) else None
        return getattr(module, node.attr, None) if ismodule(module) else None

    for node in ast.walk(function.parse()):
        callee = value(node)
        if isinstance(callee, JITFunction) and callee is not function:
            yield callee
