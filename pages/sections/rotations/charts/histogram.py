"""The frequency of each value among the entries of many vectors: before a rotation and after two kinds."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
from numpy.typing import NDArray

from pages.kit.charts.ink import Ink
from pages.sections.rotations.charts.axis import NARROW

BINS = 96
HEIGHT = 120


@dataclass(frozen=True, kw_only=True)
class Entries:
    """Entries of many vectors, and the density they follow at `at` where it is known."""

    values: NDArray[np.float64]
    at: NDArray[np.float64]
    density: NDArray[np.float64] | None


def bar_columns(entries: Entries, reach: float) -> dict[str, list[float]]:
    """The bins over -reach..reach that are not empty: their ends, share of entries and density."""
    edges = np.linspace(-reach, reach, BINS + 1)
    counts = np.histogram(entries.values, edges)[0]
    share = counts / entries.values.size
    full = counts > 0
    return {
        "from": edges[:-1][full].round(4).tolist(),
        "to": edges[1:][full].round(4).tolist(),
        "share": share[full].tolist(),
        "density": (share / (edges[1] - edges[0]))[full].tolist(),
    }


def line_columns(entries: Entries) -> dict[str, list[float]]:
    """The exact density."""
    assert entries.density is not None, "no density is known"
    return {"from": entries.at.round(4).tolist(), "density": entries.density.tolist()}


def data_sets(panels: Sequence[Entries], reach: float) -> dict[str, dict[str, list[float]]]:
    """The named data of `histograms`."""
    bars = {f"bars{i}": bar_columns(entries, reach) for i, entries in enumerate(panels)}
    lines = {f"line{i}": line_columns(e) for i, e in enumerate(panels) if e.density is not None}
    return bars | lines


def histograms(titles: Sequence[str], with_line: Collection[int], reach: float, ink: Ink) -> alt.VConcatChart:
    """A panel for each title over -reach..reach, bars measured; the density in those `with_line`."""
    return (
        alt.vconcat(
            *(
                _panel(i, title, reach, ink, last=title == titles[-1], line=i in with_line)
                for i, title in enumerate(titles)
            ),
            spacing=30,
            padding=NARROW,
        )
        .configure_view(stroke=None)
        .configure_axis(gridColor=ink.line, gridOpacity=0.35)
    )


def _panel(number: int, name: str, reach: float, ink: Ink, *, last: bool, line: bool) -> alt.LayerChart:
    x = alt.X(
        "from:Q",
        scale=alt.Scale(domain=[-reach, reach], nice=False),
        axis=alt.Axis(title="value of an entry" if last else None, grid=False),
    )
    y = alt.Y("density:Q", axis=None)
    bars = (
        alt.Chart(alt.NamedData(f"bars{number}"))
        .mark_rect(color=ink.good, opacity=0.55, stroke=ink.page, strokeWidth=0.5)
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
        alt.Chart(alt.NamedData(f"line{number}")).mark_line(color=ink.bad, strokeWidth=2).encode(x=x, y=y)
    )
    title = alt.TitleParams(name, anchor="start", frame="group", fontSize=13, color=ink.text, offset=6)
    return alt.layer(*([bars, density] if line else [bars]), height=HEIGHT, title=title)
