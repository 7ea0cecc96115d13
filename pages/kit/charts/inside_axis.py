"""A vertical axis inside its panel, so that panels below each other are as wide as the page's column."""

from typing import Any

import altair as alt

NARROW = {"left": 0, "right": 0, "top": 5, "bottom": 5}
"""Padding of a picture whose panels are as wide as the column."""

ROOM = 0.08
"""Share of the width that the horizontal axis leaves free for the labels."""

END = 0.03
"""Share of the width left free at the right, for half a label of the horizontal axis."""


def inside_axis(**options: Any) -> alt.Axis:
    """Labels at the left edge, on the grid's lines."""
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
