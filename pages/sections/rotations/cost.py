"""Section "What bf16 costs": the rotated numbers are stored in bf16 before they are quantized."""

import streamlit as st

from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
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
        Way(format=row.format, way=way, nmse=nmse)
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
    most = max(rows, key=lambda row: abs(row.carried / row.rotated - 1) if row.rotated else 0.0)
    share = most.carried / most.rotated - 1 if most.rotated else 0.0
    gains = [row.format for row in rows if row.carried < row.plain]
    net = f"a gain in {' and '.join(gains)}" if gains else "a loss in every format"
    net += "" if not gains or len(gains) == len(rows) else " and a loss in the others"
    return (
        f"storing in {CARRIER} alone costs {alone:.1e} of the signal's energy. It changes the error of "
        f"{most.format} most, by {share:+.2%}. At this magnitude, rotating and storing in {CARRIER} together "
        f"are {net}."
    )


def table(rows: tuple[Cost, ...]) -> str:
    """A Markdown table of the errors and the net effect."""
    lines = [
        f"| format | {PLAIN} | rotated | via {CARRIER} | {CARRIER} adds | net |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        added = f"{row.carried / row.rotated - 1:+.2%}" if row.rotated else "–"
        ratio = row.carried / row.plain if row.plain else float("inf")
        net = f"{'gain' if ratio < 1 else 'loss'},\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}{ratio:.3g}"
        lines.append(
            f"| {row.format} | {row.plain:.3g} | {row.rotated:.3g} | {row.carried:.3g} | {added} | {net} |"
        )
    return "\n".join(lines)
