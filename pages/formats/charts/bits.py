"""The bits of a code as squares: filled is 1. The selection `flip` keeps a click on one.

More than `ROW` bits take several lines, so that a telephone has room for them.
"""

import math
from itertools import groupby

import altair as alt

from fp8core.formats import Format
from fp8core.formats.float_format import FloatFormat
from fp8core.formats.spelling import Kind, Spelling
from pages.formats.charts.words import MONOSPACE, ROLES
from pages.formats.charts.words import number as number_text
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template
from pages.kit.charts.words import power_of_two

FLIP, DATA = "flip", "bits"
ROW = 16
"""Bits in a line, at most."""
TALL, LINE = 64, 124
"""Pixels of a bit, and of a line with the words below it."""
_UNDER, _NAME, _VALUE = 8, 24, 46
"""Pixels below a bit: the line under its field, the field's name, and the field's value."""
Rows = dict[str, list[object]]


def per_line(bits: int) -> int:
    """The bits in a line: as many in each as there can be."""
    return math.ceil(bits / math.ceil(bits / ROW))


def bit_rows(format_: Format, spelling: Spelling) -> Rows:
    """The chart's data by column: a row a bit, then a row for each part of a field in a line."""
    bits, wide = len(spelling.bits), per_line(len(spelling.bits))
    gap = 0.06
    rows: list[dict[str, object]] = [
        {
            "kind": "bit",
            "bit": bits - 1 - at,
            "x0": at % wide + gap,
            "x1": at % wide + 1 - gap,
            "y": at // wide * LINE,
            "text": digit,
            "role": letter,
            "on": 1 if digit == "1" else 0,
            "what": f"{ROLES[letter]}, bit {bits - 1 - at}: a click makes it {'10'[int(digit)]}",
        }
        for at, (digit, letter) in enumerate(zip(spelling.bits, spelling.layout, strict=True))
    ]
    named = set()
    for line in range(0, bits, wide):
        start = line
        for letter, run in groupby(spelling.layout[line : line + wide]):
            stop = start + len(list(run))
            field = "".join(
                bit for bit, its in zip(spelling.bits, spelling.layout, strict=True) if its == letter
            )
            rows.append(
                {
                    "kind": "field",
                    "bit": -1,
                    "x0": start - line + gap,
                    "x1": stop - line - gap,
                    "y": line // wide * LINE,
                    "text": ROLES[letter],
                    "role": letter,
                    "on": 1,
                    "what": "" if letter in named else _meaning(format_, spelling, letter, field),
                }
            )
            named.add(letter)
            start = stop
    return {name: [row[name] for row in rows] for name in rows[0]}


def _meaning(format_: Format, spelling: Spelling, letter: str, bits: str) -> str:
    """A field as its part of the number; as bits where a dot field decides how to read them."""
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
        return number_text(int(whole + fraction, 2) / 2.0 ** len(fraction))
    if isinstance(format_, FloatFormat) and format_.bias > 0:
        return power_of_two(spelling.exponent + format_.bias) + power_of_two(-format_.bias)[1:]
    return power_of_two(spelling.exponent)


def bits_chart(format_: Format, spelling: Spelling, ink: Ink) -> Filled:
    """The picture of a code."""
    bits = len(spelling.bits)
    lines = math.ceil(bits / per_line(bits))
    return _chart(ink).filled(
        {DATA: bit_rows(format_, spelling)}, across=[0, per_line(bits)], height=lines * LINE
    )


def _places() -> alt.Chart:
    """The rows with their places, in pixels down and bits across."""
    return alt.Chart().transform_calculate(
        y0="datum.y + 2",
        y1=f"datum.y + {TALL}",
        middle=f"datum.y + {TALL / 2 + 2}",
        under=f"datum.y + {TALL + _UNDER}",
        name=f"datum.y + {TALL + _NAME}",
        value=f"datum.y + {TALL + _VALUE}",
        xm="(datum.x0 + datum.x1) / 2",
    )


@template
def _chart(ink: Ink) -> alt.LayerChart:
    across = alt.Scale(domain=several("across", [0.0, 8.0]), nice=False, zero=False)
    color = alt.Scale(domain=list(ROLES), range=[ink.of_bit(letter) for letter in ROLES])
    role = {"scale": color, "legend": None}
    base = _places()
    cells, fields = (base.transform_filter(f"datum.kind == '{kind}'") for kind in ("bit", "field"))
    sides = {"x": alt.X("x0:Q", scale=across, axis=None), "x2": "x1:Q"}
    middle = {"x": alt.X("xm:Q", scale=across, axis=None)}
    words = {"baseline": "middle", "aria": False}
    is_on = alt.when("datum.on == 1")

    def down(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=None, axis=None)

    size = {
        wide: alt.ExprRef(f"min({most}, containerSize()[0] / 16)")
        for wide, most in (("digit", 30), ("value", 20))
    }
    return (
        alt.layer(
            cells.mark_rect(cornerRadius=6, strokeWidth=2, aria=False).encode(
                **sides,
                y=down("y0"),
                y2="y1:Q",
                fill=is_on.then(alt.Fill("role:N", **role)).otherwise(alt.value(ink.page)),
                stroke=alt.Stroke("role:N", **role),
            ),
            cells.mark_text(size=size["digit"], font=MONOSPACE, fontWeight="bold", **words).encode(
                **middle,
                y=down("middle"),
                text="text:N",
                color=is_on.then(alt.value(ink.page)).otherwise(alt.Color("role:N", **role)),
            ),
            cells.mark_rect(opacity=0, cursor="pointer")
            .encode(**sides, y=down("y0"), y2="y1:Q", tooltip=alt.Tooltip("what:N"))
            .add_params(
                alt.selection_point(
                    name=FLIP, on="click", toggle="true", clear=False, empty=False, fields=["bit"]
                )
            ),
            fields.mark_rule(strokeWidth=2.5, aria=False).encode(
                **sides, y=down("under"), color=alt.Color("role:N", **role)
            ),
            fields.mark_text(size=14, **words).encode(
                **middle, y=down("name"), text="text:N", color=alt.value(ink.soft)
            ),
            fields.mark_text(size=size["value"], fontWeight="bold", **words).encode(
                **middle, y=down("value"), text="what:N", color=alt.Color("role:N", **role)
            ),
            data=alt.NamedData(DATA),
            height=number("height", LINE),
        )
        .configure_view(stroke=None)
        .configure_axis(grid=False)
    )
