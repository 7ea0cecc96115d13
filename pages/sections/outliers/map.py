"""Section "Error map": where on the tensor does each recipe lose?"""

from collections.abc import Sequence
from itertools import chain

import streamlit as st

from fp8core.linear import LayerTensor
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Columns
from pages.kit.charts.words import count, percent_text, short, span, stored_tile
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.sections.outliers import chosen
from pages.sections.outliers.charts.colors import LEAST, STOPS
from pages.sections.outliers.charts.map import map_chart
from pages.sections.outliers.chosen import Asked
from pages.sections.outliers.controls import MAP_OF
from pages.sections.outliers.measures import Measured, Region, measured, operand_of_key, role_of
from pages.sections.outliers.words import BF16, NO_ERROR, bits, db, percent

ERROR = "error"


def asked_and_found(controls: Controls, name: str) -> tuple[Asked, dict[str, Measured | None]] | None:
    """Draw the common controls. Returns what was asked, and what came of it by recipe, if anything has."""
    asked = Asked(keys=chosen.recipes(controls), role=chosen.role(controls), source=chosen.source(controls))
    calls = [Call(measured, (key, asked.role, asked.source)) for key in asked.keys]
    shown = computed(f"outliers_{name}", asked, calls, doing="Quantizing")
    return shown and (shown.asked, dict(zip(shown.asked.keys, shown.parts, strict=True)))


def show(controls: Controls) -> None:
    """Draw a map for each recipe, two in a row, and the scale of their colors."""
    found = asked_and_found(controls, "measured")
    map_of = controls.draw(MAP_OF)
    if found is None:
        return
    asked, parts = found
    ink = INKS[theme()]
    draw_notice(notice(asked, parts))
    st.html(color_scale(map_of == ERROR))
    pairs = [st.columns(2) for _ in range(-(-len(parts) // 2))]
    for place, (key, part) in zip(chain(*pairs), parts.items(), strict=False):
        place.markdown(heading(asked, key, part))
        if part is not None:
            axes = tensor_of(asked.role).axes
            draw_chart(
                map_chart(
                    part.map.error_png if map_of == ERROR else part.map.zeros_png,
                    region_columns(part.map.regions),
                    asked.shape,
                    (axes[0].value, axes[1].value),
                    ink,
                ),
                key=f"outliers_map_{key}",
                place=place,
                alt=f"Errors of the tiles of {asked.titles[key]}: median {percent(part.map.median)}, "
                f"worst {percent(part.map.worst)}.",
            )
    st.caption(
        "One color a tile; all maps have the same colors. A tile is what shares a scale, as drawn on “Tile "
        "layouts”. Point at a map for the figures of a region. SQNR is 10 · log10(‖x‖² / ‖e‖²) of the whole "
        "tensor."
    )


def color_scale(of_errors: bool) -> str:
    """The colors of the maps and what they stand for."""
    ticks = (LEAST * 10**power for power in range(4)) if of_errors else (0.0, 0.25, 0.5, 0.75, 1.0)
    told = "error of a tile, ‖e‖ / ‖x‖" if of_errors else "share of a tile's elements that become zero"
    labels = "".join(f"<span>{percent_text(tick)}</span>" for tick in ticks)
    return (
        f'<div style="font-size: 0.85rem">{told}'
        f'<div style="height: 12px; background: linear-gradient(to right, {", ".join(STOPS)})"></div>'
        f'<div style="display: flex; justify-content: space-between">{labels}</div></div>'
    )


def tensor_of(role: str) -> LayerTensor:
    """The stored tensor that a role reads."""
    matmul, side = role_of(role)
    return matmul.operand(side)


def heading(asked: Asked, key: str, part: Measured | None) -> str:
    """A recipe's name, its SQNR, its tiles and its price."""
    title = f"**{asked.titles[key]}**"
    if part is None:
        return f"{title} {BF16}."
    operand = operand_of_key(key, asked.role)
    tiles = stored_tile(tensor_of(asked.role), *operand.tile)
    return (
        f"{title}: {db(part.error.sqnr_db)}, {bits(asked.bits(key))} bits an element. "
        f"{operand.spec.format.name}, {tiles}: {count(part.map.tiles, 'tile')}"
    )


def region_columns(regions: Sequence[Region]) -> Columns:
    """The dataset of the regions that tell their figures."""
    return {
        "where": [f"rows {span(r.rows)}, columns {span(r.columns)}" for r in regions],
        "row0": [r.rows.start for r in regions],
        "row1": [r.rows.stop for r in regions],
        "column0": [r.columns.start for r in regions],
        "column1": [r.columns.stop for r in regions],
        "error": [r.error for r in regions],
        "zeros": [r.zeros for r in regions],
    }


def notice(asked: Asked, parts: dict[str, Measured | None]) -> str:
    """The recipe whose worst tile stands out most, beside its own total."""
    there = {key: part for key, part in parts.items() if part is not None}
    if not there:
        return "**Notice:** every chosen recipe leaves this operand in bf16. Choose another operand."
    if not any(part.map.worst for part in there.values()):
        return f"**Notice:** {NO_ERROR}"
    key, part = max(there.items(), key=lambda item: item[1].map.worst / max(item[1].map.median, 1e-12))
    total = 10 ** (-part.error.sqnr_db / 20)
    best = max(there, key=lambda key: there[key].error.sqnr_db)
    if part.map.tiles == 1:
        return (
            f"**Notice:** one tile is one color: the map of **{asked.titles[key]}** does not tell where its "
            f"error of {percent(total)} lies. “Small channels” does."
        )
    times = f"{short(part.map.worst / part.map.median, 2)} times" if part.map.median else "far more than"
    return (
        f"**Notice:** under **{asked.titles[key]}** the worst tile is off by {percent(part.map.worst)}, "
        f"{times} the median tile, while all of the tensor is off "
        f"by {percent(total)}. **{asked.titles[best]}** has the best total: {db(there[best].error.sqnr_db)}."
    )
