"""D[m, n] as a recipe computes it, built from the extents of the tiles: as colored pieces and as LaTeX."""

from collections.abc import Iterator
from dataclasses import dataclass

from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE, Extent, TileShape
from pages.kit.charts.ink import Ink

Pieces = list[tuple[str, str | None]]
"""Text with the dim whose color it takes."""


def equation_lines(spec: MatmulSpec) -> tuple[Pieces, ...]:
    """The equation in three lines; j counts the stretches of K on which both scales are constant.

    A lower-case a or b is a code, a capital one a bf16 number. The line of scales is empty without any.
    """
    cut = bool(spec.extents_along_k)
    head: Pieces = [("D[", None), ("m", "m"), (",", None), ("n", "n"), ("] =", None)]
    factors: list[Pieces] = []
    if spec.a is not None:
        factors.append([("sA", None), *_index(spec.a.tile, "m", k_first=False)])
    if spec.b is not None:
        factors.append([("sB", None), *_index(spec.b.tile, "n", k_first=True)])
    scales: Pieces = [("Σ", None), ("j", "k"), (" ", None)] if cut else []
    for number, factor in enumerate(factors):
        scales += [("·", None), *factor] if number else factor
    codes: Pieces = [
        ("· Σ" if factors else "Σ", None),
        ("k", "k"),
        *([("∈", None), ("j", "k")] if cut else []),
    ]
    codes += [(" ", None), (f"{'A' if spec.a is None else 'a'}[", None), ("m", "m"), (",", None), ("k", "k")]
    codes += [
        (f"]·{'B' if spec.b is None else 'b'}[", None),
        ("k", "k"),
        (",", None),
        ("n", "n"),
        ("]", None),
    ]
    return head, scales, codes


def _index(tile: TileShape, dim: str, *, k_first: bool) -> Pieces:
    free = [] if tile.mn is WHOLE else [(dim, dim) if tile.mn == 1 else (f"⌊{dim}/{tile.mn}⌋", dim)]
    along = [] if tile.k is WHOLE else [("j", "k")]
    parts = [*along, *free] if k_first else [*free, *along]
    if not parts:
        return []
    inside: Pieces = [parts[0]]
    for part in parts[1:]:
        inside += [(",", None), part]
    return [("[", None), *inside, ("]", None)]


def pieces_at(pieces: Pieces) -> Iterator[tuple[int, str, str | None]]:
    """Each piece with the column at which it starts, in characters of one width."""
    column = 0
    for text, dim in pieces:
        yield column, text, dim
        column += len(text)


@dataclass(frozen=True)
class Choice:
    """Any two tile shapes, and the number of products that the tensor core sums before a rescale."""

    a: TileShape
    b: TileShape
    summed: Extent


def latex(choice: Choice, leaves: bool, ink: Ink) -> str:
    """The equation for a choice. A scale that does not leave the sum is written inside it."""
    m, n, k = (rf"\textcolor{{{ink.of(dim)}}}{{{dim}}}" for dim in "mnk")
    j = rf"\textcolor{{{ink.k}}}{{j}}"
    one_sum = choice.summed is WHOLE
    inner = rf"\sum_{{{k}}}" if one_sum else rf"\sum_{{{k} \in {j}}}"
    outer = "" if one_sum else rf"\sum_{{{j}}} "
    codes = rf"a_{{{m},{k}}}\, b_{{{k},{n}}}"
    at = k if not leaves else j
    scale_a = _latex_scale("A", choice.a, m, at, leaves)
    scale_b = _latex_scale("B", choice.b, n, at, leaves)
    scales = rf"{scale_a}\, {scale_b}"
    left = rf"D_{{{m},{n}}} \;=\; {outer}"
    if leaves:
        rescale = rf"\underbrace{{{scales}}}_{{\text{{rescale}}}}"
        return rf"{left}{rescale}\; \underbrace{{{inner} {codes}}}_{{\text{{tensor core}}}}"
    return rf"{left}{inner} \underbrace{{{scales}}}_{{\text{{stuck inside}}}}\; {codes}"


def _latex_scale(side: str, tile: TileShape, free: str, along: str, leaves: bool) -> str:
    indices = []
    if tile.mn is not WHOLE:
        indices.append(free if tile.mn == 1 else rf"\lfloor {free}/{tile.mn} \rfloor")
    if tile.k is not WHOLE:
        at = along if leaves or tile.k == 1 else rf"\lfloor {along}/{tile.k} \rfloor"
        indices.append(at)
    return rf"s^{{{side}}}" + (rf"_{{{','.join(indices)}}}" if indices else "")
