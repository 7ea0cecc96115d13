"""The frequency of each value among the entries of many vectors: before a rotation and after two kinds."""

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt
import numpy as np
from numpy.typing import NDArray

from pages.kit.charts.ink import Ink
from pages.kit.charts.panels import END, panel_title
from pages.kit.charts.panels import panels as below_one_another
from pages.kit.charts.template import Columns, Filled, several, template

BINS = 96
HEIGHT = 120


@dataclass(frozen=True, kw_only=True)
class Entries:
    """Entries of many vectors, and the density they follow at `at` >= 0 where it is known.

    The density is as high at -`at`. The first of `at` is 0.
    """

    values: NDArray[np.float64]
    at: NDArray[np.float64]
    density: NDArray[np.float64] | None


def bar_columns(entries: Entries, reach: float) -> Columns:
    """The bins over -reach..reach that are not empty: their ends, share of entries and density."""
    counts, edges = np.histogram(entries.values, BINS, (-reach, reach))
    share = counts / entries.values.size
    full = counts > 0
    return {
        "from": edges[:-1][full],
        "to": edges[1:][full],
        "share": share[full],
        "density": (share / (edges[1] - edges[0]))[full],
    }


def line_columns(entries: Entries) -> Columns:
    """The exact density; no rows where none is known."""
    if entries.density is None:
        return {"from": entries.at[:0], "density": entries.at[:0]}
    both = ((-entries.at[:0:-1], entries.at), (entries.density[:0:-1], entries.density))
    return {name: np.concatenate(sides) for name, sides in zip(("from", "density"), both, strict=True)}


def histograms(panels: Mapping[str, Entries], reach: float, ink: Ink) -> Filled:
    """A panel for each title over -reach..reach: bars measured, and a line where the density is known."""
    data = {f"bars{i}": bar_columns(entries, reach) for i, entries in enumerate(panels.values())}
    data |= {f"line{i}": line_columns(entries) for i, entries in enumerate(panels.values())}
    # Room for half a label at either end.
    far = (1 + END) * reach
    tops = {
        f"heights{i}": [
            0.0,
            max(float(data[f"{part}{i}"]["density"].max(initial=0.0)) for part in ("bars", "line")),
        ]
        for i in range(len(panels))
    }
    return _histograms(tuple(panels), ink).filled(data, ends=[-far, far], **tops)


@template
def _histograms(titles: tuple[str, ...], ink: Ink) -> alt.VConcatChart:
    charts = [_panel(i, title, ink, last=title == titles[-1]) for i, title in enumerate(titles)]
    return below_one_another(charts, ink, spacing=30)


def _panel(number: int, name: str, ink: Ink, *, last: bool) -> alt.LayerChart:
    x = alt.X(
        "from:Q",
        scale=alt.Scale(domain=several("ends", [-1.0, 1.0]), nice=False),
        axis=alt.Axis(title="value of an entry", grid=False) if last else None,
    )
    heights = alt.Scale(domain=several(f"heights{number}", [0.0, 1.0]))
    y = alt.Y("density:Q", axis=None, scale=heights)
    bars = (
        alt.Chart(alt.NamedData(f"bars{number}"))
        .mark_rect(color=ink.line, stroke=ink.page, strokeWidth=0.5)
        .encode(
            x=x,
            x2="to:Q",
            y=y,
            y2=alt.Y2(datum=0),
            tooltip=[
                alt.Tooltip("from:Q", title="from", format=".4~g"),
                alt.Tooltip("to:Q", title="to", format=".4~g"),
                alt.Tooltip("share:Q", title="share of entries", format=".3~%"),
            ],
        )
    )
    density = (
        alt.Chart(alt.NamedData(f"line{number}")).mark_line(color=ink.text, strokeWidth=2).encode(x=x, y=y)
    )
    return alt.layer(bars, density, height=HEIGHT, title=panel_title(name, ink))
