"""The sketch of the six operands, and what each of them is in words."""

import streamlit as st

from fp8core.linear import MATMULS, Side
from fp8core.recipes.plain import ALL, FITS, Plain
from fp8core.scales import Fit
from fp8core.tiles import WHOLE, Extent
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import tile as tile_words
from pages.kit.shell import theme
from pages.sections.design.charts.cells import Cell, cells_chart
from pages.sections.design.controls import cell_key
from pages.sections.design.draft import Draft

_SHORT_FITS = {
    Fit.NEAREST: "divided",
    Fit.FLOOR: "floor",
    Fit.EVEN: "even",
    Fit.CEIL: "ceil",
    Fit.ROUND_UP: "round up",
}


def draw_cells(draft: Draft, chosen: str) -> None:
    """The sketch."""
    draw_chart(
        picture(draft, chosen, theme()),
        key="design_cells",
        is_rigid=True,
        alt="Six operands: " + "; ".join(f"{cell.title}: {', '.join(cell.words)}" for cell in cells(draft)),
    )
    st.caption(
        "Above A, below B, K across in A and down in B; not to scale. A line around the tiles is an outer "
        "scale. The pink frame is the operand that the fields below change."
    )


def picture(draft: Draft, chosen: str, theme: str) -> Filled:
    return cells_chart(cells(draft, chosen), INKS[theme])


def cells(draft: Draft, chosen: str = "") -> list[Cell]:
    """The operands as the sketch shows them."""
    found = []
    for column, matmul in enumerate(MATMULS.values()):
        for row, side in enumerate(Side):
            operand = draft.operand(matmul.name, side)
            tile = None if operand is None else tuple(map(_extent, operand["tile"].values()))
            found.append(
                Cell(
                    column=column,
                    row=row,
                    title=f"{matmul.title} {matmul.operand(side).value}",
                    words=words(operand),
                    # B is written [K, N]: its K runs down.
                    tile=tile if tile is None or side is Side.A else tile[::-1],
                    chosen=cell_key(matmul.name, side) == chosen,
                    outer=operand is not None and operand["scale"]["outer"] is not None,
                )
            )
    return found


def words(operand: Plain | None) -> tuple[str, str]:
    """Two short lines: format and tile; scale, and what else is unusual."""
    if operand is None:
        return "bf16", "no scale"
    scale, (mn, k) = operand["scale"], (_extent(extent) for extent in operand["tile"].values())
    tile = "one tile" if mn is WHOLE and k is WHOLE else tile_words(mn, k, ("all", "K"))
    said = [f"{scale['format']} {_SHORT_FITS[FITS[scale['fit']]]}"]
    said += ["stochastic"] * (operand["rounding"] == "stochastic") + ["rotated"] * bool(operand["rotation"])
    said += ["search"] * (len(scale["search"]) > 1) + ["of a copy"] * bool(operand["saved_as"])
    return f"{operand['format']} {tile}", ", ".join(said)


def _extent(written: int | str) -> Extent:
    return WHOLE if written == ALL else int(written)
