"""The rail of a gold handle that takes the place of a chart's slider: see `pages/kit/stage/hand.js`."""

import altair as alt

_RAIL = "rail"
MARKS = f" {_RAIL}_"
"""A part of the class of a rail's marks in the picture. Altair numbers the views of nested layers."""


def rail(base: alt.Chart, x: alt.X, y: alt.Y | alt.YDatum | alt.YValue) -> alt.Chart:
    """An invisible mark for each position of the slider, where the handle stands at that position.

    The fields `at` and `words` of `base` are the position and the position in words, for a screen reader.
    """
    marks = base.properties(name=_RAIL).mark_point(opacity=0, size=1, aria=False)
    return marks.encode(x=x, y=y, detail=["at:Q", "words:N"])
