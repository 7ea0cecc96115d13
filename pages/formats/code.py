"""Section "One code": the bits, the number line around the value, and the table of all codes."""

import math
import re
import unicodedata
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from fp8core.formats import FORMATS, Format
from fp8core.formats.binades import finest_bits
from fp8core.formats.float_format import FloatFormat
from fp8core.formats.number_line import Interval, Outcome, interval, outcomes, step
from fp8core.formats.spelling import Kind, spell
from fp8core.rounding import Overflow, Rounding
from pages.formats.charts import code as charts
from pages.formats.charts.words import ROLES, hexadecimal, number, power_or_number
from pages.formats.controls import OPTIONS, OWN, TITLES, draw_own, format_of, sentence
from pages.kit.chart_slider import Hand
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import code_text, percent_text
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.look.presenter import projected
from pages.kit.view import Clicks, draw_chart, draw_notice, here, page_ink, stage
from pages.kit.widgets import Place, Select, Settings, Text

FORMAT = Select(
    key="code_format",
    label="Format",
    options=OPTIONS,
    default="e4m3",
    help="How the bits are read. ExMy has x exponent bits and y mantissa bits; one more bit is the sign. "
    "P3109's p counts the mantissa's bits and the implied one; s: signed, e: with infinities, f: finite. "
    "E8M0 has no sign: it is the scale of a block. E8M13 is what Hopper's FP8 sums keep.",
)
_CENTER = "_formats_center"
NUMBER = Text(
    key="number",
    label="A number, or a code in hex",
    default="0.3",
    longest=40,
    placeholder="0.3",
    help="A number such as 0.3, -1e-3, 1/3, 2^-9, inf or nan is rounded to a code. "
    "0x2a or 0b101010 is the code itself.",
)
ROUNDING = Select(
    key="rounding",
    label="Rounding",
    options={
        "nearest_even": "nearest, ties to even",
        "nearest_away": "nearest, ties away",
        "toward_zero": "toward zero",
        "stochastic": "stochastic",
    },
    help="IEEE 754 and the FP8 casts of GPUs round to nearest, ties to even.",
)
OVERFLOW = Select(
    key="overflow",
    label="Too large becomes",
    options={"saturate": "the largest value", "inf": "infinity", "nan": "NaN"},
    help="A format offers only the results that it has a code for.",
)
CONTROLS = (FORMAT, NUMBER, ROUNDING, OVERFLOW)

_ASCII = {**dict.fromkeys(map(ord, "−‐‑–"), "-"), ord("∞"): "inf"}
_CODE = re.compile(r"0x([0-9a-f]{1,8})|0b([01]{1,32})", re.ASCII | re.IGNORECASE)
_POWER = re.compile(r"([+-]?)2\^([+-]?[0-9]{1,4})", re.ASCII)
_FRACTION = re.compile(r"([+-]?[0-9]{1,15})/([0-9]{1,15})", re.ASCII)
_DECIMAL = re.compile(
    r"[+-]?(([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})(e[+-]?[0-9]{1,4})?|inf|infinity|nan)",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True)
class CodeText:
    code: int


def read_number(text: str) -> float | CodeText:
    """The number, or the code, that a text writes. Raises ValueError with what came and what is needed."""
    # Without spaces of any width and invisible characters.
    visible = "".join(c for c in text if not (c.isspace() or unicodedata.category(c) == "Cf"))
    visible = visible.translate(_ASCII)
    if match := _CODE.fullmatch(visible):
        return CodeText(int(match[1], 16) if match[1] else int(match[2], 2))
    if match := _POWER.fullmatch(visible):
        exponent = int(match[2])
        size = math.ldexp(1.0, exponent) if exponent < 1024 else math.inf
        return -size if match[1] == "-" else size
    if (match := _FRACTION.fullmatch(visible)) and int(match[2]):
        return int(match[1]) / int(match[2])
    if _DECIMAL.fullmatch(visible):
        return float(visible)
    came = f"“{text.strip()}”" if text.strip() else "nothing"
    raise ValueError(
        f"Got {came}; needed is a number, such as 0.3, -1e-3, 1/3, 2^-9, inf or nan, or a code, such as 0x2a."
    )


@dataclass(frozen=True, kw_only=True)
class Current:
    """The code on the page; `typed` is the number in the text field, if it has one."""

    format: Format
    code: int
    rounding: Rounding
    overflow: Overflow
    typed: float | None = None
    outcomes: tuple[Outcome, ...] = ()

    @property
    def value(self) -> float:
        return float(self.format.decode(self.code))


