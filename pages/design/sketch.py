"""The sketch of the six operands, and what each of them is in words."""

from fp8core.linear import MATMULS, Side
from fp8core.recipes.plain import ALL, FITS, Plain
from fp8core.scales import Fit
from fp8core.tiles import WHOLE, Extent
from pages.design.charts.cells import Cell, cells_chart
from pages.design.controls import cell_key
from pages.design.derived import Verdict, facts
from pages.design.draft import Draft
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import tile as tile_words
from pages.kit.look.presenter import projected
from pages.kit.shell import theme
from pages.kit.widgets import Place

_SHORT_FITS = {
    Fit.NEAREST: "divided",
    Fit.FLOOR: "floor",
    Fit.EVEN: "even",
    Fit.CEIL: "ceil",
    Fit.ROUND_UP: "round up",
}


def draw_cells(draft: Draft, chosen: str, place: Place) -> None:
    """The sketch."""
    draw_chart(
        picture(draft, chosen, theme(), is_flat=projected()),
        place=place,
        key="design_cells",
        is_rigid=True,
        alt="Six operands: " + "; ".join(f"{cell.title}: {', '.join(cell.words)}" for cell in cells(draft)),
    )


def picture(draft: Draft, chosen: str, theme: str, *, is_flat: bool = False) -> Filled:
    """The sketch, and the rule's verdict on each matmul where the recipe is one."""
    rules = [] if draft.recipe is None else [one.verdict for one in facts(draft.line).matmuls.values()]
    verdicts = [(one.holds, verdict_words(one), one.short) for one in rules]
    return cells_chart(cells(draft, chosen), verdicts, INKS[theme], is_flat=is_flat)


def cells(draft: Draft, chosen: str = "") -> list[Cell]:
    """The operands as the sketch shows them."""
    every = []
    for column, matmul in enumerate(MATMULS.values()):
        for row, side in enumerate(Side):
            operand = draft.operand(matmul.name, side)
            tile = None if operand is None else tuple(map(_extent, operand["tile"].values()))
            every.append(
                Cell(
                    column=column,
                    row=row,
                    matmul=matmul.title,
                    k=matmul.k.value,
                    symbol=f"{side.value} = {matmul.symbol(side)}",
                    title=f"{matmul.title} {matmul.operand(side).value}",
                    words=words(operand),
                    # B is written [K, N]: its K runs down.
                    tile=tile if tile is None or side is Side.A else tile[::-1],
                    chosen=cell_key(matmul.name, side) == chosen,
                    outer=operand is not None and operand["scale"]["outer"] is not None,
                )
            )
    return every


def words(operand: Plain | None) -> tuple[str, str, str]:
    """The tile and the format; the scale; what else is unusual."""
    if operand is None:
        return "bf16", "no scale", ""
    scale, (mn, k) = operand["scale"], (_extent(extent) for extent in operand["tile"].values())
    tile = "one tile" if mn is WHOLE and k is WHOLE else tile_words(mn, k, ("all", "K"))
    said = ["stochastic"] * (operand["rounding"] == "stochastic") + ["rotated"] * bool(operand["rotation"])
    said += ["search"] * (len(scale["search"]) > 1) + ["of a copy"] * bool(operand["saved_as"])
    fit = f"{scale['format']} {_SHORT_FITS[FITS[scale['fit']]]}"
    return f"{operand['format']} {tile}", fit, ", ".join(said)


def _extent(written: int | str) -> Extent:
    return WHOLE if written == ALL else int(written)


def verdict_words(verdict: Verdict) -> str:
    """How the scales come in, or that they cannot."""
    if verdict.short == "no":
        return "a scale cannot leave the sum"
    if verdict.short.startswith("yes, "):
        return f"scales leave the sum {verdict.short.removeprefix('yes, ')}"
    return f"scales applied {verdict.short}" if " the " in f" {verdict.short}" else verdict.short
