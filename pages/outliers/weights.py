"""Question "Two readers": do Fprop and Dgrad see equal numbers?"""

import streamlit as st

from fp8core.experiments.two_readers import Disagreement, copies, weight_readers
from fp8core.linear import DGRAD, FPROP, LayerTensor
from fp8core.recipes.keys import recipe_of_key
from fp8core.tiles import TileShape
from pages.kit.chart import draw_chart, room
from pages.kit.charts.bars import Part, stacked
from pages.kit.charts.ink import INKS, Ink
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.outliers.controls import READERS_FORMAT, READERS_SCALE
from pages.outliers.data import BARE_TILES, bare_operands, bare_readers, recipe_readers
from pages.outliers.subject import price, recipes, weights
from pages.outliers.words import percent, table

DIFFER, ZERO = "differ", "zero for one reader only"


def show(controls: Controls) -> None:
    """Draw how many elements differ between the readers, recipe by recipe and tile by tile."""
    keys, source = recipes(controls), weights(controls)
    format_name, scale_name = controls.draw(READERS_FORMAT), controls.draw(READERS_SCALE)
    calls = [Call(recipe_readers, (key, source)) for key in keys]
    calls.append(Call(bare_readers, (format_name, scale_name, source)))
    wanted = (keys, source, format_name, scale_name)
    shown = computed("outliers_readers", wanted, calls, doing="Reading the weight twice")
    if shown is None:
        return
    (keys, source, format_name, scale_name), (*parts, bare) = shown.asked, shown.parts
    by_name = {recipe_of_key(key).title: part for key, part in zip(keys, parts, strict=True)}
    tiles = {f"{format_name}, {_tile(tile)}": part for tile, part in zip(BARE_TILES, bare, strict=True)}
    draw_notice(notice(tiles, format_name))
    ink = INKS[theme()]
    draw_chart(
        stacked(bars(by_name | tiles, ink), "share of the weight's elements", room(), ink),
        key="outliers_readers",
        is_rigid=True,
        alt="; ".join(
            f"{name}: {percent(part.differ / part.elements)} differ" for name, part in by_name.items()
        ),
    )
    prices = {recipe_of_key(key).title: weight_readers(recipe_of_key(key)) for key in keys}
    prices |= dict(zip(tiles, bare_operands(format_name, scale_name), strict=True))
    bits = {
        name: " + ".join(price(operand, source.shape) for operand in copies(pair))
        for name, pair in prices.items()
    }
    st.markdown(figures(by_name | tiles, bits))
    rows, columns = source.shape
    here().know.caption(
        f"A weight of {rows:,} out × {columns:,} in. Fprop sums over in, Dgrad over out. A tile of 1 × k "
        "turns with K, so the weight is quantized twice, and the gradient is that of another weight than the "
        "one that made the loss. A square tile lies alike for both. Below the recipes: bare tiles of one "
        "format."
    )


def bars(by_name: dict[str, Disagreement], ink: Ink) -> list[Part]:
    """A bar a row: what is zero for one reader only, then what else differs."""
    return [
        Part(group=name, series=series, share=count / part.elements, start=start, color=color, words=words)
        for name, part in by_name.items()
        for series, count, start, color, words in (
            (ZERO, part.zero_in_one, 0.0, ink.lost, ""),
            (
                DIFFER,
                part.differ - part.zero_in_one,
                part.zero_in_one / part.elements,
                ink.mid,
                percent(part.differ / part.elements),
            ),
        )
    ]


def notice(tiles: dict[str, Disagreement], format_name: str) -> str:
    """Long tiles against square ones in one format."""
    long = {name: part for (name, part), tile in zip(tiles.items(), BARE_TILES, strict=True) if tile.mn == 1}
    worst = max(long, key=lambda name: long[name].differ)
    part = long[worst]
    if not part.differ:
        return f"In {format_name}, **0 elements** differ between Dgrad and Fprop, whatever the tile."
    square = sum(part.differ for name, part in tiles.items() if name not in long)
    return (
        f"In {worst} tiles **{percent(part.differ / part.elements)} of a weight's elements** differ between "
        f"Fprop and Dgrad. In square tiles, {f'{square:,}' if square else 'none'} do."
    )


def figures(by_name: dict[str, Disagreement], prices: dict[str, str]) -> str:
    """The counts, and the price of the copies."""
    rows = [
        (name, f"{part.differ:,}", f"{part.zero_in_one:,}", percent(part.rel_err), prices[name])
        for name, part in by_name.items()
    ]
    names = FPROP.title, DGRAD.title, LayerTensor.W.value
    apart = f"‖{names[2]} of {names[1]} − {names[2]} of {names[0]}‖ / ‖{names[2]}‖"
    return table(("", "elements that differ", "zero for one only", apart, "bits per element"), rows)


def _tile(tile: TileShape) -> str:
    return f"{tile.mn}×{tile.k}"