def show(controls: Controls) -> None:
    view, ink = here(), page_ink()
    name = controls.draw(FORMAT, view.control)
    # The picture of the next section replaces the inner container with all that is in it.
    picture = stage().container().container(key="formats_code", gap="small" if projected() else "large")
    bits, words = picture.columns([63, 37], gap="medium", vertical_alignment="center")
    controls.draw(NUMBER)
    with words:
        format_ = format_or_default(controls, name)
    rounding = Rounding[controls.draw(ROUNDING).upper()]
    options = {(key := policy.name.lower()): OVERFLOW.options[key] for policy in format_.overflows}
    overflow = Overflow[controls.draw(OVERFLOW, options=options).upper()]
    if name == OWN:
        draw_own(controls)
    with words:
        current = current_code(controls, format_, rounding, overflow)
    draw_notice(notice(format_, current.code, current.typed, current.outcomes))
    words.html(_becomes(current, ink))
    _bits(controls, current, bits)
    center, sign = _center(current), -1 if current.value < 0 else 1
    _line(controls, current, center, picture)
    if format_.bits <= charts.LARGEST and not projected():
        draw_chart(
            charts.strip_chart(format_, center, ink, sign),
            place=picture,
            key="formats_strip",
            clicks=Clicks(charts.TAKE, lambda mark: _take(controls, format_, mark["code"])),
            alt=f"All {'positive' if sign > 0 else 'negative'} numbers of {format_.name} on a logarithmic "
            "axis, those above thick. A click on one takes it.",
        )
    _table(controls, current)
    around = interval(format_, current.code, rounding, overflow)
    view.know.markdown(
        f"{reals(around, rounding)} On the number line they are the blue bar. A square bracket's end belongs "
        "to it, a round one's does not."
    )
    view.know.markdown(facts(format_))


def _becomes(current: Current, ink: Ink) -> str:
    off, is_one = "", math.isfinite(current.value) and len(current.outcomes) < 2
    if current.typed and math.isfinite(current.typed) and is_one:
        ratio = current.value / current.typed - 1
        side = "large" if ratio > 0 else "small"
        words = f"{percent_text(abs(ratio))} too {side}" if current.value else "vanishes"
        off = f'<span style="color:{ink.lost};font-weight:650">{words}</span>' if ratio else ""
    code, typed = hexadecimal(current.code, current.format), current.typed
    name = f"Code {code} is" if typed is None else f"{number(typed)} becomes"
    return (
        f'<div style="font-size:16px;color:{ink.soft}">{name}</div>'
        '<div style="display:flex;flex-wrap:wrap;gap:0 12px;align-items:baseline">'
        '<span style="font-size:38px;line-height:46px;font-weight:650;'
        f'color:{ink.text}">{number(current.value)}</span>{off}</div>'
    )


def format_or_default(controls: Controls, name: str) -> Format:
    """The chosen format; with an error on the page, the default for an impossible one."""
    try:
        return format_of(name, controls.values())
    except ValueError as error:
        st.error(f"{plain(sentence(error))} Shown instead: {TITLES[FORMAT.default]}.")
        return FORMATS[FORMAT.default]


def current_code(controls: Controls, format_: Format, rounding: Rounding, overflow: Overflow) -> Current:
    """The code for the text of NUMBER; with a warning on the page, code 0 for a bad text."""
    current = Current(format=format_, code=0, rounding=rounding, overflow=overflow)
    try:
        typed = read_number(controls.value(NUMBER))
        if isinstance(typed, CodeText):
            if typed.code >> format_.bits:
                top = hexadecimal((1 << format_.bits) - 1, format_)
                raise ValueError(f"codes of {format_.name} run from 0 to {top}, got {typed.code:#x}")
            return replace(current, code=typed.code)
        if rounding is not Rounding.STOCHASTIC:
            return replace(current, code=int(format_.encode(typed, rounding, overflow)), typed=typed)
        both = outcomes(format_, typed, overflow)
        likelier = max(both, key=lambda outcome: outcome.probability)
        return replace(current, code=likelier.code, typed=typed, outcomes=both)
    except ValueError as error:
        st.warning(f"{plain(sentence(error))} Shown is code 0.")
        return current


