"""The bits of a code as cells in the color of their role. The selection `flip` keeps a click on one."""

from itertools import groupby

import altair as alt

from fp8core.formats.spelling import Spelling
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import SMALLEST
from pages.kit.charts.template import Filled, number, several, template
from pages.sections.formats.charts.words import MONOSPACE, ROLES

FLIP, DATA = "flip", "bits"
HEIGHT = 110
_WIDEST, BITS_WIDTH = 56, 448
_TOP, _BOTTOM = 4, 52
Rows = dict[str, list[object]]


def cell_width(bits: int) -> float:
    """The width of one bit in pixels."""
    return min(_WIDEST, BITS_WIDTH / bits)


def bit_rows(spelling: Spelling) -> Rows:
    """The chart's data by column: a row a bit, then a row a field."""
    bits, wide = len(spelling.bits), cell_width(len(spelling.bits))
    rows: list[dict[str, object]] = [
        {
            "kind": "bit",
            "bit": bits - 1 - place,
            "x0": place * wide + 1,
            "x1": (place + 1) * wide - 1,
            "xm": (place + 0.5) * wide,
            "text": digit,
            "role": letter,
            "on": 1 if digit == "1" else 0,
            "what": f"{ROLES[letter]}, bit {bits - 1 - place}: a click makes it {'10'[int(digit)]}",
        }
        for place, (digit, letter) in enumerate(zip(spelling.bits, spelling.layout, strict=True))
    ]
    start = 0
    for letter, run in groupby(spelling.layout):
        stop = start + len(list(run))
        rows.append(
            {
                "kind": "field",
                "bit": -1,
                "x0": start * wide + 2,
                "x1": stop * wide - 2,
                "xm": (start + stop) / 2 * wide,
                "text": ROLES[letter],
                "role": letter,
                "on": 1,
                "what": _meaning(spelling, letter, spelling.bits[start:stop]),
            }
        )
        start = stop
    return {name: [row[name] for row in rows] for name in rows[0]}


def _meaning(spelling: Spelling, letter: str, bits: str) -> str:
    """A field as a number; as bits where a dot field decides how to read them."""
    if letter == "S":
        return "−" if spelling.negative or bits == "1" else "+"
    if letter == "I":
        return ("−" if spelling.negative else "") + spelling.significand
    return bits if "D" in spelling.layout else str(int(bits, 2))


def bits_chart(spelling: Spelling, ink: Ink) -> Filled:
    """The picture of a code."""
    bits = len(spelling.bits)
    wide = cell_width(bits)
    return _chart(ink).filled(
        {DATA: bit_rows(spelling)}, across=[0, bits * wide], digit=min(20, wide * 0.85), width=bits * wide
    )


@template
def _chart(ink: Ink) -> alt.LayerChart:
    across = alt.Scale(domain=several("across", [0.0, BITS_WIDTH]), nice=False, zero=False)
    color = alt.Scale(domain=list(ROLES), range=[ink.of_bit(letter) for letter in ROLES])
    cells = alt.Chart().transform_filter("datum.kind == 'bit'")
    fields = alt.Chart().transform_filter("datum.kind == 'field'")
    sides = {"x": alt.X("x0:Q", scale=across, axis=None), "x2": "x1:Q"}
    middle = {"x": alt.X("xm:Q", scale=across, axis=None)}
    role = {"scale": color, "legend": None}
    words = {"baseline": "middle", "aria": False}
    return (
        alt.layer(
            cells.mark_rect(y=_TOP, y2=_BOTTOM, cornerRadius=3, strokeWidth=1.5, aria=False).encode(
                **sides,
                fill=alt.Fill("role:N", **role),
                stroke=alt.Stroke("role:N", **role),
                fillOpacity=alt.FillOpacity(
                    "on:Q", scale=alt.Scale(domain=[0, 1], range=[0.12, 1]), legend=None
                ),
            ),
            cells.mark_text(
                y=24, size=number("digit", 20), font=MONOSPACE, fontWeight="bold", **words
            ).encode(
                **middle,
                text="text:N",
                color=alt.when("datum.on == 1").then(alt.value(ink.page)).otherwise(alt.value(ink.text)),
            ),
            cells.mark_text(y=43, size=SMALLEST, **words).encode(
                **middle,
                text="role:N",
                color=alt.when("datum.on == 1").then(alt.value(ink.page)).otherwise(alt.value(ink.soft)),
            ),
            cells.mark_rect(y=_TOP, y2=_BOTTOM, opacity=0, cursor="pointer")
            .encode(**sides, tooltip=alt.Tooltip("what:N"))
            .add_params(
                alt.selection_point(
                    name=FLIP, on="click", toggle="true", clear=False, empty=False, fields=["bit"]
                )
            ),
            fields.mark_rule(y=60, y2=60, strokeWidth=3, aria=False).encode(
                **sides, color=alt.Color("role:N", **role)
            ),
            *(
                fields.mark_text(y=y, size=size, fontWeight=weight, **words).encode(
                    **middle, text=f"{column}:N", color=alt.Color("role:N", **role)
                )
                for column, y, size, weight in (("text", 74, 11, "normal"), ("what", 92, 13, "bold"))
            ),
            data=alt.NamedData(DATA),
            width=number("width", BITS_WIDTH),
            height=HEIGHT,
        )
        .configure_view(stroke=None)
        .configure_axis(grid=False)
    )
