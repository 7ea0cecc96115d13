"""A code: its bits as squares, its place on the number line, and the table of all codes.

Selections: `flip` is a click on a bit, `pick` on a code, `take` on a number.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, pairwise

import altair as alt
import numpy as np

from fp8core.formats import Format
from fp8core.formats.float_format import FloatFormat
from fp8core.formats.number_line import Interval, Outcome, around, step
from fp8core.formats.spelling import Kind, Spelling, kind_of
from pages.formats.charts.words import MONOSPACE, ROLES, glance, hexadecimal, number
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.parts import rail, tips
from pages.kit.charts.template import Filled, arrow, by_column, several, template
from pages.kit.charts.template import number as number_hole
from pages.kit.charts.template import text as text_hole
from pages.kit.charts.words import power_labels, power_of_two

Row = dict[str, object]

FLIP, TAKE, BITS = "flip", "take", "bits"
ROW = 16  # bits in a line, at most: a telephone has no room for more
# Pixels: a bit, a line with its words, and below a bit the line under its field, the field's name and value.
TALL, LINE, UNDER, NAME, VALUE = 64, 124, 8, 24, 46


def per_line(bits: int) -> int:
    """Bits in each line of squares, as equal as can be."""
    return math.ceil(bits / math.ceil(bits / ROW))


def bit_rows(format_: Format, spelling: Spelling) -> list[Row]:
    bits, wide = len(spelling.bits), per_line(len(spelling.bits))

    def place(start: int, stop: int, line: int) -> Row:
        return {"x0": start + 0.06, "x1": stop - 0.06, "y": line * LINE}

    digits = [*zip(spelling.bits, spelling.layout, strict=True)]
    rows = [
        {"kind": "bit", "bit": bits - 1 - at, **place(at % wide, at % wide + 1, at // wide), "text": digit}
        | {"role": letter, "on": int(digit)}
        | {"what": f"{ROLES[letter]}, bit {bits - 1 - at}: a click makes it {'10'[int(digit)]}"}
        for at, (digit, letter) in enumerate(digits)
    ]
    values = {
        letter: _meaning(format_, spelling, letter, "".join(d for d, role in digits if role == letter))
        for letter in dict.fromkeys(spelling.layout)
    }
    for line in range(0, bits, wide):
        start = 0
        for letter, run in groupby(spelling.layout[line : line + wide]):
            stop = start + len(list(run))
            field = {"kind": "field", "bit": -1, **place(start, stop, line // wide), "text": ROLES[letter]}
            rows.append(field | {"role": letter, "on": 1, "what": values.pop(letter, "")})
            start = stop
    return rows


def _meaning(format_: Format, spelling: Spelling, letter: str, bits: str) -> str:
    """A field's part of the number; its bits if a dot field decides how to read them."""
    if letter == "S":
        return "−" if spelling.negative or bits == "1" else "+"
    if letter == "I":
        return ("−" if spelling.negative else "") + spelling.significand
    if "D" in spelling.layout:
        return bits
    if spelling.kind not in (Kind.NORMAL, Kind.SUBNORMAL):
        return str(int(bits, 2))
    if letter == "M":
        whole, _, fraction = spelling.significand.partition(".")
        return number(int(whole + fraction, 2) / 2.0 ** len(fraction))
    if isinstance(format_, FloatFormat) and format_.bias > 0:
        return power_of_two(spelling.exponent + format_.bias) + power_of_two(-format_.bias)[1:]
    return power_of_two(spelling.exponent)


def bits_chart(format_: Format, spelling: Spelling, ink: Ink) -> Filled:
    bits = len(spelling.bits)
    rows, wide = by_column(bit_rows(format_, spelling)), per_line(bits)
    return _bits(ink).filled({BITS: rows}, across=[0, wide], height=math.ceil(bits / wide) * LINE)


