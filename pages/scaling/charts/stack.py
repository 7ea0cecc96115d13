"""Shared parts of the pictures of the page "Scaling": panels of one width, and labels of their axes."""

import json
from collections.abc import Sequence
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import number
from pages.kit.charts.words import power_of_two

Spec = dict[str, Any]
START = "start_at"
"""The position in which a picture opens: Vega's name for it."""


def powers_of_two(low: float, high: float) -> str:
    """Vega label expression that writes whole exponents as powers of two."""
    names = {str(e): power_of_two(e) for e in range(int(low) - 2, int(high) + 3)}
    return f"({json.dumps(names, ensure_ascii=False)})[toString(datum.value)]"


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
