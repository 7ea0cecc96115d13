"""Reductions that Triton 3.6 gets wrong: what it makes of a kernel says where its threads lie.

Along the dim that is reduced, threads of a warp have to be neighbors in number, and so do warps: it counts on
that when it shuffles and when it goes through shared memory (ReduceOpToLLVM.cpp). Later Tritons lower a
reduction by its linear layout, whatever that is (triton-lang/triton, pull request 9219).
"""

import ast
import re

MENDED = (3, 7)
"""The first Triton that lowers reductions so."""
LAYOUT = re.compile(r"^#(\w+) = #ttg\.linear<\{(.*)\}>\s*$", re.MULTILINE)
REDUCTION = re.compile(
    r'"tt\.reduce"\([^)]*\) <\{axis = (\d+) : i32\}> \(\{.*?\}\) : \(tensor<(?:\d+x)+\w+, ([^()]*)>\) ->',
    re.DOTALL,
)
SLICE = re.compile(r"#ttg\.slice<\{dim = (\d+), parent = (.*)\}>$")
Layout = dict[str, list[list[int]]]


def scattered(ttgir: str) -> list[str]:
    """The layouts of reductions whose threads or warps lie between others; none where all are right."""
    layouts = {name: _read(body) for name, body in LAYOUT.findall(ttgir)}
    found = []
    for axis, encoding in REDUCTION.findall(re.sub(r" loc\(#loc\d*\)", "", ttgir)):
        layout = _resolved(encoding.strip(), layouts)
        if layout is not None and any(not _together(layout[each], int(axis)) for each in ("lane", "warp")):
            found.append(f"{axis} of {layout}")
    return found


def _together(bases: list[list[int]], axis: int) -> bool:
    places = [number for number, base in enumerate(bases) if base[axis]]
    return places == list(range(places[0], places[-1] + 1)) if places else True


def _read(body: str) -> Layout:
    """What each bit of a thread's number in its warp, and of its warp's, adds to the place in each dim."""
    return {
        each: ast.literal_eval(re.search(rf"{each} = (\[.*?\])(?:, \w+ = |$)", body)[1])
        for each in ("lane", "warp")
    }


def _resolved(encoding: str, layouts: dict[str, Layout]) -> Layout | None:
    """The layout of an encoding; None for one in blocks, which is right by itself."""
    sliced = SLICE.match(encoding)
    if sliced is None:
        return layouts.get(encoding.removeprefix("#"))
    dim, parent = int(sliced[1]), _resolved(sliced[2], layouts)
    if parent is None:
        return None
    return {each: [base[:dim] + base[dim + 1 :] for base in bases] for each, bases in parent.items()}