@template
def _bits(ink: Ink) -> alt.LayerChart:
    across = alt.Scale(domain=several("across", [0.0, 8.0]), nice=False, zero=False)
    colors = alt.Scale(domain=list(ROLES), range=[ink.of_bit(letter) for letter in ROLES])
    role = {"scale": colors, "legend": None}
    base = alt.Chart().transform_calculate(
        y0="datum.y + 2",
        y1=f"datum.y + {TALL}",
        middle=f"datum.y + {TALL / 2 + 2}",
        under=f"datum.y + {TALL + UNDER}",
        name=f"datum.y + {TALL + NAME}",
        value=f"datum.y + {TALL + VALUE}",
        xm="(datum.x0 + datum.x1) / 2",
    )
    cells, fields = (base.transform_filter(f"datum.kind == '{kind}'") for kind in ("bit", "field"))
    sides = {"x": alt.X("x0:Q", scale=across, axis=None), "x2": "x1:Q"}
    middle = {"x": alt.X("xm:Q", scale=across, axis=None)}
    words = {"baseline": "middle"}
    is_on = alt.when("datum.on == 1")
    digit, value = (alt.ExprRef(f"min({most}, containerSize()[0] / 16)") for most in (30, 20))

    def down(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=None, axis=None)

    squares = cells.mark_rect(cornerRadius=6, strokeWidth=2).encode(
        **sides,
        y=down("y0"),
        y2="y1:Q",
        fill=is_on.then(alt.Fill("role:N", **role)).otherwise(alt.value(ink.page)),
        stroke=alt.Stroke("role:N", **role),
    )
    digits = cells.mark_text(size=digit, font=MONOSPACE, fontWeight="bold", **words).encode(
        **middle,
        y=down("middle"),
        text="text:N",
        color=is_on.then(alt.value(ink.page)).otherwise(alt.Color("role:N", **role)),
    )
    handles = cells.mark_rect(opacity=0, cursor="pointer").encode(
        **sides, y=down("y0"), y2="y1:Q", tooltip=alt.Tooltip("what:N")
    )
    color = alt.Color("role:N", **role)
    return (
        alt.layer(
            squares,
            digits,
            handles.add_params(_clicks(FLIP, "bit")),
            fields.mark_rule(strokeWidth=2.5).encode(**sides, y=down("under"), color=color),
            fields.mark_text(size=14, **words).encode(
                **middle, y=down("name"), text="text:N", color=alt.value(ink.soft)
            ),
            fields.mark_text(size=value, fontWeight="bold", **words).encode(
                **middle, y=down("value"), text="what:N", color=color
            ),
            data=alt.NamedData(BITS),
            height=number_hole("height", LINE),
        )
        .configure_view(stroke=None)
        .configure_axis(grid=False)
    )


def _clicks(name: str, field: str, is_nearest: bool = False) -> alt.Parameter:
    return alt.selection_point(
        name=name, on="click", toggle="true", clear=False, empty=False, fields=[field], nearest=is_nearest
    )


NUMBER_LINE = "line"
AXIS, HAND, NUMBER, MARGIN = 104, 44, 14, 0.09
# Positions of the number in a gap between neighbors, and on the whole line, at most.
STOPS, MOST_STOPS = 10, 160
CHARACTER, NARROWEST, DIGITS = 7.4, 358, 9


def neighbors(format_: Format, code: int) -> list[int]:
    """The code and as many neighbors as their labels leave room for."""
    for reach in (3, 2, 1):
        codes = around(format_, code, reach)
        values = [float(format_.decode(one)) for one in codes]
        if len(values) < 2:
            break
        closest = min(b - a for a, b in pairwise(values)) / (values[-1] - values[0])
        longest = max(len(number(value, DIGITS)) for value in values) * CHARACTER
        if closest * NARROWEST * (1 - 2 * MARGIN) > longest + 8:
            break
    return codes


