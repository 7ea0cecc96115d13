"""Binding the calls of a text to recorded signatures: an unknown name or argument is a fault."""

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any

Names = dict[str, dict[str, Any]]
"""Records of a library, by dotted name."""


def imported(tree: ast.AST) -> dict[str, str]:
    """The names that a text imports: what each stands for, as a dotted name."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def used(text: str, root: str) -> Iterator[tuple[str, ast.Call | None]]:
    """The dotted names of one package that a text uses, with the call where one is called."""
    tree = ast.parse(text)
    names = imported(tree)
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == root:
            yield from ((f"{node.module}.{alias.name}", None) for alias in node.names)
        if id(node) in inner or not isinstance(node, ast.Name | ast.Attribute):
            continue
        dotted = _dotted(node, names)
        if dotted is not None and dotted.split(".")[0] == root:
            yield dotted, called.get(id(node))


def _dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    """The dotted name of a chain of attributes that begins at an imported name; None for another one."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and (base := _dotted(node.value, names)) is not None:
        return f"{base}.{node.attr}"
    return None


def faults(text: str, root: str, names: Names) -> list[str]:
    """Faults in a text's use of a package, a clause each; empty where all of it binds."""
    found = []
    for dotted, call in used(text, root):
        known, parameters = _recorded(dotted, names)
        if not known:
            found.append(f"{dotted} is unknown")
        elif call is not None and parameters is not None:
            found += bound(dotted, call, parameters)
    return found


def _recorded(dotted: str, names: Names) -> tuple[bool, list[list[Any]] | None]:
    """Is a name recorded, by itself or as a member of a class? And its parameters, None for a value."""
    if dotted in names:
        return True, names[dotted].get("parameters")
    home, _, member = dotted.rpartition(".")
    members = names.get(home, {}).get("members", {})
    return member in members, members.get(member)


def bound(dotted: str, call: ast.Call, parameters: list[list[Any]]) -> list[str]:
    """Why a call does not fit the parameters; empty where it does."""
    signature = inspect.Signature(
        [
            inspect.Parameter(
                name,
                getattr(inspect.Parameter, kind),
                default=None if has_default else inspect.Parameter.empty,
            )
            for name, kind, has_default in parameters
        ]
    )
    return bound_to(dotted, call, signature.bind)


def bound_to(dotted: str, call: ast.Call, bind: Callable[..., object]) -> list[str]:
    """Why a call does not fit a signature's `bind`."""
    keywords = {word.arg: None for word in call.keywords}
    if None in keywords or any(isinstance(one, ast.Starred) for one in call.args):
        return [f"{dotted} is called with a star, which nothing binds"]
    try:
        bind(*[None] * len(call.args), **keywords)
    except TypeError as wrong:
        return [f"{dotted}: {wrong}"]
    return []
