"""The rail of a chart's gold handle (`pages/kit/stage/hand.js`)."""

import altair as alt

RAIL = "rail"


def marks_of(name: str) -> str:
    """Part of the class of a rail's marks. Altair numbers the views of nested layers."""
    return f" {name}_"


def rail(base: alt.Chart, x: alt.X, y: alt.Y | alt.YDatum | alt.YValue, name: str = RAIL) -> alt.Chart:
    """Invisible mark for each position of the handle.

    The fields `at` and `words` of `base` are the position and its words for a screen reader.
    """
    marks = base.properties(name=name).mark_point(opacity=0, size=1, aria=False)
    return marks.encode(x=x, y=y, detail=["at:Q", "words:N"])
