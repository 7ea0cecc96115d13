"""Section "Counts": scales, bytes, copies and rescales at the layer's true sizes."""

import streamlit as st

from fp8core.costs import copy_cost, matmul_rescales
from fp8core.linear import MATMULS, OPERANDS, LayerShape
from fp8core.recipes import RECIPES, Recipe
from pages.charts.words import count, stored_tile
from pages.ui.controls import Controls
from pages.ui.tile_controls import RECIPE

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def show(controls: Controls, layer: LayerShape) -> None:
    """Tables for the chosen recipe and for all of them."""
    recipe = RECIPES[controls.value(RECIPE)]
    st.markdown(
        f"For tokens = {layer.tokens:,}, in = {layer.in_:,}, out = {layer.out:,}; the sizes are in the "
        f"sidebar. **Notice:** {_notice(recipe, layer)}"
    )
    st.subheader(f"{recipe.title}: what a training step stores")
    st.markdown(copies_table(recipe, layer))
    st.subheader("Rescales of each output element")
    st.markdown(rescales_table(recipe, layer))
    st.subheader("The recipes side by side")
    st.markdown(comparison_table(layer))


def copies_table(recipe: Recipe, layer: LayerShape) -> str:
    """Every quantized copy of the recipe with its sizes."""
    lines = [
        "| tensor | read by | format | tile, as stored | scales | codes | scale bytes | overhead |",
        "|:--|:--|:--|:--|--:|--:|--:|--:|",
    ]
    for tensor in OPERANDS:
        for copy in recipe.quantized_copies(tensor):
            cost = copy_cost(copy, layer)
            readers = ", ".join(f"{matmul.title} {side.value}" for matmul, side in copy.readers)
            twice = " (2 layouts)" if len(copy.k_major) > 1 else ""
            lines.append(
                f"| {tensor.value} | {readers} | {copy.spec.format.name} | "
                f"{stored_tile(tensor, *copy.tile)} | {cost.scales:,} | "
                f"{size(cost.code_bytes)}{twice} | {size(cost.scale_bytes)} | "
                f"{cost.scale_bits_per_element:.3g} bit an element |"
            )
    return "\n".join(lines)


def rescales_table(recipe: Recipe, layer: LayerShape) -> str:
    """How often each matmul multiplies one element of D by scales."""
    lines = ["| matmul | K | rescales of one element of D | where |", "|:--|--:|--:|:--|"]
    for matmul in MATMULS.values():
        times = matmul_rescales(recipe, matmul, layer)
        where = "once at the end" if times == 1 else "inside the K loop"
        name = f"{matmul.k.value} = {layer.size(matmul.k):,}"
        lines.append(f"| {matmul.title} | {name} | {times:,} | {where} |")
    return "\n".join(lines)


def comparison_table(layer: LayerShape) -> str:
    """All recipes: copies, scales, bytes, rescales."""
    lines = [
        "| recipe | times x, w, dy are quantized | scales | codes | scale bytes | rescales: "
        + ", ".join(m.title for m in MATMULS.values())
        + " |",
        "|:--|:-:|--:|--:|--:|:-:|",
    ]
    for recipe in RECIPES.values():
        costs = [copy_cost(copy, layer) for t in OPERANDS for copy in recipe.quantized_copies(t)]
        copies = " / ".join(str(recipe.copies(tensor)) for tensor in OPERANDS)
        rescales = " / ".join(f"{matmul_rescales(recipe, m, layer):,}" for m in MATMULS.values())
        lines.append(
            f"| {recipe.title} | {copies} | {sum(c.scales for c in costs):,} | "
            f"{size(sum(c.code_bytes for c in costs))} | {size(sum(c.scale_bytes for c in costs))} | "
            f"{rescales} |"
        )
    return "\n".join(lines)


def size(number: int) -> str:
    """Bytes in binary units, such as ``56 MiB``."""
    value, unit = float(number), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.3g}\N{NO-BREAK SPACE}{_UNITS[unit]}"


def _notice(recipe: Recipe, layer: LayerShape) -> str:
    costs = [copy_cost(copy, layer) for t in OPERANDS for copy in recipe.quantized_copies(t)]
    scales = sum(cost.scales for cost in costs)
    share = sum(c.scale_bytes for c in costs) / max(sum(c.code_bytes for c in costs), 1)
    most = max(matmul_rescales(recipe, matmul, layer) for matmul in MATMULS.values())
    return (
        f"{recipe.title} keeps {count(scales, 'scale')}, {share:.2%} of the bytes of its codes, and rescales "
        f"an output element up to {count(most, 'time')}."
    )
