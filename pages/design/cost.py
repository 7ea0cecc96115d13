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
    """A table of the three matmuls; the copies that a step keeps, under "How we know"."""
    ink, of = INKS[theme()], facts(line)
    st.html(matmul_table(recipe, of, ink))
    know().html(copies_table(of, ink))
    know().markdown(
        f"The sizes are those of a layer of {SIZES}. Bits are those of a code with its share of the scales."
    )


def matmul_table(recipe: Recipe, of: Facts, ink: Ink) -> str:
    """Each matmul: bits of A and B, rescales, and how it sums."""
    rows = []
    for name, matmul in MATMULS.items():
        one = of.matmuls[name]
        bits = (short(number, 5) for number in one.bits)
        rows.append((matmul.title, recipe.spec(matmul).accumulator.title, *bits, f"{one.rescales:,}"))
    return grid(("matmul", "sums", "bits of A", "bits of B", "rescales per output"), rows, ink, names=2)


def copies_table(of: Facts, ink: Ink) -> str:
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
        for tensor, copy, cost in of.copies
    ]
    head = ("copy of", "read by", "codes in tiles of", "layouts", "scales", "code bytes", "scale bytes")
    if not rows:
        return note("No operand is quantized: a step keeps no copy.", ink)
    return grid(head, rows, ink, names=3)
