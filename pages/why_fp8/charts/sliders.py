"""Curves with a slider in the browser: a matmul's highest speed, and the share of gradients lost."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pages.kit.charts.curves import Series, line
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.parts import SHAPES, beside, dressed, halo, rail, tips
from pages.kit.charts.template import Filled, by_column, number, several, template

LINES, ENDS, TURN, TIMES = "lines", "ends", "turn", "times"
TOKENS = "power"  # the parameter of the slider: log2 of the tokens
_TICKS = [digit * 10.0**power for power in range(-2, 5) for digit in (1, 2, 5)]
# Pixels of the lines' names, of the longest times at the right of a wide picture, and of their longest bar.
_NAMES, _ASIDE, _LONGEST = 84, 348, 120
_FIRST_LINE, _LINE = 64, 26
_PLOT = f"(width >= 900 ? width - {_ASIDE} : width - {_NAMES} + (width < 360 ? 16 : 0))"


def limits_chart(
    points: Sequence[Mapping[str, Any]],
    times: Sequence[Mapping[str, Any]],
    turn: int,
    most: int,
    room: int,
    ink: Ink,
) -> Filled:
    """The highest speed of one matmul, a line a format, up to 2**most tokens, and its two times.

    A point has its `format`, `tokens`, `speed`, the `limit` of the speed, and the `gain` of fp8 in words.
    From `turn` tokens on, the tensor cores limit bf16. `times` has two rows for each `power` of two of tokens
    and each format: `line`, the time in words (`takes`), its `share` of the longest, whether it `is_longer`
    of the two, and the formats' speeds in `words`.
    """
    last = {p["format"]: p["speed"] for p in points if p["tokens"] == 1 << most}
    ends = {
        "tokens": [1 << most] * len(last),
        "speed": list(last.values()),
        "words": [f"{name}: {speed:,.0f}" for name, speed in last.items()],
    }
    speeds = [point["speed"] for point in points]
    low, high = min(speeds) / 6, max(speeds) * 1.8  # below one token's speed stands the gain
    return _limits(ink).filled(
        {
            LINES: by_column(points),
            ENDS: ends,
            TIMES: by_column(times),
            TURN: {"tokens": [turn] if turn < 1 << most else []},
        },
        most=most,
        power=0,
        height=room,
        across=[1, 1 << most],
        speeds=[low, high],
        low=low,
        high=high,
    )


def _axes() -> tuple[alt.X, alt.Y]:
    pixels = [0, alt.ExprRef(_PLOT)]
    x = alt.X(
        "tokens:Q",
        title="tokens",
        scale=alt.Scale(type="log", base=2, domain=several("across", [1.0, 2.0]), nice=False, range=pixels),
        axis=alt.Axis(
            values=[2.0**k for k in range(0, 17, 2)],
            format=",d",
            labelOverlap=True,
            labelPadding=16,
            grid=False,
            titleAnchor="start",
        ),
    )
    y = alt.Y(
        "speed:Q",
        title="TFLOP/s, at most",
        scale=alt.Scale(type="log", domain=several("speeds", [0.5, 9000.0]), nice=False),
        axis=alt.Axis(values=_TICKS, format=",~f", labelOverlap=True, grid=False),
    )
    return x, y


def _pixels(x: str, y: str) -> tuple[str, str]:
    """Vega expressions for the tokens and the speed at pixel (x, y)."""
    return f"pow(2, most * ({x}) / {_PLOT})", f"high * pow(low / high, ({y}) / height)"


@template
def _limits(ink: Ink) -> alt.LayerChart:
    x, y = _axes()
    series = Series(
        names=["bf16", "fp8", "fp4"],
        colors=[ink.mid, ink.text, ink.text],
        dashes=[[1, 0], [1, 0], [6, 4]],
        field="format",
    )
    every = alt.Chart(alt.NamedData(LINES)).encode(x=x, y=y, color=series.color())
    now = every.transform_filter(f"datum.tokens == pow(2, {TOKENS})")
    base = {"fontSize": alt.ExprRef(f"containerSize()[0] < {NARROW} ? 12 : 15")}
    turn = alt.Chart(alt.NamedData(TURN)).encode(x=x)
    foot = alt.value(alt.ExprRef("height"))
    # The dotted line of the tokens passes behind all words.
    sides = [
        turn.mark_text(align=side, dx=dx, dy=6, text=alt.ExprRef(words), color=ink.soft, **base, **halo(ink))
        for side, dx, words in (
            ("right", -10, f"containerSize()[0] < {NARROW} ? 'memory' : 'memory is the limit'"),
            ("left", 10, f"containerSize()[0] < {NARROW} ? 'tensor cores' : 'the tensor cores are'"),
        )
    ]
    ends = (
        alt.Chart(alt.NamedData(ENDS))
        .mark_text(align="left", dx=8, fontWeight="bold", color=ink.text, **base)
        .encode(x=x, y=y, text="words:N")
    )
    drop = now.transform_filter("datum.format == 'bf16'").mark_rule(
        color=ink.text, strokeDash=[2, 3], strokeWidth=1.5
    )
    points = now.mark_point(filled=True, size=150, opacity=1).encode(
        tooltip=tips(
            ("format:N", "operands"),
            ("tokens:Q", "tokens", ",d"),
            ("speed:Q", "TFLOP/s at most", ",.4~g"),
            ("limit:N", "limited by"),
        )
    )
    slider = alt.param(
        name=TOKENS,
        value=number("power", 0),
        bind=alt.binding_range(min=0, max=number("most", 17), step=1, name="Tokens, as a power of two "),
    )
    chart = alt.layer(
        _grid(x, y, ink),
        turn.mark_rule(color=ink.line, strokeWidth=1),
        line(every, series),
        drop.encode(y2=foot, color=alt.value(ink.text)),
        *(side.encode(y=alt.value(0)) for side in sides),
        ends,
        *_gains(now, ink),
        points,
        *_times(x, y, ink),
        _rail(x, y),
        height=number("height", 500),
    )
    holes = {"most": 17, "low": 0.5, "high": 9000.0}
    params = [alt.param(name=name, value=number(name, sample)) for name, sample in holes.items()]
    return chart.add_params(*params, slider).configure_view(stroke=None)


def _gains(now: alt.Chart, ink: Ink) -> list[alt.Chart]:
    at = now.transform_filter("datum.format == 'bf16'").transform_calculate(
        words="format(datum.tokens, ',d') + (datum.tokens == 1 ? ' token' : ' tokens')"
    )
    return [
        one.encode(text=f"{field}:N", color=alt.value(ink.text))
        for field, dy, size, weight in (("gain", 28, 34, "bold"), ("words", 74, 15, "normal"))
        for one in beside(at, "datum.tokens > 5000", baseline="top", dy=dy, fontSize=size, fontWeight=weight)
    ]


def _grid(x: alt.X, y: alt.Y, ink: Ink) -> alt.Chart:
    """Lines that end where the curves do: an axis' own grid would go on behind the times."""
    return (
        alt.Chart(alt.Data(values=[{"speed": tick, "tokens": 1} for tick in _TICKS]))
        .transform_filter("low < datum.speed && datum.speed < high")
        .transform_calculate(end="pow(2, most)")
        .mark_rule(color=ink.hair)
        .encode(x=x, x2="end:Q", y=y)
    )


