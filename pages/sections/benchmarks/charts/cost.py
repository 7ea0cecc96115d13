"""The cost of a scale: a bar a recipe, the matmul first, then the quantization; one contender is 1."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template, text
from pages.kit.charts.timings import MATMUL, QUANTIZE
from pages.sections.benchmarks.charts.facts import TimedGemm, fact_columns, tooltip

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


def cost_chart(costs: Sequence[Cost], unit: str, ink: Ink) -> Filled:
    """Bars from top to bottom; `unit` names what is 1."""
    parts = [(cost, *part) for cost in costs for part in _parts(cost)]
    bars = {
        "name": [cost.name for cost, _, _, _ in parts],
        "part": [part for _, part, _, _ in parts],
        "start": [start for _, _, start, _ in parts],
        "end": [end for _, _, _, end in parts],
        "share": [end - start for _, _, start, end in parts],
        **fact_columns([cost.facts for cost, _, _, _ in parts]),
    }
    names = [cost.name for cost in costs]
    return _chart(ink).filled(
        {"bars": bars, "ends": {"name": names, "told": [_told(cost) for cost in costs]}},
        names=names,
        times=[0.0, _ROOM * max(*(cost.whole for cost in costs), _ONE)],
        title=f"time, {unit} = 1",
        height=len(costs) * _STEP + _AROUND,
    )


@template
def _chart(ink: Ink) -> alt.LayerChart:
    y = alt.Y(
        "name:N",
        title=None,
        scale=alt.Scale(domain=several("names", ["bf16 torch.mm"])),
        axis=alt.Axis(labelLimit=220, labelColor=ink.text),
    )
    title = text("title", "time, bf16 = 1")
    times = alt.Scale(domain=several("times", [0.0, 1.0]), nice=False)
    bars = (
        alt.Chart(alt.NamedData("bars"))
        .mark_bar(size=_BAR, aria=False)
        .encode(
            y=y,
            x=alt.X("start:Q", title=title, scale=times),
            x2="end",
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=[MATMUL, QUANTIZE]),
                legend=alt.Legend(orient="bottom", symbolLimit=2, labelColor=ink.text),
            ),
            tooltip=tooltip(
                alt.Tooltip("part:N", title="part"), alt.Tooltip("share:Q", title=title, format=".3f")
            ),
        )
    )
    labels = (
        alt.Chart(alt.NamedData("ends"))
        .mark_text(align="right", color=ink.text)
        .encode(y=y, x=alt.value("width"), text="told:N")
    )
    rule = (
        alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink.text, strokeWidth=1.5).encode(x=alt.datum(_ONE))
    )
    return dressed(alt.layer(bars, rule, labels).properties(height=number("height", 300)), ink)


def _parts(cost: Cost) -> list[tuple[str, float, float]]:
    """The bars of a contender: its parts, from where to where each reaches."""
    parts = [(MATMUL, 0.0, cost.matmul)]
    if cost.quantize is not None:
        parts.append((QUANTIZE, cost.matmul, cost.whole))
    return parts


def _told(cost: Cost) -> str:
    """A cost in words, such as ``0.54, with quantization 0.79``; the matmul alone where nothing is
    quantized.
    """
    return f"{cost.matmul:.2f}" if cost.quantize is None else f"{cost.matmul:.2f} → {cost.whole:.2f}"
