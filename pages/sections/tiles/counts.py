"""Section "Counts": scales, bytes, copies and rescales at the layer's true sizes."""

import streamlit as st

from fp8core.costs import bits_per_element, copy_cost, matmul_rescales
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Matmul
from fp8core.recipes import Recipe
from pages.kit.charts.ink import INKS, Ink
from pages.kit.charts.operand_words import bits_words
from pages.kit.charts.words import bytes_text, count, short, stored_tile
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.recipes import by_family, family_title, recipe_of
from pages.kit.shell import theme
from pages.kit.tables.html_table import grid, note

_BITS = "bits an element: its code and its share of the scales"


def show(controls: Controls, layer: LayerShape) -> None:
    """Tables for the chosen recipe and for all of them."""
    recipe, ink = recipe_of(controls), INKS[theme()]
    st.markdown(
        f"For tokens = {layer.tokens:,}, in = {layer.in_:,}, out = {layer.out:,}; the sizes are in the "
        "sidebar."
    )
    draw_notice(f"**Notice:** {_notice(recipe, layer)}")
    st.header(f"{recipe.title}: what a training step stores")
    st.html(copies_table(recipe, layer, ink))
    st.header("Rescales of each output element")
    st.html(rescales_table(recipe, layer, ink))
    st.header("The recipes side by side")
    for family, recipes in by_family().items():
        st.html(_family_name(family_title(family.value), ink) + comparison_table(recipes, layer, ink))
    st.html(note(_BITS + "; of every distinct copy of x, w and dy", ink))


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
                    bits_words(copy.operand, layer.of(tensor)),
                    str(len(copy.k_major)),
                    f"{cost.scales:,}",
                    bytes_text(cost.code_bytes),
                    bytes_text(cost.scale_bytes),
                )
            )
    head = (
        "of",
        "read by",
        "codes in tiles of",
        "bits an element",
        "layouts",
        "scales",
        "code bytes",
        "scale bytes",
    )
    return grid(head, rows, ink, names=3) + note(_BITS, ink)


def rescales_table(recipe: Recipe, layer: LayerShape, ink: Ink) -> str:
    """How often each matmul multiplies one element of D by scales."""
    rows = []
    for matmul in MATMULS.values():
        times = _rescales(recipe, matmul, layer)
        where = ("no scales: both stay bf16", "after the sum", "inside the K loop")[min(times, 2)]
        size_of_k = layer.size(matmul.k)
        rows.append((matmul.title, f"{matmul.k.value} = {size_of_k:,}", where, f"{times:,}"))
    return grid(("matmul", "K", "applied", "rescales"), rows, ink, names=3)


def comparison_table(recipes: list[Recipe], layer: LayerShape, ink: Ink) -> str:
    """Recipes side by side: copies, bits, scales, bytes, rescales."""
    rows = []
    for recipe in recipes:
        costs = [copy_cost(copy, layer) for t in OPERANDS for copy in recipe.quantized_copies(t)]
        rows.append(
            (
                recipe.title,
                " / ".join(str(recipe.copies(tensor)) for tensor in OPERANDS),
                " / ".join(_bits(recipe, tensor, layer) for tensor in OPERANDS),
                f"{sum(c.scales for c in costs):,}",
                bytes_text(sum(c.code_bytes for c in costs)),
                bytes_text(sum(c.scale_bytes for c in costs)),
                " / ".join(f"{_rescales(recipe, m, layer):,}" for m in MATMULS.values()),
            )
        )
    tensors, matmuls = "/".join(t.value for t in OPERANDS), "/".join(m.title for m in MATMULS.values())
    head = (
        "recipe",
        f"copies {tensors}",
        f"bits {tensors}",
        "scales",
        "code bytes",
        "scale bytes",
        f"rescales {matmuls}",
    )
    return grid(head, rows, ink, held=True)


def _rescales(recipe: Recipe, matmul: Matmul, layer: LayerShape) -> int:
    return matmul_rescales(recipe, matmul, layer) if recipe.spec(matmul).quantized else 0


def _bits(recipe: Recipe, tensor: LayerTensor, layer: LayerShape) -> str:
    """The bits of an element of each distinct copy of a tensor."""
    shape = layer.of(tensor)
    bits = sorted(bits_per_element(copy.operand, shape) for copy in recipe.quantized_copies(tensor))
    texts = dict.fromkeys(short(number, 3) for number in bits)
    return "–".join(texts) or "none"


def _family_name(name: str, ink: Ink) -> str:
    return f'<div style="font-size:14px;font-weight:600;color:{ink.text};margin-top:6px">{name}</div>'


def _notice(recipe: Recipe, layer: LayerShape) -> str:
    costs = [copy_cost(copy, layer) for t in OPERANDS for copy in recipe.quantized_copies(t)]
    scales = sum(cost.scales for cost in costs)
    share = sum(c.scale_bytes for c in costs) / max(sum(c.code_bytes for c in costs), 1)
    most = max(matmul_rescales(recipe, matmul, layer) for matmul in MATMULS.values())
    return (
        f"{recipe.title} keeps {count(scales, 'scale')}, {share:.2%} of the bytes of its codes, and rescales "
        f"an output element {'once' if most == 1 else f'up to {most:,} times'}."
    )
