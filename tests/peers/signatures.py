"""Signatures of a library's public names, read from the sources in its wheel. Nothing is imported or run."""

import ast
import zipfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

Parameter = list[Any]
"""A name, the kind that `inspect.Parameter` has for it, and whether it has a default."""

_KINDS = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")
_DEEPEST = 8
"""Imports that are followed from one module to the next."""


@dataclass
class Wheel:
    """The Python sources of a release."""

    path: Path
    parsed: dict[str, ast.Module | None] = field(default_factory=dict)

    @cached_property
    def files(self) -> zipfile.ZipFile:
        return zipfile.ZipFile(self.path)

    @property
    def version(self) -> str:
        """The version that its file name has."""
        return self.path.name.split("-")[1]

    def module(self, name: str) -> ast.Module | None:
        """The module of a dotted name; None where there is none."""
        if name not in self.parsed:
            base, names = name.replace(".", "/"), set(self.files.namelist())
            path = next((p for p in (f"{base}.py", f"{base}/__init__.py") if p in names), None)
            self.parsed[name] = None if path is None else ast.parse(self.files.read(path))
        return self.parsed[name]

    def is_package(self, name: str) -> bool:
        return f"{name.replace('.', '/')}/__init__.py" in self.files.namelist()

    def found(self, module: str, name: str, depth: int = 0) -> tuple[str, ast.stmt] | None:
        """The home of a name and its definition, through imports; None where it has none."""
        tree = self.module(module)
        if tree is None or depth > _DEEPEST:
            return None
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                return module, node
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    home = self._imported(module, node)
                    if (found := self.found(home, alias.name, depth + 1)) is not None:
                        return found
        return None

    def _imported(self, module: str, node: ast.ImportFrom) -> str:
        """The dotted name of the module of an import, a relative one made absolute."""
        if not node.level:
            return node.module or ""
        parts = module.split(".")
        kept = parts[: len(parts) - node.level + (1 if self.is_package(module) else 0)]
        return ".".join([*kept, *([node.module] if node.module else [])])

    def entry(self, dotted: str) -> dict[str, Any] | None:
        """What is recorded of a public name; None where the release has no such name."""
        module, _, name = dotted.rpartition(".")
        found = self.found(module, name)
        if found is None:
            return {"kind": "module"} if self.module(dotted) is not None else None
        home, node = found
        if isinstance(node, ast.FunctionDef):
            return {"kind": "function", "parameters": _parameters(node.args)}
        return {"kind": "class", "parameters": self._making(home, node), "members": _members(node)}

    def _making(self, home: str, node: ast.ClassDef) -> list[Parameter]:
        """The parameters that make an object of a class: its own, or those of a base that has some."""
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                return _parameters(one.args)[1:]
        if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
            return [
                [one.target.id, "POSITIONAL_OR_KEYWORD", one.value is not None]
                for one in node.body
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
            ]
        for base in node.bases:
            if isinstance(base, ast.Name) and (found := self.found(home, base.id)) is not None:
                return self._making(found[0], found[1])
        return []


def _members(node: ast.ClassDef) -> dict[str, list[Parameter] | None]:
    """The public members of a class: the parameters of a method, None for a value."""
    found: dict[str, list[Parameter] | None] = {}
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
            is_static = any("staticmethod" in ast.unparse(decorator) for decorator in one.decorator_list)
            found[one.name] = _parameters(one.args)[0 if is_static else 1 :]
        elif isinstance(one, ast.Assign):
            found |= {target.id: None for target in one.targets if isinstance(target, ast.Name)}
    return found


def _parameters(arguments: ast.arguments) -> list[Parameter]:
    """The parameters of a function in their order."""
    positional = [*arguments.posonlyargs, *arguments.args]
    without = len(positional) - len(arguments.defaults)
    found = [
        [one.arg, _KINDS[at >= len(arguments.posonlyargs)], at >= without]
        for at, one in enumerate(positional)
    ]
    if arguments.vararg:
        found.append([arguments.vararg.arg, _KINDS[2], False])
    found += [
        [one.arg, _KINDS[3], default is not None]
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        found.append([arguments.kwarg.arg, _KINDS[4], False])
    return found
