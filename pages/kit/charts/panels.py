"""Panels below one another, each as wide as the page's column: their vertical axes stand inside."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink

ROOM = 0.08  # share of the width that the horizontal axis leaves free for the labels

END = 0.03  # share of the width left free at the right, for half a label of the horizontal axis

_NARROW = {"left": 0, "right": 0, "top": 5, "bottom": 5}


def panels(charts: Sequence[alt.LayerChart], ink: Ink, spacing: int) -> alt.VConcatChart:
    return (
        alt.vconcat(*charts, spacing=spacing, padding=_NARROW)
        .configure_view(stroke=None)
        .configure_axis(gridColor=ink.line, gridOpacity=0.35)
    )


def panel_title(words: str, ink: Ink) -> alt.TitleParams:
    return alt.TitleParams(words, anchor="start", frame="group", fontSize=13, color=ink.text, offset=6)


def inside_axis(**options: Any) -> alt.Axis:
    """A vertical axis with its labels at the left edge of the panel, on the grid's lines."""
    return alt.Axis(
        title=None,
        labelAlign="left",
        labelBaseline="bottom",
        labelPadding=-4,
        labelOffset=-1,
        ticks=False,
        domain=False,
        **options,
    )