def line_rows(
    format_: Format,
    code: int,
    interval: Interval | None,
    typed: float | None = None,
    outcomes: tuple[Outcome, ...] = (),
    center: int | None = None,
) -> dict[str, list[object]]:
    """The number line by column, for a code that is not NaN; `x` is a place from 0 to 1.

    `typed` is the number before rounding, `center` the code in the middle. Two `outcomes` have probabilities.
    """
    exact = float(format_.decode(code))
    middle = code if center is None else center
    codes = neighbors(format_, middle if math.isfinite(exact) else int(format_.encode(exact)))
    values = [float(format_.decode(one)) for one in codes]
    low, high = values[0], values[-1]
    if step(format_, codes[-1], up=True) is None:
        high += format_.gap_beyond
    if step(format_, codes[0], up=False) is None and low < 0:
        low -= format_.gap_beyond

    def at(x: float) -> float:
        return min(max((x - low) / (high - low), -MARGIN), 1 + MARGIN)

    def is_inside(x: float) -> bool:
        return -MARGIN < at(x) < 1 + MARGIN

    rows: list[Row] = [
        {"kind": "value", "x": at(value), "text": number(value, DIGITS)}
        | {"code": hexadecimal(one, format_), "on": int(one == code)}
        for one, value in zip(codes, values, strict=True)
    ]
    for outcome in outcomes if len(outcomes) > 1 else ():
        if math.isfinite(value := float(format_.decode(outcome.code))):
            chance = f"{outcome.probability:.3g}".rstrip("0").rstrip(".")
            rows.append({"kind": "chance", "x": at(value), "text": f"p = {chance}"})
    if interval is not None:
        rows.append({"kind": "interval", "x": at(interval.low), "x2": at(interval.high)})
        for end, is_closed, brackets, beyond in (
            (interval.low, interval.low_closed, "([", "◀"),
            (interval.high, interval.high_closed, ")]", "▶"),
        ):
            if is_inside(end):
                bracket = brackets[is_closed]
                rows.append({"kind": "end", "x": at(end), "words": bracket, "text": number(end, 17)})
            else:
                rows.append({"kind": "arrow", "x": at(end), "text": beyond})
    if typed is not None and not math.isnan(typed):
        beyond = "" if is_inside(typed) else (" →" if typed > high else " ←")
        rows.append({"kind": "number", "x": at(typed), "text": f"{number(typed)}{beyond}"})
    rows += [
        {"kind": "stop", "x": at(stop), "at": stop, "words": number(stop)}
        for stop in stops(low, high, values, typed)
    ]
    return {name: [row.get(name) for row in rows] for name in LINE_FIELDS}


def stops(low: float, high: float, values: Sequence[float], typed: float | None) -> list[float]:
    """Stops of the handle from `low` to `high`: round numbers, the neighbors, and `typed`."""
    closest = min((b - a for a, b in pairwise(values)), default=high - low)
    least = max(closest / STOPS, (high - low) / MOST_STOPS)
    if not (0 < least < math.inf and math.isfinite(high) and math.isfinite(low)):
        return list(values)
    power = math.floor(math.log10(least))
    digit = next((one for one in (1, 2, 5) if one * 10.0**power >= least), 10)
    unit = digit * 10.0**power
    round_ones = (
        float(f"{digit * at}e{power}") for at in range(math.ceil(low / unit), math.floor(high / unit) + 1)
    )
    own = [] if typed is None or not low <= typed <= high else [typed]
    return sorted({*round_ones, *values, *own})


LINE_FIELDS = ("kind", "x", "x2", "text", "code", "on", "at", "words")


