"""Numbers that Triton 3.6 and 3.7 lose: a loop carries one from round to round, and an inner loop alone asks
for it, as a bound.

Both take such a number for unused, and every round gets the first one's. A kernel then waits for ever, or
leaves work undone. 3.8 and 3.9 keep it. `stop` here:

    first, stop = share_of(0)
    for item in range(items):
        for place in range(stop - first):
            multiply(first + place)
        first, stop = share_of(item + 1)
"""

import ast
from collections.abc import Iterator


def lost_bounds(source: str) -> list[str]:
    """ "function: name" of each such number in the kernels of a file, in the order of their lines."""
    kernels = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    found = []
    for kernel in kernels:
        for loop in ast.walk(kernel):
            if isinstance(loop, ast.For):
                found += [f"{kernel.name}: {name}" for name in _lost(kernel, loop)]
    return list(dict.fromkeys(found))


def _lost(kernel: ast.FunctionDef, loop: ast.For) -> Iterator[str]:
    """Names that a loop carries and that only bounds of loops in it ask for."""
    before = {name.id for name in _names(kernel, ast.Store) if name.lineno < loop.lineno}
    before |= {argument.arg for argument in kernel.args.args}
    inside = ast.Module(body=loop.body, type_ignores=[])
    inner_loops = [node for node in ast.walk(inside) if isinstance(node, ast.For)]
    bounds = {id(name) for inner in inner_loops for name in _names(inner.iter)}
    for name in sorted({each.id for each in _names(inside, ast.Store)} & before):
        if _only_bounds(name, inside, bounds, frozenset()):
            yield name


def _only_bounds(name: str, inside: ast.AST, bounds: set[int], asked: frozenset[str]) -> bool:
    """True where a name is read in bounds alone, or for names of which that is true; and is read at all."""
    loads = [each for each in _names(inside, ast.Load) if each.id == name]
    made = {}
    for node in ast.walk(inside):
        if isinstance(node, ast.Assign) and all(isinstance(each, ast.Name) for each in node.targets):
            made |= {id(each): node.targets[0].id for each in _names(node.value)}
    return bool(loads) and all(
        id(each) in bounds
        or (
            id(each) in made
            and made[id(each)] not in asked | {name}
            and _only_bounds(made[id(each)], inside, bounds, asked | {name})
        )
        for each in loads
    )


def _names(node: ast.AST, context: type[ast.expr_context] = ast.Load) -> list[ast.Name]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, context)]
