"""Section "Copies": the quantized copies of x, w and dy that one training step needs, and why."""

import streamlit as st

from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Matmul, Side
from fp8core.recipes import Recipe
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.recipes import recipe_of
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.sections.tiles.charts.copies import copies_chart
from pages.sections.tiles.controls import INPUT
from pages.sections.tiles.data import copy_scenes
from pages.sections.tiles.words import HARDWARE_SOURCES, LAYOUT_RULE


def show(controls: Controls, layer: LayerShape) -> None:
    """Draw each stored tensor with its copies."""
    recipe = recipe_of(controls)
    counts = ", ".join(f"{t.value} {_times(recipe.copies(t))}" for t in OPERANDS)
    st.markdown(
        f"One training step quantizes **{counts}**. {LAYOUT_RULE} Each box shows a corner of the "
        "tensor: a few tiles. The colors of a box run from its own smallest scale to its largest."
    )
    draw_notice(f"**Notice:** {_notice(recipe)}")
    drawn = controls.value(INPUT), controls.value(SEED)
    for tensor in OPERANDS:
        copies = count(recipe.copies(tensor), "quantized copy", "quantized copies")
        draw_chart(
            copies_chart(recipe, tensor, layer, copy_scenes(recipe, tensor, *drawn, layer), INKS[theme()]),
            key=f"copies_{tensor.value}",
            least=460,
            alt=f"{tensor.value} as stored and {copies}",
        )
    st.caption(HARDWARE_SOURCES)


def _notice(recipe: Recipe) -> str:
    """The reasons for the counts."""
    twice = [t for t in OPERANDS if recipe.copies(t) > 1]
    layout = [t.value for t in OPERANDS if _held_for_layout(recipe, t)]
    sentences = []
    if twice:
        sentences.append(
            f"{_and([t.value for t in twice])}: two matmuls read "
            f"{'it' if len(twice) == 1 else 'each of them'} and sum over different "
            "axes, so each matmul needs a quantized copy of its own"
            f"{_reason(recipe, twice)}."
        )
    if layout:
        sentences.append(f"{_and(layout)}: quantized once, stored twice. Only the layout differs.")
    if bf16 := [f"{m.title} reads {m.symbol(s)}" for m, s in _in_bf16(recipe)]:
        sentences.append(f"In bf16, without a copy: {', '.join(bf16)}.")
    if any(copy.operand.saved for t in OPERANDS for copy in recipe.quantized_copies(t)):
        sentences.append("An arrow shows a copy that is made out of another copy, not of the tensor itself.")
    return " ".join(sentences)


def _reason(recipe: Recipe, twice: list[LayerTensor]) -> str:
    """Why copies of these tensors differ, where tiles alone do it."""
    pairs = [recipe.quantized_copies(tensor) for tensor in twice]
    tiles_only = all(len({copy.tile for copy in copies}) == len(copies) for copies in pairs)
    return ": a tile of this recipe is long along the summed axis" if tiles_only else ""


def _in_bf16(recipe: Recipe) -> list[tuple[Matmul, Side]]:
    """The matmuls and sides that read a tensor in bf16."""
    return [(m, s) for m in MATMULS.values() for s in Side if recipe.operand(m, s) is None]


def _held_for_layout(recipe: Recipe, tensor: LayerTensor) -> bool:
    return any(len(copy.k_major) > 1 for copy in recipe.quantized_copies(tensor))


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _and(names: list[str]) -> str:
    return f"**{' and '.join(names) if len(names) < 3 else ', '.join(names[:-1]) + ' and ' + names[-1]}**"