@template
def line(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(domain=[-MARGIN - 0.005, 1 + MARGIN + 0.005], nice=False, zero=False)
    base = alt.Chart().encode(x=alt.X("x:Q", scale=scale, axis=None))

    def only(kind: str) -> alt.Chart:
        return base.transform_filter(f"datum.kind == '{kind}'")

    values, ends, typed = only("value"), only("end"), only("number")
    is_on = alt.when("datum.on == 1")
    text = {"baseline": "middle", "align": "center"}
    bold = {"fontWeight": "bold", "color": ink.text, **text}
    color = is_on.then(alt.value(ink.text)).otherwise(alt.value(ink.soft))
    stretch = only("interval").mark_rule(y=AXIS, strokeWidth=24, strokeCap="round", color=ink.win)
    axis = alt.Chart(alt.Data(values=[{}])).mark_rule(y=AXIS, color=ink.line, strokeWidth=1.75)
    brackets = ends.mark_text(y=AXIS, size=26, fontWeight="bold", color=ink.scale, aria=False, **text)
    triangle = typed.mark_point(
        y=AXIS - 14, shape="triangle-down", filled=True, size=80, color=ink.text, opacity=1
    )
    way = typed.mark_rule(y=HAND + 12, y2=AXIS - 18, color=ink.gold, strokeWidth=2, strokeDash=[2, 4])
    clicks = values.mark_rule(y=AXIS - 22, y2=AXIS + 58, opacity=0, strokeWidth=44, cursor="pointer").encode(
        tooltip=alt.Tooltip("text:N", title="take")
    )
    return (
        alt.layer(
            stretch.encode(x2="x2:Q"),
            axis.encode(x=alt.value(0), x2=alt.value(alt.ExprRef("width"))),
            only("arrow").mark_text(y=AXIS, size=15, color=ink.scale, **text).encode(text="text:N"),
            brackets.encode(text="words:N", tooltip=alt.Tooltip("text:N", title="the interval ends at")),
            values.mark_rule(y=AXIS - 14, y2=AXIS + 14).encode(
                strokeWidth=is_on.then(alt.value(4)).otherwise(alt.value(1.8)),
                color=is_on.then(alt.value(ink.text)).otherwise(alt.value(ink.dot)),
            ),
            values.mark_text(y=AXIS + 30, size=14, **text).encode(text="text:N", color=color),
            values.mark_text(y=AXIS + 48, size=12, font=MONOSPACE, **text).encode(text="code:N", color=color),
            only("chance").mark_text(y=AXIS + 63, size=13, **bold).encode(text="text:N"),
            typed.mark_text(y=NUMBER, size=17, **bold).encode(text="text:N"),
            way,
            triangle.encode(tooltip=alt.Tooltip("text:N", title="the number")),
            clicks.add_params(_clicks(TAKE, "code")),
            rail(only("stop"), alt.X("x:Q", scale=scale, axis=None), alt.YValue(HAND)),
            data=alt.NamedData(NUMBER_LINE),
            height=172,
        )
        .configure_view(stroke=None)
        .configure_axis(grid=False)
    )


TICKS, LESS = "ticks", "less"
TOP, BOTTOM = 24, 66


def _sizes(format_: Format, sign: int) -> set[float]:
    return {sign * value for value in format_.values.tolist() if 0 < sign * value < math.inf}


@lru_cache(maxsize=64)
def _ticks(format_: Format, sign: int) -> bytes:
    sizes = sorted(_sizes(format_, sign))
    values = sign * np.array(sizes)
    codes = [hexadecimal(code, format_) for code in format_.encode(values).tolist()]
    texts = list(map(number, values.tolist()))
    return arrow({"log2": list(map(math.log2, sizes)), "text": texts, "code": codes})


def strip_chart(format_: Format, code: int, ink: Ink, sign: int = 1) -> Filled:
    """All numbers of one sign on a logarithmic axis; the neighbors of `code` are thick."""
    low, high = math.log2(format_.min_subnormal), math.log2(format_.max)
    edge = max((high - low) * 0.02, 0.1)
    values = [sign * float(format_.decode(one)) for one in neighbors(format_, code)]
    logs = [math.log2(value) for value in values if 0 < value < math.inf]
    is_above = (
        f"{min(logs) - edge / 9} < datum.log2 && datum.log2 < {max(logs) + edge / 9}" if logs else "false"
    )
    normal = math.log2(format_.min_normal) if isinstance(format_, FloatFormat) else low
    return _strip(ink).filled(
        {TICKS: _ticks(format_, sign), LESS: {"x0": [low], "x1": [max(normal, low)]}},
        is_above=is_above,
        across=[low - edge, high + edge],
        title=f"All {len(_sizes(format_, sign))} {'positive' if sign > 0 else 'negative'} numbers of "
        + format_.name
        + ", by size" * (sign < 0),
        less="fewer bits" if normal - low > 0.1 * (high - low) else "",
    )


@template
def _strip(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(domain=several("across", [0.0, 1.0]), nice=False, zero=False)
    axis = alt.Axis(
        labelExpr=power_labels("datum.value"), tickMinStep=1, tickCount=9, grid=False, domain=False
    )
    ticks, less = (alt.Chart(alt.NamedData(name)) for name in (TICKS, LESS))
    between = {"y": alt.value(TOP), "y2": alt.value(BOTTOM)}
    span = {"x": alt.X("x0:Q", scale=scale), "x2": "x1:Q"}
    bits = less.mark_text(
        align="left", baseline="bottom", fontSize=13, color=ink.soft, text=text_hole("less", "fewer bits")
    )
    title = alt.Chart(alt.Data(values=[{}])).mark_text(
        align="right", baseline="bottom", fontSize=14, color=ink.text, text=text_hole("title", "numbers")
    )
    at = alt.X("log2:Q", scale=scale, axis=axis, title=None)
    thick = alt.ExprRef(f"width < {NARROW} ? 1.8 : 3")
    clicks = ticks.mark_rule(opacity=0).encode(x=at, tooltip=alt.Tooltip("text:N", title="take"), **between)
    return alt.layer(
        less.mark_rect(color=ink.sub).encode(**span, **between),
        ticks.mark_rule(color=ink.dot, strokeWidth=1.3).encode(x=at, **between),
        ticks.transform_filter(text_hole("is_above", "false"))
        .mark_rule(color=ink.text, strokeWidth=thick)
        .encode(x=at, y=alt.value(TOP - 5), y2=alt.value(BOTTOM + 5)),
        bits.encode(x=alt.X("x0:Q", scale=scale), y=alt.value(TOP - 7)),
        title.encode(x=alt.value(alt.ExprRef("width")), y=alt.value(TOP - 7)),
        clicks.add_params(_clicks(TAKE, "code", is_nearest=True)),  # ticks are too narrow for a finger
        height=118,
    ).configure_view(stroke=None)


PICK, CODES, CURRENT = "pick", "codes", "current"
# The most bits of a format with a table.
LARGEST = 8
ROW_HEIGHT, AXIS_HEIGHT, LEAST_WIDTH = 22, 86, 42


def columns_of(bits: int) -> int:
    return 1 << min(4, bits)


def cell(bits: int, code: int) -> Row:
    return {"code": code, "row": code // columns_of(bits), "column": code % columns_of(bits)}


def table_rows(format_: Format) -> list[Row]:
    log2s = [
        math.log2(abs(value)) if math.isfinite(value) and value else None for value in format_.values.tolist()
    ]
    numbers = [log2 for log2 in log2s if log2 is not None]
    middle = (min(numbers) + max(numbers)) / 2
    rows = []
    for code, (value, log2) in enumerate(zip(format_.values.tolist(), log2s, strict=True)):
        kind = kind_of(format_, code, value)
        is_plain = kind in (Kind.NAN, Kind.INFINITY, Kind.ZERO)
        rows.append(
            {
                **cell(format_.bits, code),
                "text": glance(value),
                "log2": log2,
                "low": log2 is not None and log2 < middle,
                "what": number(value) if is_plain else f"{number(value)}, {kind.value}",
                "bits": f"{hexadecimal(code, format_)} = {code:0{format_.bits}b}",
            }
        )
    return rows


@lru_cache(maxsize=64)
def _codes(format_: Format) -> bytes:
    return arrow(by_column(table_rows(format_)))


def code_table(format_: Format, current: int, ink: Ink) -> Filled:
    """All codes, colored by magnitude: a row for the upper bits, a column for the lower four."""
    columns = columns_of(format_.bits)
    rows = (1 << format_.bits) // columns
    return _table(ink).filled(
        {CODES: _codes(format_), CURRENT: by_column([cell(format_.bits, current)])},
        columns=list(range(columns)),
        rows=list(range(rows)),
        upper_bits="upper bits" if rows > 1 else None,
        has_words=f"width / {columns} < {LEAST_WIDTH} ? 0 : 1",
        height=rows * ROW_HEIGHT + AXIS_HEIGHT,
    )


@template
def _table(ink: Ink) -> alt.LayerChart:
    low_digit = "format(datum.value, 'x')"
    across = alt.X(
        "column:O",
        title="lower four bits",
        axis=alt.Axis(orient="top", labelAngle=0, labelExpr=f"'_' + {low_digit}", ticks=False, domain=False),
        scale=alt.Scale(domain=several("columns", [0.0]), paddingInner=0.04, paddingOuter=0),
    )
    down = alt.Y(
        "row:O",
        title=text_hole("upper_bits", "upper bits"),
        axis=alt.Axis(labelExpr=f"{low_digit} + '_'", ticks=False, domain=False, labelOverlap=False),
        scale=alt.Scale(domain=several("rows", [0.0]), paddingInner=0.06, paddingOuter=0),
    )
    values = alt.Chart(alt.NamedData(CODES)).encode(x=across, y=down)
    is_special = alt.when("!isValid(datum.log2)")
    fill = alt.Fill("log2:Q", scale=alt.Scale(range=list(ink.ramp)), legend=None)
    color = is_special.then(alt.value(ink.text)).when("datum.low").then(alt.value(ink.text))
    words = values.mark_text(size=12, opacity=alt.ExprRef(text_hole("has_words", "1")))
    current = alt.Chart(alt.NamedData(CURRENT)).encode(x=across, y=down)
    return (
        alt.layer(
            values.mark_rect(invalid=None).encode(fill=is_special.then(alt.value(ink.panel)).otherwise(fill)),
            words.encode(text="text:N", color=color.otherwise(alt.value(ink.page))),
            current.mark_rect(fill=None, stroke=ink.text, strokeWidth=3.5),
            values.mark_rect(opacity=0, cursor="pointer")
            .encode(tooltip=tips(("what:N", "value"), ("bits:N", "code")))
            .add_params(_clicks(PICK, "code")),
            height=number_hole("height", 16 * ROW_HEIGHT + AXIS_HEIGHT),
        )
        .configure_view(stroke=None)
        .configure_axis(labelColor=ink.soft, titleColor=ink.soft, titleFontWeight="normal", grid=False)
    )
