"""Section "Counts": scales, bytes, copies and rescales at the layer's true sizes."""

import streamlit as st

from fp8core.costs import copy_cost, matmul_rescales
from fp8core.linear import MATMULS, OPERANDS, LayerShape
from fp8core.recipes import RECIPES, Recipe
from pages.kit.charts.ink import INKS, Ink
from pages.kit.charts.words import count, short, stored_tile
from pages.kit.controls import Controls
from pages.kit.html_table import grid, note
from pages.kit.shared_controls import RECIPE
from pages.kit.shell import theme

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def show(controls: Controls, layer: LayerShape) -> None:
    """Tables for the chosen recipe and for all of them."""
    recipe, ink = RECIPES[controls.value(RECIPE)], INKS[theme()]
    st.markdown(
        f"For tokens = {layer.tokens:,}, in = {layer.in_:,}, out = {layer.out:,}; the sizes are in the "
        f"sidebar. **Notice:** {_notice(recipe, layer)}"
    )
    st.header(f"{recipe.title}: what a training step stores")
    st.html(copies_table(recipe, layer, ink))
    st.header("Rescales of each output element")
    st.html(rescales_table(recipe, layer, ink))
    st.header("The recipes side by side")
    st.html(comparison_table(layer, ink))


def copies_table(recipe: Recipe, layer: LayerShape, ink: Ink) -> str:
    """Every quantized copy of the recipe with its sizes."""
    rows = []
    for tensor in OPERANDS:
        for copy in recipe.quantized_copies(tensor):
            cost = copy_cost(copy, layer)
            rows.append(
                (
                    tensor.value,
                    ", ".join(f"{matmul.title} {side.value}" for matmul, side in copy.readers),
                    f"{copy.spec.format.name}, {stored_tile(tensor, *copy.tile)}",
                    str(len(copy.k_major)),
                    f"{cost.scales:,}",
                    size(cost.code_bytes),
                    size(cost.scale_bytes),
                    short(cost.scale_bits_per_element, 3),
                )
            )
    head = (
        "of",
        "read by",
        "codes in tiles of",
        "layouts",
        "scales",
        "code bytes",
        "scale bytes",
        "bits an element",
    )
    return grid(head, rows, ink, names=3) + note("bits an element: what the scales add to its code", ink)


def rescales_table(recipe: Recipe, layer: LayerShape, ink: Ink) -> str:
    """How often each matmul multiplies one element of D by scales."""
    rows = []
    for matmul in MATMULS.values():
        times = matmul_rescales(recipe, matmul, layer)
        where = "after the sum" if times == 1 else "inside the K loop"
        size_of_k = layer.size(matmul.k)
        rows.append((matmul.title, f"{matmul.k.value} = {size_of_k:,}", where, f"{times:,}"))
    return grid(("matmul", "K", "applied", "rescales"), rows, ink, names=3)


def comparison_table(layer: LayerShape, ink: Ink) -> str:
    """All recipes: copies, scales, bytes, rescales."""
    rows = []
    for recipe in RECIPES.values():
        costs = [copy_cost(copy, layer) for t in OPERANDS for copy in recipe.quantized_copies(t)]
        rows.append(
            (
                recipe.title,
                " / ".join(str(recipe.copies(tensor)) for tensor in OPERANDS),
                f"{sum(c.scales for c in costs):,}",
                size(sum(c.code_bytes for c in costs)),
                size(sum(c.scale_bytes for c in costs)),
                " / ".join(f"{matmul_rescales(recipe, m, layer):,}" for m in MATMULS.values()),
            )
        )
    tensors, matmuls = "/".join(t.value for t in OPERANDS), "/".join(m.title for m in MATMULS.values())
    head = ("recipe", f"copies {tensors}", "scales", "code bytes", "scale bytes", f"rescales {matmuls}")
    return grid(head, rows, ink)


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
        f"an output element {'once' if most == 1 else f'up to {most:,} times'}."
    )
