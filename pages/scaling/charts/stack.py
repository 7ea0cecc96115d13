"""Shared parts of the pictures of the page "Scaling": panels of one width, figures above them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.template import number

Spec = dict[str, Any]
START = "start_at"
"""The position in which a picture opens: Vega's name for it."""

HEAD = 52
_COLUMNS = 4
_TEXT = {"align": "left", "baseline": "top"}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure: its distance from the left, in quarters of the width, and Vega expressions for name and
    value.
    """

    place: float
    name: str
    words: str


def panel(*layers: alt.Chart, height: int, title: str | None = None) -> Spec:
    """Charts on top of each other, as a Vega-Lite spec.

    Each becomes a spec by itself. Altair copies and checks all that it combines, once for every layer, and
    that would take most of the time.
    """
    units = [layer.to_dict(validate=False) for layer in layers]
    for unit in units:
        del unit["$schema"], unit["config"]
    return {"layer": units, "height": height} | ({"title": title} if title else {})


def stack(panels: Sequence[Spec], ink: Ink, spacing: int = 8) -> Spec:
    """Panels one below the other. Labels of y axes stand inside, so each panel is as wide as its column.

    The hole `start` is the first value of the parameter START.
    """
    return {
        "params": [{"name": START, "value": number("start", 0.0)}],
        "vconcat": list(panels),
        "spacing": spacing,
        "resolve": {"scale": {"color": "independent"}},
        "config": {
            "view": {"stroke": None},
            "axis": {
                "labelColor": ink.soft,
                "titleColor": ink.soft,
                "tickColor": ink.line,
                "domainColor": ink.line,
            },
            "axisX": {"grid": False, "labelFlush": 20, "titlePadding": 4, "labelPadding": 3},
            "axisY": {
                "grid": True,
                "gridColor": ink.line,
                "gridOpacity": 0.35,
                "domain": False,
                "ticks": False,
                "labelAlign": "left",
                "labelBaseline": "bottom",
                "labelPadding": -2,
                "labelOffset": -1,
                "title": None,
            },
            "title": {
                "color": ink.text,
                "anchor": "start",
                "fontSize": 13,
                "fontWeight": "bold",
                "offset": 4,
            },
            "legend": {"labelColor": ink.text, "title": None},
        },
    }


def figures(rows: alt.Data, here: str, shown: Sequence[Figure], ink: Ink, warn: str = "false") -> Spec:
    """The figures of the one row for which `here` is true, in the warning color where `warn` is."""
    base = alt.Chart(rows).transform_filter(here)
    color = alt.when(warn).then(alt.value(ink.lost)).otherwise(alt.value(ink.text))
    layers = []
    for figure in shown:
        scale = alt.Scale(domain=[0, _COLUMNS])
        x = alt.XDatum(figure.place, scale=scale, axis=None)
        name = base.transform_calculate(words=figure.name).mark_text(fontSize=13, color=ink.soft, **_TEXT)
        words = base.transform_calculate(words=figure.words).mark_text(
            fontSize=alt.ExprRef(f"containerSize()[0] < {NARROW} ? 13 : 20"), fontWeight="bold", **_TEXT
        )
        layers.append(name.encode(x=x, y=alt.YValue(2), text=alt.Text("words:N")))
        layers.append(words.encode(x=x, y=alt.YValue(20), text=alt.Text("words:N"), color=color))
    return panel(*layers, height=HEAD)
