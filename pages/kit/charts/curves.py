"""A line with points for each series, and a rule that follows the pointer.

series = Series(names=names, colors=ink.series[:6], shapes=SHAPES[:6], legend=legend)
base = alt.Chart(alt.NamedData("points")).encode(x=x, y=y)
chart = alt.layer(*curves(base, series, tooltip), pointer(base, x, tooltip, ink))
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink


@dataclass(frozen=True, kw_only=True)
class Series:
    """Names in `field`, each with a color, shape and dash. All channels share one legend."""

    names: Sequence[str]
    colors: Sequence[str]
    shapes: Sequence[str] = ()
    dashes: Sequence[Sequence[int]] = ()
    field: str = "who"
    legend: alt.Legend | None = None

    def color(self) -> alt.Color:
        return alt.Color(f"{self.field}:N", title=None, scale=self._scale(self.colors), legend=self.legend)

    def shape(self) -> alt.Shape:
        return alt.Shape(f"{self.field}:N", title=None, scale=self._scale(self.shapes), legend=self.legend)

    def dash(self) -> alt.StrokeDash:
        return alt.StrokeDash(
            f"{self.field}:N", title=None, scale=self._scale(self.dashes), legend=self.legend
        )

    def _scale(self, values: Sequence[object]) -> alt.Scale:
        return alt.Scale(domain=list(self.names), range=list(values))


def curves(
    data: alt.Chart,
    series: Series,
    tooltip: Sequence[alt.Tooltip],
    *,
    width: float = 2.5,
    size: float = 80,
) -> list[alt.Chart]:
    colored = data.encode(color=series.color())
    points = colored.mark_point(size=size, filled=True, opacity=1).encode(tooltip=list(tooltip))
    return [
        line(colored, series, width=width),
        points.encode(shape=series.shape()) if series.shapes else points,
    ]


def line(data: alt.Chart, series: Series, *, width: float = 2.5, **mark: object) -> alt.Chart:
    layer = data.mark_line(strokeWidth=width, **mark).encode(color=series.color())
    return layer.encode(strokeDash=series.dash()) if series.dashes else layer


def pointer(
    data: alt.Chart, x: alt.X, tooltip: Sequence[alt.Tooltip], ink: Ink, *, name: str = "near"
) -> alt.Chart:
    """Rule at the row nearest the pointer. Each panel needs another `name`."""
    near = alt.selection_point(
        name=name, on="pointermove", nearest=True, clear="pointerout", encodings=["x"], empty=False
    )
    return (
        data.mark_rule(color=ink.text, aria=False)
        .encode(
            x=x,
            opacity=alt.when(near).then(alt.value(0.7)).otherwise(alt.value(0)),
            tooltip=list(tooltip),
        )
        .add_params(near)
    )