def _rail(x: alt.X, y: alt.Y) -> alt.Chart:
    stops = (
        alt.Chart(alt.NamedData(TIMES))
        .transform_filter("datum.line == 0")
        .transform_calculate(at="datum.power", tokens="pow(2, datum.power)", speed="low")
    )
    return rail(stops, x, y)


def _times(x: alt.X, y: alt.Y, ink: Ink) -> list[alt.Chart]:
    left = f"{_PLOT} + {_NAMES} + 24"
    top = f"{_FIRST_LINE} + {_LINE} * (datum.line + 1.4 * floor(datum.line / 2))"
    start, bar = _pixels(left, f"{top} + {_LINE}")
    end, name = _pixels(f"{left} + max(2, {_LONGEST} * datum.share)", top)
    base = (
        alt.Chart(alt.NamedData(TIMES))
        .transform_filter(f"datum.power == {TOKENS} && width >= 900")
        .transform_calculate(tokens=start, end=end, speed=bar, name_y=name)
    )
    style = {"align": "left", "baseline": "middle", "fontSize": 14}
    bar_color, color = (
        alt.condition("datum.is_longer", alt.value(strong), alt.value(pale))
        for strong, pale in ((ink.mid, ink.hair), (ink.text, ink.soft))
    )
    bars = base.mark_rule(strokeWidth=14).encode(x=x, x2="end:Q", y=y, color=bar_color)
    takes = base.transform_calculate(tokens="datum.end").mark_text(**style, dx=8)
    names = base.transform_filter("datum.line % 2 == 0").transform_calculate(speed="datum.name_y")
    layers = [
        bars,
        takes.encode(x=x, y=y, text="takes:N", color=color),
        names.mark_text(**style, fontWeight=600, color=ink.text).encode(x=x, y=y, text="format:N"),
    ]
    for at, words, look in (
        (10, "One matmul takes", {"color": ink.text, "fontWeight": 600}),
        (30, "at least the longer of two times", {"color": ink.soft}),
    ):
        place = base.transform_filter("datum.line == 0").transform_calculate(speed=_pixels(left, str(at))[1])
        layers.append(place.mark_text(**style, **look, text=words).encode(x=x, y=y))
    return layers


