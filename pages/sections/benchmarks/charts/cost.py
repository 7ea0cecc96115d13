"""The cost of a scale: a bar a recipe, the matmul first, then the quantization; one contender is 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from pages.kit.charts.finish import finished
from pages.kit.charts.ink import Ink
from pages.kit.charts.timings import MATMUL, QUANTIZE
from pages.sections.benchmarks.charts.facts import TimedGemm, tooltip

Spec = dict[str, Any]
_BAR = 24
_STEP = 44
_AROUND = 110
_ONE = 1.0
_ROOM = 1.3


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One contender's times, relative to the contender that is 1. Quantization is missing where it is not
    timed.
    """

    name: str
    matmul: float
    quantize: float | None
    facts: TimedGemm | None

    @property
    def whole(self) -> float:
        return self.matmul + (self.quantize or 0.0)


def cost_chart(costs: Sequence[Cost], unit: str, ink: Ink) -> Spec:
    """Bars from top to bottom; `unit` names what is 1."""
    parts = [row for cost in costs for row in _parts(cost)]
    names = [cost.name for cost in costs]
    y = alt.Y("name:N", title=None, sort=names, axis=alt.Axis(labelLimit=220, labelColor=ink.text))
    most = max(*(cost.whole for cost in costs), _ONE)
    bars = (
        alt.Chart(alt.Data(values=parts))
        .mark_bar(size=_BAR, aria=False)
        .encode(
            y=y,
            x=alt.X(
                "start:Q",
                title=f"time, {unit} = 1",
                scale=alt.Scale(domain=[0, _ROOM * most], nice=False),
            ),
            x2="end",
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=[MATMUL, QUANTIZE]),
                legend=alt.Legend(orient="bottom", symbolLimit=2, labelColor=ink.text),
            ),
            tooltip=tooltip(
                alt.Tooltip("part:N", title="part"),
                alt.Tooltip("share:Q", title=f"time, {unit} = 1", format=".3f"),
            ),
        )
    )
    ends = [{"name": cost.name, "told": _told(cost)} for cost in costs]
    labels = (
        alt.Chart(alt.Data(values=ends))
        .mark_text(align="right", color=ink.text)
        .encode(y=y, x=alt.value("width"), text="told:N")
    )
    rule = (
        alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink.text, strokeWidth=1.5).encode(x=alt.datum(_ONE))
    )
    chart = alt.layer(bars, rule, labels).properties(height=len(costs) * _STEP + _AROUND)
    return finished(chart, ink)


def _parts(cost: Cost) -> list[dict[str, object]]:
    told = cost.facts.fields() if cost.facts else {}
    parts = [(MATMUL, 0.0, cost.matmul)]
    if cost.quantize is not None:
        parts.append((QUANTIZE, cost.matmul, cost.whole))
    return [
        {"name": cost.name, "part": part, "start": start, "end": end, "share": end - start, **told}
        for part, start, end in parts
    ]


def _told(cost: Cost) -> str:
    """A cost in words, such as ``0.54, with quantization 0.79``; the matmul alone where nothing is
    quantized.
    """
    return f"{cost.matmul:.2f}" if cost.quantize is None else f"{cost.matmul:.2f} → {cost.whole:.2f}"
