"""Section "Tile size": how many elements may share a scale?"""

import streamlit as st

from fp8core.experiments.error_curves import BAND_K, BAND_LINES, DRAWS, Counted
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.sections.outliers import chosen
from pages.sections.outliers.charts.draws import Curve, draws_chart, has_error
from pages.sections.outliers.chosen import Asked
from pages.sections.outliers.controls import COUNTED
from pages.sections.outliers.measures import TileSizes, tile_sizes
from pages.sections.outliers.words import BF16, NO_ERROR, bits, db, listed, ranged, table

UNCHANGED_DB = 0.5
"""An SQNR that changes by less counts as unchanged."""


def show(controls: Controls) -> None:
    """Draw SQNR over the extent of a tile along K, and where each recipe is."""
    asked = Asked(
        keys=chosen.recipes(controls),
        role=chosen.role(controls),
        source=chosen.source(controls, sized=False),
    )
    counted = Counted[controls.draw(COUNTED).upper()]
    calls = [Call(tile_sizes, (key, asked.role, asked.source, counted)) for key in asked.keys]
    shown = computed("outliers_tiles", (asked, counted), calls, doing="Quantizing five draws in every tile")
    if shown is None:
        return
    asked, counted = shown.asked
    found = {asked.titles[key]: part for key, part in zip(asked.keys, shown.parts, strict=True) if part}
    bf16 = [title for title in asked.titles.values() if title not in found]
    if not found:
        st.markdown(f"Every chosen recipe {BF16}.")
        return
    draw_notice(f"**Notice:** {notice(found, counted)}")
    curves = [Curve(name=name, points=sizes.curve, own=sizes.own) for name, sizes in found.items()]
    if not any(has_error(point) for curve in curves for point in curve.points):
        return
    draw_chart(
        draws_chart(
            curves,
            "elements along K that share a scale: tiles of 1 × so many",
            INKS[theme()],
        ),
        key="outliers_tiles",
        alt="; ".join(
            f"{name}: {db(sizes.curve[0].mean)} in the shortest tiles, "
            f"{db(sizes.curve[-1].mean)} in the longest"
            for name, sizes in found.items()
        ),
    )
    drawn = (
        f"{DRAWS} bands of your matrix"
        if asked.source.matrix is not None
        else f"{DRAWS} draws of {BAND_LINES} lines of {BAND_K} elements along K"
    )
    st.caption(
        f"{drawn} a point: the line is their mean, the bar reaches from the worst to the best. A line has "
        "its recipe's format and scale rule in tiles of 1 × k. The ring is the recipe's own tile. A ring off "
        "its line shows what a tile costs that is more than one line tall. A point without any error is left "
        "out."
    )
    st.markdown(figures(found))
    if bf16:
        st.markdown(f"{listed(bf16)} {BF16}.")


def notice(found: dict[str, TileSizes], counted: Counted) -> str:
    """The recipes that gain most and least from shorter tiles, and the price of them."""
    found = {name: sizes for name, sizes in found.items() if all(map(has_error, sizes.curve))}
    if not found:
        return NO_ERROR
    gain = {name: sizes.curve[0].mean - sizes.curve[-1].mean for name, sizes in found.items()}
    most, least = max(gain, key=gain.__getitem__), min(gain, key=gain.__getitem__)
    first, last = found[most].curve[0], found[most].curve[-1]
    told = (
        f"from tiles of {last.at:,.0f} to tiles of {first.at:.0f} along K the SQNR of {counted.value} "
        f"changes by {db(gain[most])} under **{most}**, for {short(first.bits - last.bits, 3)} bits more an "
        "element"
    )
    if most == least:
        return told + "."
    told += f", and by {db(gain[least])} under **{least}**"
    if abs(gain[least]) < UNCHANGED_DB < gain[most]:
        told += ". A float's relative error does not depend on its scale until something leaves its range"
    return told + "."


def figures(found: dict[str, TileSizes]) -> str:
    """Each recipe as published."""
    rows = [
        (name, ranged(sizes.own.mean, sizes.own.low, sizes.own.high), bits(sizes.own.bits))
        for name, sizes in found.items()
    ]
    return table(("recipe, in its own tiles", f"SQNR, {DRAWS} draws", "bits an element"), rows)