CURVES, K = "curves", "k"
_DASHES = [[1, 0], [8, 3], [2, 2], [8, 3, 2, 3], [5, 5]]


def lost_chart(shares: Mapping[str, Sequence[float]], room: int, ink: Ink) -> Filled:
    names = tuple(shares)
    curves = {
        "format": [name for name, along in shares.items() for _ in along],
        "at": [k for along in shares.values() for k in range(len(along))],
        "share": [share for along in shares.values() for share in along],
    }
    return _lost(names, len(shares[names[0]]) - 1, ink).filled({CURVES: curves}, height=room)


@template
def _lost(names: tuple[str, ...], most: int, ink: Ink) -> alt.LayerChart:
    series = Series(
        names=names,
        colors=[ink.mid, ink.line, ink.series[4], ink.text, ink.series[10]][: len(names)],
        shapes=SHAPES[: len(names)],
        dashes=_DASHES[: len(names)],
        field="format",
        legend=alt.Legend(orient="top", columns=5, labelColor=ink.text, symbolSize=140, symbolStrokeWidth=0),
    )
    x = alt.X(
        "at:Q",
        title="log2 of the loss scale",
        scale=alt.Scale(domain=[0, most], nice=False),
        axis=alt.Axis(tickMinStep=1, tickCount=10, grid=False),
    )
    y = alt.Y(
        "share:Q",
        title="gradients lost",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="~%", tickCount=5),
    )
    bind = alt.binding_range(min=0, max=most, step=1, name="log2 of the loss scale ")
    slider = alt.param(name=K, value=0, bind=bind)
    every = alt.Chart(alt.NamedData(CURVES)).encode(x=x, y=y)
    now = every.transform_filter(f"datum.at == {K}")
    rule = (
        now.transform_filter(alt.datum.format == names[0])
        .mark_rule(strokeDash=[2, 3], strokeWidth=1.5)
        .encode(y=alt.value(0), y2=alt.value(alt.ExprRef("height")), color=alt.value(ink.text))
    )
    points = now.mark_point(filled=True, size=130, opacity=1).encode(
        color=series.color(),
        shape=series.shape(),
        tooltip=tips(
            ("format:N", "format"),
            ("at:Q", "log2 of the loss scale"),
            ("share:Q", "becomes zero or overflows", ".2%"),
        ),
    )
    layers = (line(every, series), rule, points, *_figures(now, most, ink))
    return dressed(alt.layer(*layers, height=number("height", 500)).add_params(slider), ink)


def _figures(now: alt.Chart, most: int, ink: Ink) -> list[alt.Chart]:
    middle = now.transform_filter("0.02 < datum.share && datum.share < 0.98")
    words = beside(middle, f"datum.at > {most - 4}", dy=-10, fontSize=14, color=ink.text)
    return [side.encode(text=alt.Text("share:Q", format=".0%")) for side in words]