def _bits(controls: Controls, current: Current, place: Place) -> None:
    spelling = spell(current.format, current.code)
    draw_chart(
        charts.bits_chart(current.format, spelling, page_ink()),
        place=place,
        key=f"formats_bits_{current.format.bits}",
        clicks=Clicks(
            charts.FLIP, lambda mark: _show_code(controls, current, current.code ^ 1 << int(mark["bit"]))
        ),
        alt=f"The bits {spelling.bits} of {current.format.name}, whose roles are {spelling.layout}: "
        + ", ".join(f"{letter} {ROLES[letter]}" for letter in dict.fromkeys(spelling.layout))
        + ". A click on a bit flips it.",
    )


def _show_code(controls: Controls, current: Current, code: int) -> None:
    controls.preset(**{NUMBER.key: code_text(code, current.format.bits)})


def _center(current: Current) -> int:
    """The code in the middle of the line. It stays until the current one comes to an end."""
    format_, (of_format, center) = current.format, st.session_state.get(_CENTER, (None, 0))
    if of_format != format_ or not _is_inside(current, center):
        center = current.code
        st.session_state[_CENTER] = format_, center
    return center


def _is_inside(current: Current, center: int) -> bool:
    format_, code, codes = current.format, current.code, charts.neighbors(current.format, center)
    return code in codes[1:-1] or (code in codes and step(format_, code, up=code == codes[-1]) is None)


def _line(controls: Controls, current: Current, center: int, place: Place) -> None:
    if math.isnan(current.value):
        place.info("NaN has no place on the number line.")
        return
    format_, code = current.format, current.code
    around = interval(format_, code, current.rounding, current.overflow)
    rows = charts.line_rows(format_, code, around, current.typed, current.outcomes, center)
    chart = place.container(key="slid_formats_line", gap=None)
    draw_chart(
        charts.line(page_ink()).filled({charts.NUMBER_LINE: rows}),
        place=chart,
        key="formats_line",
        clicks=Clicks(charts.TAKE, lambda mark: _take(controls, format_, mark["code"])),
        alt=f"The number line around {number(current.value)} with its neighbors in {format_.name}"
        + (f"; the number {number(current.typed)} is marked" if current.typed is not None else "")
        + ". A click on a neighbor takes it.",
    )
    at = current.value if current.typed is None else current.typed
    stops = [stop for stop in rows["at"] if stop is not None]
    with chart:
        Hand(label="The number").mount(
            "hand_formats_line",
            at=min(max(at, stops[0]), stops[-1]),  # a number beyond the line, such as infinity
            on_change=lambda at: controls.preset(**{NUMBER.key: repr(float(at))}),
        )


def _take(controls: Controls, format_: Format, code: str) -> None:
    controls.preset(**{NUMBER.key: repr(float(format_.decode(int(code, 16))))})


def _table(controls: Controls, current: Current) -> None:
    bits = current.format.bits
    if bits > charts.LARGEST:
        here().know.markdown(
            f"{1 << bits:,} codes are too many for a table. Formats of up to {charts.LARGEST} bits have one."
        )
        return
    st.header(f"All {1 << bits} codes")
    draw_chart(
        charts.code_table(current.format, current.code, page_ink()),
        place=st.container(),
        key=f"formats_table_{current.format.name}",
        clicks=Clicks(charts.PICK, lambda mark: _show_code(controls, current, int(mark["code"]))),
        alt=f"All codes of {current.format.name}; {hexadecimal(current.code, current.format)} is outlined.",
    )


def notice(format_: Format, code: int, typed: float | None, outcomes: tuple[Outcome, ...]) -> str:
    if typed is None:
        return f"**Code {hexadecimal(code, format_)} is {_words(format_, code)}.**"
    if len(outcomes) > 1:
        return _stochastic(format_, typed, outcomes)
    return _rounded(format_, typed, float(format_.decode(code)))


def _words(format_: Format, code: int) -> str:
    spelling, value = spell(format_, code), float(format_.decode(code))
    match spelling.kind:
        case Kind.NAN:
            return "NaN, not a number"
        case Kind.INFINITY | Kind.ZERO | Kind.NORMAL | Kind.INTEGER:
            return number(value)
        case Kind.MINUS_ZERO:
            return "−0, which equals 0"
        case Kind.SUBNORMAL:
            return f"{number(value)}, a subnormal: its leading bit is 0, so it has fewer significant bits"


