"""Section "What bf16 costs": the rotated numbers are stored in bf16 before they are quantized."""

import streamlit as st

from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.sections.rotations.cases import of_format
from pages.sections.rotations.charts.cost import Way, ways
from pages.sections.rotations.controls import MAGNITUDE, draw_rotation
from pages.sections.rotations.data import CARRIER, Cost, costs, setting

PLAIN, ROTATED, CARRIED, ALONE = (
    "as it is",
    "rotated, not rounded in between",
    f"rotated, rounded to {CARRIER}",
    f"{CARRIER} alone, nothing quantized",
)


ORDER = (PLAIN, ROTATED, CARRIED, ALONE)


def picture(alone: float, rows: tuple[Cost, ...], theme: str) -> Filled:
    """A line a format, a mark a path."""
    marks = [
        Way(format=row.format, way=way, nmse=of_format(nmse))
        for row in rows
        for way, nmse in zip(ORDER, (row.plain, row.rotated, row.carried, alone), strict=True)
    ]
    return ways(marks, ORDER, INKS[theme])


def show(controls: Controls) -> None:
    """Draw the errors by path, and the net effect of rotating."""
    draw_rotation(controls)
    magnitude = controls.draw(MAGNITUDE)
    chosen = setting(controls)
    alone, rows = costs(chosen, magnitude)
    st.markdown(
        "A kernel rotates by a matmul, and the result is bf16. So the rotated numbers are rounded once "
        "before they are quantized. Does that rounding undo the gain?"
    )
    draw_notice(f"**Notice:** {notice(alone, rows)}")
    draw_chart(
        picture(alone, rows, theme()),
        key="rotations_costs",
        alt="Error energy over signal energy of each format: as it is, rotated, and rotated through bf16. "
        + "; ".join(f"{r.format}: {r.plain:.3g}, {r.rotated:.3g}, {r.carried:.3g}" for r in rows),
    )
    st.markdown(table(rows))
    st.caption(
        f"Averages over {chosen.many:,} vectors, error measured after rotating back. Net: the error with the "
        f"rotation, stored in {CARRIER}, against the error without any."
    )


def notice(alone: float, rows: tuple[Cost, ...]) -> str:
    """The most that bf16 adds, and the formats for which rotating helps in sum."""
    shares = {row.format: added(row) for row in rows if of_format(row.rotated)}
    most = max(shares, key=lambda name: abs(shares[name]), default=None)
    changed = f"It changes the error of {most} most, by {signed(shares[most])}. " if most else ""
    gains = [row.format for row in rows if row.carried < row.plain]
    named = " and ".join(part for part in (", ".join(gains[:-1]), *gains[-1:]) if part)
    net = f"a gain in {named}" if gains else "a loss in every format"
    net += "" if not gains or len(gains) == len(rows) else " and a loss in the others"
    return (
        f"storing in {CARRIER} alone costs {alone:.1e} of the signal's energy. {changed}At this magnitude, "
        f"rotating and storing in {CARRIER} together are {net}."
    )


def added(row: Cost) -> float:
    """The share of a rotated format's error that storing in bf16 adds; negative where it takes away."""
    return row.carried / row.rotated - 1


def signed(share: float) -> str:
    """A percentage with its sign, such as ``+0.39%``."""
    return f"{share:+.2%}".replace("-", "−")


def table(rows: tuple[Cost, ...]) -> str:
    """A Markdown table of the errors and the net effect."""
    lines = [
        f"| format | {PLAIN} | rotated | via {CARRIER} | {CARRIER} adds | net |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        plain, rotated = of_format(row.plain), of_format(row.rotated)
        more = signed(added(row)) if rotated else "–"
        times = f"×\N{NO-BREAK SPACE}{row.carried / plain:.3g}" if plain else "from zero"
        net = f"{'gain' if row.carried < plain else 'loss'},\N{NO-BREAK SPACE}{times}"
        lines.append(f"| {row.format} | {plain:.3g} | {rotated:.3g} | {row.carried:.3g} | {more} | {net} |")
    return "\n".join(lines)
