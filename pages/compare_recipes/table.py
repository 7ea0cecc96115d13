"""Section "Three differences": tiles, the scales' formats and the copies of some recipes in one table."""

from collections.abc import Mapping, Sequence

import streamlit as st

from fp8core.inputs import InputKind, rules
from fp8core.linear import FPROP, MATMULS, Side
from fp8core.recipes.text import OWN_NAME
from pages.compare_recipes.charts.table import (
    COPIES,
    CORNER,
    GOLD,
    OPEN,
    SCALES,
    Differences,
    differences,
    granularity,
    scale_name,
    table_chart,
)
from pages.compare_recipes.facts import CHOSEN, COMPARED, INPUT, NUMBER, WHICH, shown_recipes
from pages.kit.chart_slider import Hand, chart_with_slider, with_slider
from pages.kit.charts.parts import RAIL
from pages.kit.charts.words import count
from pages.kit.controls import Controls, link_params
from pages.kit.inert import plain
from pages.kit.shared_controls import OWN, SEED, keys_of
from pages.kit.view import Clicks, draw_notice, here, page_ink, room

_CLICK = "_differences_click"
IDEA = (
    "Every recipe divides numbers by scales. Recipes differ in three things: **which numbers share a "
    "scale**, **the format of the scale itself**, and **which copies** of a tensor are kept."
)


def show(controls: Controls) -> None:
    view = here()
    which = controls.draw(WHICH, view.control)
    names = controls.value(COMPARED)
    if which == CHOSEN:
        names = controls.draw(COMPARED) or COMPARED.default
    kind, seed = controls.draw(INPUT), controls.draw(SEED)
    keys, missing = keys_of(shown_recipes(which, names), controls.value(OWN))
    if missing:
        st.warning(plain(missing))
    keys = keys or tuple(COMPARED.default)
    recipes = [differences(key, kind, seed) for key in keys]
    draw_notice(notice(recipes))
    height = room()
    chart_with_slider(
        controls,
        NUMBER,
        name="differences_table",
        inputs=(keys, kind, seed, page_ink(), height),
        at=controls.value(NUMBER),
        spec_at=lambda at: with_slider(table_chart(recipes, page_ink(), height), GOLD, at),
        alt_at=lambda _: (
            f"{alt_text(recipes)}. A click on tiles or copies opens Tile layouts, one on scales Scaling."
        ),
        hand=Hand(label="A number of x, in each recipe", grips=((GOLD, RAIL),)),
        clicks=Clicks(OPEN, lambda mark: st.session_state.update({_CLICK: mark["recipe"]})),
    )
    if click := st.session_state.pop(_CLICK, None):
        page, values = target(click, {one.recipe.name: one for one in recipes}, controls.value(OWN))
        st.switch_page(page, query_params=link_params(**values))
    rows, columns = CORNER
    view.know.markdown(IDEA)
    view.know.markdown(
        "The outline in each picture holds the numbers that share their scale with the gold one. "
        f"Each picture of tiles shows {rows} rows of {columns} numbers of x, to scale. A larger tile goes on "
        f"beyond it. Numbers: {rules(InputKind(kind))}. Hollow squares repeat codes, transposed. On Hopper, "
        "the summed dimension must be contiguous in memory."
    )


def target(click: str, recipes: Mapping[str, Differences], line: str) -> tuple[str, dict[str, str]]:
    """The page and its values for a click: a recipe's name, then a column or a matmul."""
    name, _, column = click.partition(" ")
    if column == SCALES and (first := recipes[name].first):
        return "pages/scaling.py", {"scaling": "rules", "scaling_element": first.format.name}
    own = {OWN.key: line} if name == OWN_NAME else {}
    show = "copies" if column == COPIES else "picture"
    matmul = column if column in MATMULS else FPROP.name
    return "pages/tile_layouts.py", {"show": show, "recipe": name, "matmul": matmul, **own}


def notice(recipes: Sequence[Differences]) -> str:
    with_scales = [one for one in recipes if one.others]
    if not with_scales:
        return "x stays bf16 in these recipes and has **no scale**."
    most, least = (pick(with_scales, key=lambda one: one.others) for pick in (max, min))
    if most.others == least.others:
        return f"Each number of x shares its scale with **{least.others:,} others**."
    return (
        f"A number of x shares its scale with {_many(most.others)} others in {most.recipe.title}, and with "
        f"**{_many(least.others)}** in {least.recipe.title}."
    )


def _many(number: int) -> str:
    return f"{number / 1e6:.1f} million" if number >= 1e6 else f"{number:,}"


def alt_text(recipes: Sequence[Differences]) -> str:
    sentences = []
    for one in recipes:
        operands = [(FPROP.operand(side), one.recipe.operand(FPROP, side)) for side in Side]
        tiles = ", ".join(
            f"{tensor.value} {granularity(tensor, operand.tile) if operand else 'bf16: no scale'}"
            for tensor, operand in operands
        )
        scale = "" if one.rule is None else f"; scales in {scale_name(one.rule)}"
        sentences.append(f"{one.recipe.title}: {tiles}{scale}; {count(one.copy_count, 'copy', 'copies')}")
    return ". ".join(sentences)