def _rounded(format_: Format, typed: float, value: float) -> str:
    if math.isnan(typed):
        return "**NaN stays NaN.**"
    head, same = f"**{number(typed)} becomes {number(value)}**", typed == value
    if same and math.copysign(1.0, typed) != math.copysign(1.0, value):
        return f"{head}: {format_.name} has no minus zero."
    if same:
        return f"**{number(typed)} is a value of {format_.name}**, kept exactly."
    if typed < 0 and not format_.signed:
        return f"{head}: it is negative, and {format_.name} has no sign."
    if not format_.signed and typed < format_.min_subnormal:
        return f"{head}, the smallest value: {format_.name} has no zero."
    # Without a sign, the lowest value is the smallest one.
    low, high = float(format_.decode(format_.encode(-math.inf if format_.signed else 0.0))), format_.max
    if not low <= typed <= high:
        end = f"the largest value, {number(high)}" if typed > high else f"the lowest value, {number(low)}"
        return f"{head}: it lies beyond {end}."
    if value == 0:
        return f"{head}: too small for {format_.name}, it vanishes."
    off = abs(value) / abs(typed) - 1
    return f"{head}, {percent_text(abs(off))} too {'large' if off > 0 else 'small'}."


def probability(value: float) -> str:
    """Four digits, such as ``1 − 2e-11`` where they would be 1."""
    text = f"{value:.4g}"
    return f"1 − {1 - value:.2g}" if text == "1" and value < 1 else text


def _stochastic(format_: Format, typed: float, outcomes: tuple[Outcome, ...]) -> str:
    chances = {float(format_.decode(one.code)): one.probability for one in outcomes}
    words = " or ".join(f"{number(v)} with probability {probability(p)}" for v, p in chances.items())
    mean = sum(p * v for v, p in chances.items())
    tail = f": on average {number(mean, 6)}" if math.isfinite(mean) else ""
    return f"**{number(typed)} becomes {words}**{tail}."


def reals(interval: Interval | None, rounding: Rounding) -> str:
    if interval is None:
        return "No part of the number line rounds to this code."
    verb = "may become" if rounding is Rounding.STOCHASTIC else "becomes"
    low, high = number(interval.low, 17), number(interval.high, 17)
    if interval.low_closed == interval.high_closed:
        ends = "both ends included" if interval.low_closed else "both ends excluded"
    else:
        first, second = (low, high) if interval.low_closed else (high, low)
        ends = f"{first} included, {second} not"
    return f"Every real from {low} to {high} {verb} this code ({ends})."


def facts(format_: Format) -> str:
    name = f"**{format_.name}**"
    ends = f"largest {power_or_number(format_.max)}, smallest {power_or_number(format_.min_subnormal)}"
    if not isinstance(format_, FloatFormat):
        return f"{name}: {format_.bits} bits; {ends}. {format_.rule}"
    bits = f"{format_.exponent_bits} exponent + {format_.mantissa_bits} mantissa bits, bias {format_.bias}"
    normal = f"smallest normal {power_or_number(format_.min_normal)}"
    return (
        f"{name}: {'1 sign + ' * format_.signed}{bits}; {ends}, {normal}. Specials: {format_.specials.value}."
    )


def _format(settings: Settings) -> Format:
    return format_of(settings[FORMAT.key], settings)


def _number(settings: Settings) -> float:
    typed = read_number(settings[NUMBER.key])
    return float(_format(settings).decode(typed.code)) if isinstance(typed, CodeText) else typed


def _result(settings: Settings) -> float:
    format_ = _format(settings)
    rounding, overflow = Rounding[settings[ROUNDING.key].upper()], Overflow[settings[OVERFLOW.key].upper()]
    return float(format_.decode(format_.encode(_number(settings), rounding, overflow)))


def _number_count(settings: Settings) -> int:
    values = _format(settings).values
    return np.unique(values[np.isfinite(values)]).size


def _worst_error(settings: Settings) -> float:
    """The relative error half a step above a power of two: the largest of all normal numbers."""
    half_step = 2.0 ** -(finest_bits(_format(settings)) + 1)
    return half_step / (1 + half_step)


FACTS = {
    "number": _number,
    "rounded": _result,
    "rounded_ratio": lambda settings: _result(settings) / _number(settings),
    "number_count": _number_count,
    "worst_error": _worst_error,
    "largest": lambda settings: _format(settings).max,
    "smallest_normal": lambda settings: _format(settings).min_normal,
}
