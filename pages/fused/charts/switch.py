"""One way's kernels, a line a role, over those of the way before: what vanishes as the reader switches.

The switch works in the browser: all ways are in the chart, and it shows one.
"""

import json
from collections.abc import Sequence

import altair as alt

from pages.fused.charts.facts import FIELDS, TITLES, Lane, Paint, color_scale
from pages.fused.charts.lanes import columns_of
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.labels import LETTERS, WORDS, without_names, words_above, words_of
from pages.kit.charts.template import Filled, number, template, text

WAY = "way"
LINE = 32 + LETTERS
_BAR, _AROUND = 24, 64
_ROOM = 1.01
KERNELS, SUMS, ENDS = "kernels", "sums", "ends"
Row = dict[str, object]


def switch_chart(lanes: Sequence[Lane], keys: tuple[str, ...], roles: tuple[Paint, ...], ink: Ink) -> Filled:
    """The lanes in the order of the switch, whose values are `keys`. Each shows the one before behind it."""
    key = {lane.name: value for lane, value in zip(lanes, keys, strict=True)}
    follows = dict(zip(key, keys[1:], strict=False))
    kernels = columns_of(lanes)
    kernels["next"] = [follows.get(name, "") for name in kernels["lane"]]
    kernels["lane"] = [key[name] for name in kernels["lane"]]
    ends = {
        "lane": list(keys),
        "next": [follows.get(lane.name, "") for lane in lanes],
        "end": [lane.end_us for lane in lanes],
    }
    return _chart(keys, tuple(key), roles, ink).filled(
        {KERNELS: kernels, SUMS: _sums(lanes, keys, [role.name for role in roles]), ENDS: ends},
        longest=f"({json.dumps(_longest(lanes, keys))})[{WAY}]",
        height=LINE * len(roles) + _AROUND,
    )


def _longest(lanes: Sequence[Lane], keys: tuple[str, ...]) -> dict[str, float]:
    """By the switch's values: where the axis ends, so that the way and the one before fit."""
    ends = [lane.end_us for lane in lanes]
    return {key: _ROOM * max(ends[max(place - 1, 0) : place + 1]) for place, key in enumerate(keys)}


def _sums(lanes: Sequence[Lane], keys: tuple[str, ...], roles: Sequence[str]) -> dict[str, list[object]]:
    """The words of each line: a role, how many kernels of it a way has, and their time."""
    rows: list[Row] = []
    for value, lane in zip(keys, lanes, strict=True):
        for role in roles:
            number_of = len(lane.of_role(role))
            kernels = "kernel" if number_of == 1 else "kernels"
            said = f"{number_of} {kernels}, {lane.role_us(role):,.0f} µs" if number_of else "none"
            rows.append({"lane": value, "role": role, WORDS: words_of(role, said)})
    return {field: [row[field] for row in rows] for field in ("lane", "role", WORDS)}


@template
def _chart(
    keys: tuple[str, ...], names: tuple[str, ...], roles: tuple[Paint, ...], ink: Ink
) -> alt.LayerChart:
    way = alt.param(
        name=WAY,
        value=keys[-1],
        bind=alt.binding_radio(options=list(keys), labels=list(names), name="Way "),
    )
    y = alt.Y(
        "role:N",
        title=None,
        scale=alt.Scale(domain=[role.name for role in roles]),
        axis=without_names(),
    )
    across = alt.Scale(domainMin=0, domainMax=alt.ExprRef(text("longest", "({})[way]")), nice=False)
    x = alt.X(
        "start:Q",
        title="µs since the step's first kernel",
        scale=across,
        axis=alt.Axis(tickCount=6, format=",~f", grid=False),
    )
    colors = color_scale(roles, ink)
    kernels = alt.Chart(alt.NamedData(KERNELS)).encode(
        y=y, x=x, x2="end", color=alt.Color("role:N", scale=colors, legend=None)
    )
    before = kernels.transform_filter(f"datum.next === {WAY}").mark_bar(size=_BAR, opacity=0.3)
    now = (
        kernels.transform_filter(f"datum.lane === {WAY}")
        .mark_bar(size=_BAR - 8)
        .encode(
            tooltip=[
                alt.Tooltip(f"{field}:N", title=title) for field, title in zip(FIELDS, TITLES, strict=True)
            ]
        )
    )
    ends = alt.Chart(alt.NamedData(ENDS)).encode(x=alt.X("end:Q", scale=across))
    end = ends.transform_filter(f"datum.lane === {WAY}").mark_rule(color=ink.text, strokeWidth=2)
    end_before = ends.transform_filter(f"datum.next === {WAY}").mark_rule(
        color=ink.soft, strokeWidth=1.5, strokeDash=[4, 3]
    )
    shown = alt.Chart(alt.NamedData(SUMS)).transform_filter(f"datum.lane === {WAY}").encode(y=y)
    sums = words_above(shown, _BAR, ink)
    return dressed(
        alt.layer(before, now, end_before, end, sums)
        .add_params(way)
        .properties(height=number("height", 300)),
        ink,
    )
