"""Section "Small channels": what happens to those that are no outliers, which total SQNR hides."""

import math

import numpy as np
import streamlit as st

from fp8core.experiments.operand_error import Lines
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.recipe_marks import Mark, mark_of
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.outliers.charts.spread import Spread, spread_chart
from pages.outliers.controls import LINES
from pages.outliers.data import FACTOR, Measured, operand_of_key
from pages.outliers.subject import Subject, price, quantized
from pages.outliers.words import BF16, db, listed, percent, table

MOST_LIE = (5, 95)
NOUN = {"channels": "channel", "tokens": "token"}


def show(controls: Controls) -> None:
    """Draw the spread of the errors of channels or tokens."""
    along = controls.draw(LINES, here().control)
    if (shown := quantized(controls)) is None:
        return
    subject, parts = shown
    there = {key: part for key, part in parts.items() if part is not None}
    lines = {key: getattr(part.error, along) for key, part in there.items()}
    titles = subject.titles
    spreads = {key: spread(titles[key], mark_of(key), part, lines[key]) for key, part in there.items()}
    draw_notice(notice(spreads, NOUN[along]))
    draw_chart(
        spread_chart(list(spreads.values()), NOUN[along], room(), INKS[theme()]),
        key="outliers_lines",
        is_rigid=True,
        alt="; ".join(
            f"{one.name}: median {percent(one.median)}, worst {percent(one.worst)}, "
            f"total {percent(one.total)}"
            for one in spreads.values()
        ),
    )
    st.markdown(figures(subject, there, spreads, NOUN[along]))
    here().know.markdown(f"{energy(next(iter(lines.values())), NOUN[along])} {why(NOUN[along])}")


def spread(title: str, mark: Mark, part: Measured, lines: Lines) -> Spread:
    """The errors of the lines that are no outliers, and the total beside them."""
    large, errors = lines.outliers(FACTOR), lines.rel_err
    small = errors[~large & (lines.energy > 0)]
    low, median, high = np.percentile(small, (MOST_LIE[0], 50, MOST_LIE[1]))
    return Spread(
        name=title,
        mark=mark,
        least=float(small.min()),
        low=float(low),
        median=float(median),
        high=float(high),
        worst=float(small.max()),
        total=math.sqrt(part.error.total),
        outliers=float(np.median(errors[large])) if large.any() else None,
    )


def notice(spreads: dict[str, Spread], noun: str) -> str:
    """The recipe whose worst line its total says least about."""
    one = max(spreads.values(), key=lambda one: one.worst / max(one.total, 1e-12))
    if not one.worst:
        return "Every number is a value of every chosen recipe: **the error is 0.**"
    return (
        f"Under {one.name} the worst normal {noun} is **off by {percent(one.worst)}.** "
        f"The error of the whole tensor is {percent(one.total)}."
    )


def energy(lines: Lines, noun: str) -> str:
    """The share of the energy that the outliers hold."""
    large = lines.outliers(FACTOR)
    if not large.any():
        return f"No {noun} is an outlier here."
    share = float(lines.energy[large].sum() / lines.energy.sum())
    return f"{count(int(large.sum()), noun)} of {large.size:,} hold {percent(share, 3)} of ‖x‖²."


def figures(subject: Subject, parts: dict[str, Measured], spreads: dict[str, Spread], noun: str) -> str:
    """The figures, and those recipes that leave the operand in bf16."""
    rows = [
        (
            one.name,
            db(parts[key].error.sqnr_db),
            percent(one.median),
            percent(one.worst),
            "–" if one.outliers is None else percent(one.outliers),
            price(operand_of_key(key, subject.role), subject.source.shape),
        )
        for key, one in spreads.items()
    ]
    heads = (
        "recipe",
        "total SQNR",
        f"median {noun}",
        f"worst {noun}",
        "outliers, median",
        "bits per element",
    )
    bf16 = [title for key, title in subject.titles.items() if key not in parts]
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
