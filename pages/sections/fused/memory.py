"""Section "Memory held": what a layer keeps from forward to backward, in each recipe and in bf16."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import streamlit as st

from fp8core.linear import LayerShape
from fp8core.recipes import RECIPES, Recipe
from kernels.layer.held import HeldBytes, held_bytes
from kernels.layer.timeline.job import Block, Way
from pages.kit.chart import draw_chart
from pages.kit.charts.bars import Bar, bars
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import bytes_text
from pages.kit.controls import Controls, link_params
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.origins import told
from pages.kit.recipes import by_family, draw_recipe
from pages.kit.shell import theme
from pages.kit.tables.arrow_table import arrow_table
from pages.kit.tables.draw import draw_rows
from pages.kit.terms.explain import draw_text
from pages.sections.fused import rows
from pages.sections.fused.controls import TOKENS, job_of, layer_of
from pages.sections.fused.rows import Shown

IDEA = (
    "Half the bits, half the memory? **Not with few tokens.** A bf16 layer holds x for Wgrad, "
    "and reads w itself. An fp8 layer holds the copy of x that Wgrad reads, which is smaller. But it also "
    "holds the **copy of w that Dgrad reads**, beside the weight that the optimizer changes. With few tokens "
    "that copy is larger than all that the smaller x saves. With many it is not: COAT (arXiv 2410.19313) "
    "trains in fp8 to save this memory."
)
X, W = "x for Wgrad", "w for Dgrad"
SHORT = {X: "x", W: "w again"}
BF16 = "bf16"
_MIB = 1 << 20
_COLUMNS = {
    "MiB held": st.column_config.NumberColumn(
        format="%.0f", help="What the forward pass leaves allocated, beside its result"
    ),
    "× bf16": st.column_config.NumberColumn(format="%.2f"),
    "MiB kept from step to step": st.column_config.NumberColumn(format="%.0f"),
}
_EQUAL = 0.01
"""Sizes nearer than this share count as equal."""
_MANY, _TILES = 1 << 20, 256
"""Tokens where each recipe has settled whether it holds less, and those of two of the longest tiles."""


def shown(chosen: Recipe) -> list[Recipe]:
    """The first recipe of each family, and the chosen one."""
    found = [recipes[0] for recipes in by_family().values()]
    return found if chosen in found else [*found, chosen]


def held(recipe: Recipe, layer: LayerShape) -> HeldBytes:
    """What a layer with these sizes holds."""
    return held_bytes(recipe, layer.tokens, layer.in_, layer.out)


def ratio(recipe: Recipe, layer: LayerShape) -> float:
    """Bytes held over those of bf16."""
    found = held(recipe, layer)
    return found.total / found.bf16


def whole_ratio(recipe: Recipe, layer: LayerShape) -> float:
    """Bytes held over those of bf16, with those of w and y in bf16 on both sides."""
    found = held(recipe, layer)
    beside = 2 * layer.out * (layer.in_ + layer.tokens)
    return (found.total + beside) / (found.bf16 + beside)


def picture(recipes: Sequence[Recipe], layer: LayerShape, theme: str) -> Filled:
    """A bar for bf16 and each recipe."""
    bf16 = held(recipes[0], layer).bf16
    lines = [Bar(name=BF16, pieces={X: bf16 / _MIB}, label=bytes_text(bf16))]
    for recipe in recipes:
        found = held(recipe, layer)
        lines.append(
            Bar(
                name=recipe.title,
                pieces={X: found.x / _MIB, W: found.w / _MIB},
                label=f"{bytes_text(found.total)}, {found.total / bf16:.2f}×",
            )
        )
    return bars(lines, (X, W), "MiB held from forward to backward", INKS[theme], names=SHORT)


def notice(recipes: Sequence[Recipe], layer: LayerShape) -> str:
    """How many recipes hold more than bf16, and from how many tokens on the chosen one holds less."""
    found = {recipe.title: ratio(recipe, layer) for recipe in recipes}
    more = sum(one > 1 + _EQUAL for one in found.values())
    chosen = recipes[-1]
    turn = turn_tokens(chosen, layer)
    share = {0: "none", len(found): "all"}.get(more, f"{more}")
    hold = "holds" if more == 1 else "hold"
    when = "never holds less" if turn is None else f"holds less than bf16 from {turn:,} tokens on"
    return (
        f"**Notice:** with {layer.tokens:,} tokens, {share} of these {len(found)} recipes {hold} more than "
        f"bf16. {chosen.title} holds {found[chosen.title]:.2f} times as much. It {when}, because w's copy "
        "does not grow with the tokens."
    )


@lru_cache(maxsize=64)
def turn_tokens(recipe: Recipe, layer: LayerShape) -> int | None:
    """The fewest tokens from which on a layer holds less than in bf16; None where it never does."""

    def is_less(tokens: int) -> bool:
        return ratio(recipe, replace(layer, tokens=tokens)) < 1

    if not is_less(_MANY):
        return None
    first = 1 + bisect_left(range(1, _MANY), True, key=is_less)
    # A tile that has just begun has a scale for few tokens, and may hold more once again.
    return 1 + max(
        (tokens for tokens in range(first, first + _TILES) if not is_less(tokens)), default=first - 1
    )


def measured(found: Sequence[Shown]) -> list[dict[str, object]]:
    """A line a way of a timed step: what its forward pass left allocated, and kept copies of weights."""
    bf16 = next((one.row.held_bytes for one in found if one.row.way is Way.BF16), None)
    return [
        {
            "way": row.way.title,
            "MiB held": row.held_bytes / _MIB,
            "× bf16": row.held_bytes / bf16 if bf16 else None,
            "MiB kept from step to step": row.weight_bytes / _MIB,
        }
        for row in (one.row for one in found)
        if row.way is not Way.BOUND  # it makes no copies
    ]


def _draw_measured(recipe: str, source: str, tokens: str) -> None:
    """The memory that timed steps held, where there are some."""
    for block in Block:
        found = rows.timelines(source, job_of(recipe, block.value, tokens))
        if found:
            st.markdown(f"**Measured**: {found[0].row.job.title}")
            draw_rows(arrow_table(measured(found)), column_config=_COLUMNS)
            st.caption(plain(f"{told(one.measured for one in found)}."))


def show(controls: Controls, source: str) -> None:
    """Draw what is held, by recipe; then what timed steps held, by a value of the control of GPUs."""
    draw_text(IDEA)
    row = st.container(horizontal=True)
    chosen = draw_recipe(controls, row)
    tokens = controls.draw(TOKENS, row)
    layer = layer_of(tokens)
    every = shown(chosen)
    ordered = [*(recipe for recipe in every if recipe is not chosen), chosen]
    draw_notice(notice(ordered, layer))
    draw_chart(
        picture(every, layer, theme()),
        key="fused_memory",
        alt="Bytes held from forward to backward over those of bf16: "
        + "; ".join(f"{recipe.title} {ratio(recipe, layer):.2f}" for recipe in every),
    )
    st.caption(
        f"One linear layer, in = {layer.in_:,}, out = {layer.out:,}: codes and scales of the two copies as "
        "`kernels.layer` holds them, counted. A layer may make w's copy again in the backward pass instead. "
        "That costs a pass and holds nothing."
    )
    if chosen.name in RECIPES:
        _draw_measured(chosen.name, source, tokens)
    st.page_link(
        "pages/why_fp8.py",
        label="All of a layer's memory, y, dy and the optimizer's weight included",
        icon=":material/memory:",
        query_params=link_params(why_show="memory"),
    )
