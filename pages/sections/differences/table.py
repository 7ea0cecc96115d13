"""Section "Three differences": tiles, the scale's format and the copies of some recipes, in one table."""

from collections.abc import Sequence

import streamlit as st

from fp8core.inputs import InputKind, rules
from fp8core.recipes import RECIPES
from fp8core.recipes.keys import keys_of
from pages.kit.chart import draw_chart
from pages.kit.charts.granularity import operand_name, scale_name
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count
from pages.kit.controls import Controls, link_params
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.recipes import recipe_params
from pages.kit.shared_controls import OWN, SEED
from pages.kit.shell import theme
from pages.sections.differences.charts.scene import Differences
from pages.sections.differences.charts.table import WIDTH, table_chart
from pages.sections.differences.controls import CHOSEN, COMPARED, INPUT, WHICH, shown_recipes
from pages.sections.differences.data import CORNER, differences

KEY = "differences_table"
NAMES = """
| name | what shares one scale |
|:--|:--|
| tensor-wise | all of a tensor |
| row-wise | a row of an operand, along the summed dim: token-wise in x, channel-wise in w |
| group-wise | so many numbers in a row, such as those of one MX block |
| block-wise | a square of numbers |
| MX | groups of a fixed size with an E8M0 scale each (OCP's standard) |
| ue8m0 | E8M0, a scale of eight exponent bits: unsigned, and a power of two |
| two-level | a small scale for each group, under one large scale for the tensor (NVFP4) |
"""


def show(controls: Controls) -> None:
    """Draw the choice of recipes, the table, and a link to each recipe's tiles."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    which = controls.draw(WHICH, row.container(width=180))
    compared = controls.value(COMPARED)
    if which == CHOSEN:
        compared = controls.draw(COMPARED, row.container(width=590)) or COMPARED.default
    kind = controls.draw(INPUT, st.sidebar)
    st.sidebar.caption(f"{rules(InputKind(kind))}.")
    seed = controls.draw(SEED, st.sidebar)
    keys, told = keys_of(shown_recipes(which, compared), controls.value(OWN))
    if told:
        st.warning(plain(told))
    keys = keys or tuple(COMPARED.default)
    shown = [differences(key, kind, seed) for key in keys]
    draw_notice(f"**Notice:** {notice(shown)}")
    draw_chart(
        table_chart(shown, INKS[theme()]),
        key=KEY,
        is_rigid=True,
        least=round(WIDTH),
        alt=described(shown),
    )
    rows, columns = CORNER
    st.caption(
        f"Each picture of tiles shows {rows} rows of {columns} numbers, so that sizes compare. A larger tile "
        "goes on beyond it. A color is a scale. In the third column a square is one copy in "
        "memory, with its tiles. Two colors are two sets of codes. A hollow square holds the codes of its "
        "color once more, transposed: Hopper's FP8 tensor core wants the dim that is summed over contiguous."
    )
    with st.expander("The names that people use"):
        st.markdown(NAMES)
    links = st.container(horizontal=True)
    for key, one in zip(keys, shown, strict=True):
        own = "" if key in RECIPES else key
        links.page_link(
            "pages/tile_layouts.py",
            label=one.recipe.title,
            icon=":material/grid_on:",
            query_params=link_params(**recipe_params(one.recipe.name, own), show="picture"),
            width="content",
        )


def notice(shown: Sequence[Differences]) -> str:
    """The recipes that keep most and fewest copies, and why; how many formats of scales there are."""
    formats = {scale_name(one.rule) for one in shown if one.rule is not None}
    most, least = (pick(shown, key=lambda one: one.kept) for pick in (max, min))
    kept = f"**{most.recipe.title}** keeps {count(most.kept, 'quantized copy', 'quantized copies')}"
    if most.kept > least.kept:
        why = (
            "Operands that stay bf16 need none"
            if least.reads < most.reads
            else "A tile that is long along the summed dim serves one matmul. A square tile, or a whole "
            "tensor, serves both"
        )
        kept += f" of x, w and dy, and **{least.recipe.title}** keeps {least.kept}. {why}"
    elif len(shown) > 1:
        kept = f"each of these recipes keeps {count(most.kept, 'quantized copy', 'quantized copies')}"
    else:
        return f"{kept} of x, w and dy. Choose more recipes to compare them."
    scales = count(len(formats), "kind of scale", "kinds of scales")
    return f"{kept}. These recipes have {scales}."


def described(shown: Sequence[Differences]) -> str:
    """The table in words, a sentence a recipe."""
    told = []
    for one in shown:
        tiles = ", ".join(f"{c.tensor.value} {operand_name(c.tensor, c.operand)}" for c in one.corners)
        scale = "" if one.rule is None else f"; scales in {scale_name(one.rule)}"
        told.append(f"{one.recipe.title}: {tiles}{scale}; {count(one.kept, 'copy', 'copies')}")
    return ". ".join(told)
