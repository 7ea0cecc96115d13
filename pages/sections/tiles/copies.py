"""Section "Copies": the quantized copies of x, w and dy that one training step needs, and why."""

import streamlit as st

from fp8core.linear import OPERANDS, LayerShape, LayerTensor
from fp8core.recipes import RECIPES, Recipe
from pages.kit.chart import draw_chart
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.shared_controls import RECIPE, SEED
from pages.kit.shell import theme
from pages.sections.tiles.controls import INPUT
from pages.sections.tiles.data import copies_spec
from pages.sections.tiles.words import HARDWARE_SOURCES, LAYOUT_RULE


def show(controls: Controls, layer: LayerShape) -> None:
    """Draw each stored tensor with its copies."""
    recipe = RECIPES[controls.value(RECIPE)]
    counts = ", ".join(f"{t.value} {_times(recipe.copies(t))}" for t in OPERANDS)
    st.markdown(
        f"One training step quantizes **{counts}**. {_notice(recipe)}\n\n{LAYOUT_RULE} "
        "Each box shows a corner of the tensor: a few tiles. "
        "The colors of a box run from its own smallest scale to its largest."
    )
    for tensor in OPERANDS:
        copies = count(recipe.copies(tensor), "quantized copy", "quantized copies")
        draw_chart(
            copies_spec(
                recipe.name,
                tensor.value,
                controls.value(INPUT),
                controls.value(SEED),
                layer.tokens,
                layer.in_,
                layer.out,
                theme(),
            ),
            key=f"copies_{tensor.value}",
            least=460,
            alt=f"{tensor.value} as stored and {copies}",
        )
    st.caption(HARDWARE_SOURCES)


def _notice(recipe: Recipe) -> str:
    """The reasons for the counts."""
    twice = [t.value for t in OPERANDS if recipe.copies(t) > 1]
    layout = [t.value for t in OPERANDS if _held_for_layout(recipe, t)]
    sentences = []
    if twice:
        sentences.append(
            f"{_and(twice)}: two matmuls read {'it' if len(twice) == 1 else 'each of them'} and sum over "
            "different axes. A tile of this recipe is long along the summed axis. So each matmul needs a "
            "quantized copy of its own."
        )
    if layout:
        sentences.append(f"{_and(layout)}: quantized once, stored twice. Only the layout differs.")
    return " ".join(sentences)


def _held_for_layout(recipe: Recipe, tensor: LayerTensor) -> bool:
    return any(len(copy.k_major) > 1 for copy in recipe.quantized_copies(tensor))


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _and(names: list[str]) -> str:
    return f"**{' and '.join(names) if len(names) < 3 else ', '.join(names[:-1]) + ' and ' + names[-1]}**"
