"""Section "Copies": the quantized copies of x, w and dy of a training step, and their sizes."""

import streamlit as st

from fp8core.costs import copy_cost
from fp8core.linear import OPERANDS, LayerShape
from fp8core.recipes import Recipe
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import bits_words, bytes_text, count, stored_tile
from pages.kit.controls import Controls
from pages.kit.shared_controls import INPUT, SEED, draw_recipe, draw_source
from pages.kit.tables import grid, note
from pages.kit.view import draw_chart, draw_notice, here, notices_wait, page_ink, room
from pages.tile_layouts.charts.copies import copies_chart
from pages.tile_layouts.charts.scene import copy_scenes
from pages.tile_layouts.matmul import brief_preparation
from pages.tile_layouts.picture import HARDWARE_SOURCES

LAYOUT_RULE = (
    "**On Hopper**, the FP8 tensor core (wgmma) reads an operand only where **K is contiguous in memory** "
    "(the pink arrow runs along memory). So a copy whose values fit a second matmul may still be stored "
    "twice: the second time transposed, with the same codes and scales. **On Blackwell** (sm_100, tcgen05), "
    "FP8 operands may lie either way: no copy is stored for layout alone. Codes of 4 bits lie along K there, "
    "too. Tiles that follow K still need two copies."
)
_WORDS_HEAD = ("of", "read by", "codes in tiles of", "prepared")
_HEAD = (*_WORDS_HEAD, "bits per element", "layouts", "scales", "code bytes", "scale bytes")


def show(controls: Controls, layer: LayerShape) -> None:
    view, ink = here(), page_ink()
    recipe = draw_recipe(controls, view.control)
    draw_notice(notice(recipe, layer))
    numbers = controls.value(INPUT), controls.value(SEED)
    scenes = {tensor: copy_scenes(recipe, tensor, *numbers, layer) for tensor in OPERANDS}
    copies = "; ".join(
        f"{tensor.value}: {count(recipe.copies(tensor), 'quantized copy', 'quantized copies')}"
        for tensor in OPERANDS
    )
    draw_chart(
        copies_chart(recipe, layer, scenes, ink, room(), has_figures=not notices_wait()),
        key="copies",
        alt=f"The copies of {recipe.title} that each matmul reads. {copies}",
    )
    if not notices_wait():
        st.html(copies_table(recipe, layer, ink))
    view.know.markdown(
        f"The sizes are those of a layer with tokens = {layer.tokens:,}, in = {layer.in_:,}, "
        f"out = {layer.out:,}. Each box shows a corner of its tensor. {LAYOUT_RULE}"
    )
    view.know.caption(HARDWARE_SOURCES)
    draw_source(recipe)


def copies_table(recipe: Recipe, layer: LayerShape, ink: Ink) -> str:
    rows = [
        (
            tensor.value,
            ", ".join(f"{matmul.title} {side.value}" for matmul, side in copy.readers),
            f"{copy.spec.format.name}, {stored_tile(tensor, *copy.tile)}",
            ", ".join(brief_preparation(copy.operand)),
            bits_words(copy.operand, layer.of(tensor)),
            str(len(copy.k_major)),
            f"{cost.scales:,}",
            bytes_text(cost.code_bytes),
            bytes_text(cost.scale_bytes),
        )
        for tensor in OPERANDS
        for copy in recipe.quantized_copies(tensor)
        for cost in [copy_cost(copy, layer)]
    ]
    note_on_bits = note("bits per element: its code and its share of the scales", ink)
    return grid(_HEAD, rows, ink, names=len(_WORDS_HEAD)) + note_on_bits


def notice(recipe: Recipe, layer: LayerShape) -> str:
    copies = {tensor.value: recipe.quantized_copies(tensor) for tensor in OPERANDS}
    twice = {name: two for name, two in copies.items() if len(two) > 1}
    if not twice:
        number = count(sum(map(len, copies.values())), "copy", "copies")
        return f"One copy of a tensor serves both matmuls that read it: **{number}** in all."
    costs = [copy_cost(copy, layer) for two in twice.values() for copy in two[1:]]
    second = bytes_text(sum(cost.code_bytes + cost.scale_bytes for cost in costs))
    by_tiles = all(len({copy.tile for copy in two}) == len(two) for two in twice.values())
    why = "along different dims" if by_tiles else "in codes of their own"
    *names, last = twice
    tensors = f"{', '.join(names)} and {last}" if names else last
    ones = "ones take" if names else "one takes"
    return f"Two matmuls sum {tensors} {why}: two copies each. The second {ones} **{second}**."
