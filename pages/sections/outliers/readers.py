"""Section "One weight, two readers": do Fprop and Dgrad see equal numbers?"""

import streamlit as st

from fp8core.experiments.two_readers import Disagreement, copies, weight_readers
from fp8core.linear import DGRAD, FPROP, LayerTensor
from fp8core.recipes import Operand
from fp8core.recipes.keys import recipe_of_key
from fp8core.tiles import TileShape
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.sections.outliers import chosen
from pages.sections.outliers.charts.bars import Bar, grouped
from pages.sections.outliers.controls import READERS_FORMAT, READERS_SCALE
from pages.sections.outliers.measures import (
    BARE_TILES,
    bare_operands,
    bare_readers,
    recipe_readers,
)
from pages.sections.outliers.words import percent, table

DIFFER, ZERO = "differ", "zero for one reader only"


def show(controls: Controls) -> None:
    """Draw how many elements differ between the readers, recipe by recipe and tile by tile."""
    keys, source = chosen.recipes(controls), chosen.weights(controls)
    format_name = controls.draw(READERS_FORMAT, st.sidebar)
    scale_name = controls.draw(READERS_SCALE, st.sidebar)
    calls = [Call(recipe_readers, (key, source)) for key in keys]
    calls.append(Call(bare_readers, (format_name, scale_name, source)))
    asked = (keys, source, format_name, scale_name)
    shown = computed("outliers_readers", asked, calls, doing="Reading the weight twice")
    if shown is None:
        return
    (keys, source, format_name, scale_name), (*parts, bare) = shown.asked, shown.parts
    found = {recipe_of_key(key).title: part for key, part in zip(keys, parts, strict=True)}
    tiles = {f"{format_name}, {_tile(tile)}": part for tile, part in zip(BARE_TILES, bare, strict=True)}
    draw_notice(f"**Notice:** {notice(tiles, format_name)}")
    draw_chart(
        grouped(bars(found | tiles), "share of the weight's elements", INKS[theme()]),
        key="outliers_readers",
        alt="; ".join(
            f"{name}: {percent(part.differ / part.elements)} differ" for name, part in found.items()
        ),
    )
    rows, columns = source.shape
    st.caption(
        f"A weight of {rows:,} out × {columns:,} in. Fprop sums over in, Dgrad over out. A tile of 1 × k "
        "turns with K, so the weight is quantized twice, and the gradient is that of another weight than the "
        "one that made the loss. A square tile lies alike for both. Below the recipes: bare tiles of one "
        "format."
    )
    prices = {recipe_of_key(key).title: weight_readers(recipe_of_key(key)) for key in keys}
    prices |= dict(zip(tiles, bare_operands(format_name, scale_name), strict=True))
    st.markdown(figures(found | tiles, {name: price(pair, source.shape) for name, pair in prices.items()}))


def bars(found: dict[str, Disagreement]) -> list[Bar]:
    """Two bars a row: what differs, and what is zero for one reader only."""
    return [
        Bar(group=name, series=series, share=number / part.elements, told=percent(number / part.elements))
        for name, part in found.items()
        for series, number in ((DIFFER, part.differ), (ZERO, part.zero_in_one))
    ]


def notice(tiles: dict[str, Disagreement], format_name: str) -> str:
    """Long tiles against square ones in one format."""
    long = {name: part for (name, part), tile in zip(tiles.items(), BARE_TILES, strict=True) if tile.mn == 1}
    worst = max(long, key=lambda name: long[name].differ)
    part = long[worst]
    if not part.differ:
        return f"in {format_name}, Dgrad and Fprop read equal numbers, whatever the tile."
    square = sum(part.differ for name, part in tiles.items() if name not in long)
    return (
        f"in **{worst}** tiles {part.differ:,} of {part.elements:,} elements "
        f"({percent(part.differ / part.elements)}) are other numbers for Dgrad than for Fprop. "
        f"{count(part.zero_in_one, 'element is', 'elements are')} zero for one reader only. In the square "
        f"tiles of {format_name}, {f'{square:,}' if square else 'none'} differ."
    )


def price(readers: tuple[Operand | None, Operand | None], shape: tuple[int, int]) -> str:
    """Bits an element of the copies that the readers need, such as ``8.25 + 8.25``."""
    return " + ".join(chosen.price(operand, shape) for operand in copies(readers))


def figures(found: dict[str, Disagreement], prices: dict[str, str]) -> str:
    """The counts, and the price of the copies."""
    rows = [
        (name, f"{part.differ:,}", f"{part.zero_in_one:,}", percent(part.rel_err), prices[name])
        for name, part in found.items()
    ]
    names = FPROP.title, DGRAD.title, LayerTensor.W.value
    apart = f"‖{names[2]} of {names[1]} − {names[2]} of {names[0]}‖ / ‖{names[2]}‖"
    return table(("", "elements that differ", "zero for one only", apart, "bits an element"), rows)


def _tile(tile: TileShape) -> str:
    return f"{tile.mn}×{tile.k}"
