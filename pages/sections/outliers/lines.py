"""Section "Small channels": what happens to those that are no outliers, which total SQNR hides."""

import math

import numpy as np
import streamlit as st

from fp8core.experiments.operand_error import Lines
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.sections.outliers.charts.spread import Spread, spread_chart
from pages.sections.outliers.chosen import Asked
from pages.sections.outliers.controls import LINES
from pages.sections.outliers.map import asked_and_found
from pages.sections.outliers.measures import Measured
from pages.sections.outliers.words import BF16, bits, db, listed, percent, table

FACTOR = 6.0
"""A line is an outlier where its rms is more than so many times the median line's."""
MOST_LIE = (5, 95)
ALMOST_ALL = 0.9
"""The share of the energy from which on total SQNR says nothing of the other lines."""
NOUN = {"channels": "channel", "tokens": "token"}


def show(controls: Controls) -> None:
    """Draw the spread of the errors of channels or tokens."""
    found = asked_and_found(controls, "measured")
    along = controls.draw(LINES)
    if found is None:
        return
    asked, parts = found
    there = {key: part for key, part in parts.items() if part is not None}
    if not there:
        st.markdown(f"Every chosen recipe {BF16}.")
        return
    lines = {key: getattr(part.error, along) for key, part in there.items()}
    spreads = {key: spread(asked.titles[key], part, lines[key]) for key, part in there.items()}
    draw_notice(f"**Notice:** {notice(asked, lines, spreads, NOUN[along])}")
    draw_chart(
        spread_chart(list(spreads.values()), INKS[theme()]),
        key="outliers_lines",
        alt="; ".join(
            f"{one.name}: median {percent(one.median)}, worst {percent(one.worst)}, "
            f"total {percent(one.total)}"
            for one in spreads.values()
        ),
    )
    st.markdown(figures(asked, there, spreads, NOUN[along]))
    st.markdown(why(NOUN[along]))


def spread(title: str, part: Measured, lines: Lines) -> Spread:
    """The errors of the lines that are no outliers, and the total beside them."""
    large, errors = lines.outliers(FACTOR), lines.rel_err
    small = errors[~large & (lines.energy > 0)]
    low, median, high = np.percentile(small, (MOST_LIE[0], 50, MOST_LIE[1]))
    return Spread(
        name=title,
        least=float(small.min()),
        low=float(low),
        median=float(median),
        high=float(high),
        worst=float(small.max()),
        total=math.sqrt(part.error.total),
        outliers=float(np.median(errors[large])) if large.any() else None,
    )


def notice(asked: Asked, lines: dict[str, Lines], spreads: dict[str, Spread], noun: str) -> str:
    """How much of the energy the outliers hold, and the recipe whose total says least about the others."""
    of_x = next(iter(lines.values()))
    large = of_x.outliers(FACTOR)
    key = max(spreads, key=lambda key: spreads[key].worst / max(spreads[key].total, 1e-12))
    one = spreads[key]
    others = f"the {'other ' if large.any() else ''}{noun}s"
    hidden = (
        f"**{one.name}** is off by {percent(one.total)} in total ({db(-20 * math.log10(one.total))}). The "
        f"median one of {others} is off by {percent(one.median)}, and the worst one by {percent(one.worst)}"
        if one.total
        else f"**{one.name}** loses nothing"
    )
    if not large.any():
        return f"no {noun} stands out here. {hidden}."
    held = float(of_x.energy[large].sum() / of_x.energy.sum())
    best = min(spreads, key=lambda key: spreads[key].worst)
    theirs = ", so total SQNR is almost theirs alone" if held > ALMOST_ALL else ""
    return (
        f"{count(int(large.sum()), noun)} of {large.size:,} hold {percent(held, 3)} of ‖x‖²{theirs}. "
        f"{hidden}. **{spreads[best].name}** has the least error in its worst {noun}: "
        f"{percent(spreads[best].worst)}."
    )


def figures(asked: Asked, parts: dict[str, Measured], spreads: dict[str, Spread], noun: str) -> str:
    """The figures, and those recipes that leave the operand in bf16."""
    rows = [
        (
            one.name,
            db(parts[key].error.sqnr_db),
            percent(one.median),
            percent(one.worst),
            "–" if one.outliers is None else percent(one.outliers),
            bits(asked.bits(key)),
        )
        for key, one in spreads.items()
    ]
    heads = ("recipe", "total SQNR", f"median {noun}", f"worst {noun}", "outliers, median", "bits an element")
    bf16 = [title for key, title in asked.titles.items() if key not in parts]
    return table(heads, rows) + (f"\n\n{listed(bf16)} {BF16}." if bf16 else "")


def why(noun: str) -> str:
    """The definition, and why the total hides it."""
    return (
        f"The error of a {noun} is ‖e‖ / ‖x‖ over its own elements. A {noun} is an outlier where its rms is "
        f"more than {FACTOR:g} times the median one; the bar, the median and the worst are of all others. "
        f"Total SQNR compares all of ‖x‖² with all of ‖e‖², so a {noun} counts by the square of its size. "
        f"The matmul multiplies a small {noun} by weights of its own, and reads from it what no large one "
        "says."
    )
