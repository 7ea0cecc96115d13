"""Section "Cost": the copies, bytes, bits an element and rescales of a recipe."""

import streamlit as st

from fp8core.linear import MATMULS
from fp8core.recipes import Recipe
from pages.design.derived import SIZES, Facts, facts
from pages.kit.charts.ink import INKS, Ink
from pages.kit.charts.words import bytes_text, short, stored_tile
from pages.kit.shell import theme
from pages.kit.tables import grid, note
from pages.kit.view import know


def show(recipe: Recipe, line: str) -> None:
    """Tables: the three matmuls, and the copies that a step keeps."""
    ink, found = INKS[theme()], facts(line)
    st.html(matmul_table(recipe, found, ink) + copies_table(found, ink))
    know().markdown(f"The sizes are those of a layer of {SIZES}.")


def matmul_table(recipe: Recipe, found: Facts, ink: Ink) -> str:
    """Each matmul: the rule in a word, rescales, bits of A and B, how it sums, and D."""
    rows = []
    for name, matmul in MATMULS.items():
        spec, one = recipe.spec(matmul), found.matmuls[name]
        bits = (short(number, 5) for number in one.bits)
        leaves = one.verdict.short
        rows.append((matmul.title, leaves, f"{one.rescales:,}", *bits, spec.accumulator.title, spec.out.name))
    head = ("matmul", "does the scale leave the sum?", "rescales per output", "bits A", "bits B", "sums", "D")
    return grid(head, rows, ink, names=2) + note("bits: of a code, with its share of the scales", ink)


def copies_table(found: Facts, ink: Ink) -> str:
    """Every quantized copy that a step keeps, with its bytes."""
    rows = [
        (
            tensor.value,
            ", ".join(matmul.title for matmul, _ in copy.readers),
            f"{copy.spec.format.name}, {stored_tile(tensor, *copy.tile)}",
            str(len(copy.k_major)),
            f"{cost.scales:,}",
            bytes_text(cost.code_bytes),
            bytes_text(cost.scale_bytes),
        )
        for tensor, copy, cost in found.copies
    ]
    head = ("copy of", "read by", "codes in tiles of", "layouts", "scales", "code bytes", "scale bytes")
    if not rows:
        return note("No operand is quantized: a step keeps no copy.", ink)
    return grid(head, rows, ink, names=3)
