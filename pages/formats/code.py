"""Section "One code": the bits, the number line around the value, and the table of all codes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fp8core.formats import FORMATS, Format
from fp8core.formats.binades import finest_bits
from fp8core.formats.float_format import FloatFormat
from fp8core.formats.number_line import Interval, Outcome, interval, outcomes, step
from fp8core.formats.spelling import Kind, spell
from fp8core.rounding import Overflow, Rounding
from pages.formats.charts.bits import FLIP, bits_chart
from pages.formats.charts.line import line_chart, line_rows, strip_chart
from pages.formats.charts.table import LARGEST, PICK, code_table
from pages.formats.charts.words import ROLES, hexadecimal, number, power_or_number
from pages.formats.controls import (
    OPTIONS,
    OWN,
    OWN_CONTROLS,
    TITLES,
    draw_own,
    format_of,
    own_fields,
    sentence,
)
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS, Ink
from pages.kit.charts.words import percent_text
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.look.presenter import projected
from pages.kit.notice import draw_notice
from pages.kit.number_text import CodeText, code_text, read
from pages.kit.shell import theme
from pages.kit.view import here, stage
from pages.kit.widgets import Choice, ChoiceStyle, Text, Toggle, reported, selected

FORMAT = Choice(
    key="code_format",
    label="Format",
    options=OPTIONS,
    default="e4m3",
    style=ChoiceStyle.SELECT,
    help="How the bits are read. ExMy has x exponent bits and y mantissa bits; one more bit is the sign. "
    "P3109's p counts the mantissa's bits and the implied one; s: signed, e: with infinities, f: finite. "
    "E8M0 has no sign: it is the scale of a block. E8M13 is what Hopper's FP8 sums keep.",
)
NUMBER = Text(
    key="number",
    label="A number, or a code in hex",
    default="0.3",
    longest=40,
    placeholder="0.3",
    help="A number such as 0.3, -1e-3, 1/3, 2^-9, inf or nan is rounded to a code. "
    "0x2a or 0b101010 is the code itself.",
)
ROUNDING = Choice(
    key="rounding",
    label="Rounding",
    options={
        "nearest_even": "nearest, ties to even",
        "nearest_away": "nearest, ties away",
        "toward_zero": "toward zero",
        "stochastic": "stochastic",
    },
    default="nearest_even",
    style=ChoiceStyle.SELECT,
    help=(
        "A number between two values becomes one of them: which one? IEEE 754 and the FP8 casts of GPUs use "
        "ties to even."
    ),
)
OVERFLOW = Choice(
    key="overflow",
    label="Too large becomes",
    options={"saturate": "the largest value", "inf": "infinity", "nan": "NaN"},
    default="saturate",
    style=ChoiceStyle.SELECT,
    help=(
        "The result for a number that rounds beyond the largest value. A format offers only the results "
        "that it has a code for."
    ),
)
NEAR = Toggle(
    key="near",
    label="Enlarge the codes around the chosen one",
    help="On a telephone the cells of all codes are too small for numbers.",
)
CONTROLS = (FORMAT, NUMBER, ROUNDING, OVERFLOW, NEAR)
_LONG = 17
"""Digits of the ends of an interval."""
_KEYBOARD = "_formats_bits_keyboard"


@dataclass(frozen=True, kw_only=True)
class Current:
    """The code on the page, and the number that was typed for it, if one was."""

    format: Format
    code: int
    rounding: Rounding
    overflow: Overflow
    typed: float | None = None
    outcomes: tuple[Outcome, ...] = ()

    @property
    def value(self) -> float:
        return float(self.format.decode(self.code))

    @property
    def interval(self) -> Interval | None:
        return interval(self.format, self.code, self.rounding, self.overflow)

    @property
    def notice(self) -> str:
        return notice(self.format, self.code, self.typed, self.outcomes)


def show(controls: Controls) -> None:
    """Draw the section for the format and the number that the controls hold."""
    view, ink = here(), INKS[theme()]
    name = controls.draw(FORMAT, view.control)
    # The picture of the next section replaces the inner container with all that is in it.
    picture = stage().container().container(key="formats_code", gap="small" if projected() else "large")
    bits, words = picture.columns([63, 37], gap="medium", vertical_alignment="center")
    controls.draw(NUMBER, words)
    with words:
        format_ = format_or_default(controls, name)
    rounding = rounding_of(controls.draw(ROUNDING))
    policy = controls.draw(OVERFLOW, options=policies(format_))
    if name == OWN:
        draw_own(controls)
    with words:
        current = current_code(controls, format_, rounding, overflow_of(policy))
    draw_notice(current.notice)
    words.html(_becomes(current, ink))
    _bits(controls, current, bits)
    _line(current, picture)
    if format_.bits <= LARGEST and not projected():
        draw_chart(
            strip_chart(format_, current.code, ink),
            place=picture,
            key="formats_strip",
            is_rigid=True,
            alt=f"All positive numbers of {format_.name} on a logarithmic axis, those above framed.",
        )
    _steps(controls, current)
    _table(controls, current)
    how = current.interval, rounding, overflow_of(policy)
    view.know.markdown(
        f"{reals(format_, current.code, *how)} On the number line they are the blue bar. A filled end "
        "belongs to it, an open one does not."
    )
    view.know.markdown(facts(format_))


def _becomes(current: Current, ink: Ink) -> str:
    """HTML of the value in large figures, and how far it is from the number that was typed."""
    off, is_one = "", math.isfinite(current.value) and len(current.outcomes) < 2
    if current.typed and math.isfinite(current.typed) and is_one:
        ratio = current.value / current.typed - 1
        side = "large" if ratio > 0 else "small"
        lost = f"{percent_text(abs(ratio))} too {side}" if current.value else "vanishes"
        off = f'<span style="color:{ink.lost};font-weight:650">{lost}</span>' if ratio else ""
    return (
        f'<div style="font-size:16px;color:{ink.soft}">becomes</div><div style="display:flex;flex-wrap:wrap;'
        f'gap:0 12px;align-items:baseline"><span style="font-size:38px;line-height:46px;font-weight:650;'
        f'color:{ink.text}">{number(current.value)}</span>{off}</div>'
    )


def format_or_default(controls: Controls, name: str) -> Format:
    """The format of the choice. Where the reader's own is impossible, says why and takes the default."""
    try:
        return format_of(name, own_fields(controls))
    except ValueError as refused:
        st.error(f"{plain(sentence(refused))} Shown instead: {TITLES[FORMAT.default]}.")
        return format_of(FORMAT.default, own_fields(controls))


def current_code(controls: Controls, format_: Format, rounding: Rounding, overflow: Overflow) -> Current:
    """The code for the text of NUMBER. Where the text has no meaning, says so and takes code 0."""
    how = {"format": format_, "rounding": rounding, "overflow": overflow}
    try:
        typed = read(controls.value(NUMBER))
        if isinstance(typed, CodeText):
            top = (1 << format_.bits) - 1
            if typed.code > top:
                st.warning(
                    f"Codes of {format_.name} run from 0 to {hexadecimal(top, format_)}, got "
                    f"{typed.code:#x}; shown is the last one."
                )
            return Current(code=min(typed.code, top), **how)
        if rounding is not Rounding.STOCHASTIC:
            return Current(code=int(format_.encode(typed, rounding, overflow)), typed=typed, **how)
        both = outcomes(format_, typed, overflow)
        likelier = max(both, key=lambda outcome: outcome.probability)
        return Current(code=likelier.code, typed=typed, outcomes=both, **how)
    except ValueError as refused:
        st.warning(f"{plain(sentence(refused))} Shown is code 0.")
        return Current(code=0, **how)


def _bits(controls: Controls, current: Current, container: DeltaGenerator) -> None:
    spelling = spell(current.format, current.code)
    _clickable(
        controls,
        current,
        container,
        bits_chart(current.format, spelling, INKS[theme()]),
        key=f"formats_bits_{current.format.bits}",
        selection=(FLIP, "bit"),
        alt=f"The bits {spelling.bits} of {current.format.name}, whose roles are {spelling.layout}: "
        + ", ".join(f"{letter} {ROLES[letter]}" for letter in dict.fromkeys(spelling.layout))
        + ". A click on a bit flips it.",
    )


def _clickable(
    controls: Controls,
    current: Current,
    container: DeltaGenerator,
    spec: dict[str, object],
    *,
    key: str,
    selection: tuple[str, str],
    alt: str,
) -> None:
    """A chart whose clicks change the code. A click adds to its selection or removes from it."""
    param, column = selection
    before = f"_{key}_before"

    def clicked() -> None:
        if (marks := selected(key, param)) is None:
            return
        now = _columns(marks, column)
        changed = now ^ st.session_state.get(before, set())
        st.session_state[before] = now
        if param == FLIP:
            _show_code(controls, current.format, current.code ^ sum(1 << bit for bit in changed))
        elif changed:
            _show_code(controls, current.format, changed.pop())

    event = draw_chart(
        spec, place=container, is_rigid=True, key=key, on_select=clicked, selection_mode=[param], alt=alt
    )
    st.session_state[before] = _columns(event.selection.get(param), column)


def _columns(marks: list[dict[str, int]] | None, column: str) -> set[int]:
    return {int(one[column]) for one in marks or []}


def _show_code(controls: Controls, format_: Format, code: int) -> None:
    controls.preset(**{NUMBER.key: code_text(code, format_.bits)})


def _set_bits(controls: Controls, format_: Format) -> None:
    if (ones := reported(_KEYBOARD)) is not None:
        _show_code(controls, format_, sum(1 << bit for bit in ones))


def _steps(controls: Controls, current: Current) -> None:
    """The neighbors in value, and the bits for the keyboard."""
    format_ = current.format
    row = here().more.container(horizontal=True, gap="small", vertical_alignment="bottom")
    for up, label in ((False, "Smaller"), (True, "Larger")):
        beside = step(format_, current.code, up)
        row.button(
            label,
            icon=":material/arrow_back:" if not up else ":material/arrow_forward:",
            key=f"formats_{label.lower()}",
            disabled=beside is None,
            help="The next larger value" if up else "The next smaller value",
            on_click=_show_code,
            args=(controls, format_, beside),
        )
    _keyboard(controls, current, row)


def _keyboard(controls: Controls, current: Current, container: DeltaGenerator) -> None:
    """The bits as buttons for the keyboard, which cannot reach the marks of a chart."""
    layout, bits = current.format.layout(current.code), current.format.bits
    ones = [bit for bit in reversed(range(bits)) if current.code >> bit & 1]
    st.session_state[_KEYBOARD] = ones
    with container.popover("Bits", icon=":material/keyboard:"):
        st.pills(
            "Bits that are 1",
            list(reversed(range(bits))),
            selection_mode="multi",
            format_func=lambda bit: f"{layout[bits - 1 - bit]}{bit}",
            key=_KEYBOARD,
            on_change=_set_bits,
            args=(controls, current.format),
        )


def _line(current: Current, container: DeltaGenerator) -> None:
    if math.isnan(current.value):
        container.info("NaN has no place on the number line.")
        return
    rows = line_rows(current.format, current.code, current.interval, current.typed, current.outcomes)
    draw_chart(
        line_chart(rows, INKS[theme()]),
        place=container,
        key="formats_line",
        is_rigid=True,
        alt=f"The number line around {number(current.value)} with its neighbors in {current.format.name}"
        + (f"; the number {number(current.typed)} is marked" if current.typed is not None else ""),
    )


def _table(controls: Controls, current: Current) -> None:
    bits = current.format.bits
    if bits > LARGEST:
        here().know.markdown(
            f"{1 << bits:,} codes are too many for a table. Formats of up to {LARGEST} bits have one."
        )
        return
    st.header(f"All {1 << bits} codes")
    is_near = controls.draw(NEAR, st)
    _clickable(
        controls,
        current,
        st.container(),
        code_table(current.format, current.code, INKS[theme()], is_near=is_near),
        key=f"formats_table_{current.format.name}_{is_near}",
        selection=(PICK, "code"),
        alt=f"All codes of {current.format.name}; {hexadecimal(current.code, current.format)} is outlined.",
    )


def notice(format_: Format, code: int, typed: float | None, outcomes: tuple[Outcome, ...]) -> str:
    """The code that the number becomes."""
    if typed is None:
        return f"**Code {hexadecimal(code, format_)} is {_named(format_, code)}.**"
    if len(outcomes) > 1:
        return _stochastic(format_, typed, outcomes)
    return _rounded(format_, typed, float(format_.decode(code)))


def _named(format_: Format, code: int) -> str:
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
    low, high = ends(format_)
    if not low <= typed <= high:
        end = f"the largest value, {number(high)}" if typed > high else f"the lowest value, {number(low)}"
        return f"{head}: it lies beyond {end}{_saturates(format_, typed, value)}."
    if value == 0:
        return f"{head}: too small for {format_.name}, it vanishes."
    off = abs(value) / abs(typed) - 1
    return f"{head}, {percent_text(abs(off))} too {'large' if off > 0 else 'small'}."


def ends(format_: Format) -> tuple[float, float]:
    """The lowest and the largest finite value; a format without a sign starts at its smallest one."""
    low = -math.inf if format_.signed else 0.0
    return float(format_.decode(format_.encode(low))), format_.max


def _saturates(format_: Format, typed: float, value: float) -> str:
    """Words for a number too far out to round to the last value without saturation."""
    too_far = abs(value) + format_.gap_beyond
    return ", and saturates" if math.isfinite(value) and abs(typed) >= too_far else ""


def probability(value: float) -> str:
    """A probability with four digits; one that is nearly 0 or 1 is not printed as certain."""
    current = f"{value:.4g}"
    if current == "1" and value < 1:
        return f"1 − {1 - value:.2g}"
    return current


def _stochastic(format_: Format, typed: float, outcomes: tuple[Outcome, ...]) -> str:
    parts = [
        f"{number(float(format_.decode(o.code)))} with probability {probability(o.probability)}"
        for o in outcomes
    ]
    values = [float(format_.decode(o.code)) for o in outcomes]
    mean = sum(o.probability * v for o, v in zip(outcomes, values, strict=True))
    tail = f": on average {number(mean, 6)}" if math.isfinite(mean) else ""
    return f"**{number(typed)} becomes {' or '.join(parts)}**{tail}."


def reals(
    format_: Format, code: int, interval: Interval | None, rounding: Rounding, overflow: Overflow
) -> str:
    """The other numbers that become this code, in a sentence."""
    if interval is None:
        takers = _takers(format_, code, overflow)
        return f"{takers} this code." if takers else "No real number rounds to this code."
    verb = "may become" if rounding is Rounding.STOCHASTIC else "becomes"
    low, high = number(interval.low, _LONG), number(interval.high, _LONG)
    if interval.low_closed == interval.high_closed:
        included = "both ends included" if interval.low_closed else "both ends excluded"
    else:
        first, second = (low, high) if interval.low_closed else (high, low)
        included = f"{first} included, {second} not"
    return f"Every real from {low} to {high} {verb} this code ({included})."


def _takers(format_: Format, code: int, overflow: Overflow) -> str:
    """The reals behind a code without an interval, with their verb; empty where there are none."""
    if overflow is Overflow.NAN:
        low, high = ends(format_)
        beyond = {int(format_.encode(math.inf, overflow=overflow)): f"the largest value, {number(high)},"}
        if format_.signed:
            lowest = int(format_.encode(-math.inf, overflow=overflow))
            both = f"the largest value, {number(high)}, or the lowest, {number(low)},"
            beyond[lowest] = both if lowest in beyond else f"the lowest value, {number(low)},"
        if code in beyond and format_.signed:
            return f"Every real that rounds beyond {beyond[code]} becomes"
        if code in beyond:
            return f"Every real that rounds beyond {beyond[code]} and every negative one become"
    if not format_.signed and code == int(format_.encode(-1.0)):
        return "Every negative real becomes"
    return ""


def facts(format_: Format) -> str:
    """The format in a line."""
    name = f"**{format_.name}**"
    ends = f"largest {power_or_number(format_.max)}, smallest {power_or_number(format_.min_subnormal)}"
    if not isinstance(format_, FloatFormat):
        return f"{name}: {format_.bits} bits; {ends}. {format_.rule}{_lopsided(format_)}{_no_nan(format_)}"
    parts = [f"{format_.exponent_bits} exponent", f"{format_.mantissa_bits} mantissa"]
    if format_.signed:
        parts.insert(0, "1 sign")
    normal = f"smallest normal {power_or_number(format_.min_normal)}"
    specials = format_.specials.value
    bits = f"{' + '.join(parts)} bits, bias {format_.bias}"
    return f"{name}: {bits}; {ends}, {normal}. Specials: {specials}.{_no_nan(format_)}"


def _lopsided(format_: Format) -> str:
    """A sentence on a lowest value without an opposite; empty where both signs reach equally far."""
    low, high = ends(format_)
    lowest = float(format_.decode(np.arange(1 << format_.bits)).min()) if format_.signed else low
    if not lowest < -high:
        return ""
    return (
        f" Its lowest value, {number(lowest)}, has no opposite: the largest is {number(high)}. Some code, "
        "such as microxcaling, leaves it unused, so that both signs reach equally far."
    )


def _no_nan(format_: Format) -> str:
    """A sentence on where NaN goes; empty for a format that has a code for it."""
    if format_.nan_code is not None:
        return ""
    scale = FORMATS["e8m0"]
    return (
        " No code is NaN or infinity: under MX, the scale of the block says it, with its code "
        f"{hexadecimal(scale.nan_code, scale)}. A cast without such a scale makes a finite number of NaN."
    )


def rounding_of(choice: str) -> Rounding:
    return Rounding[choice.upper()]


def overflow_of(choice: str) -> Overflow:
    return Overflow[choice.upper()]


def policies(format_: Format) -> dict[str, str]:
    """The options of OVERFLOW that a format has codes for."""
    return {policy.name.lower(): OVERFLOW.options[policy.name.lower()] for policy in format_.overflows}


def _format(settings: Mapping[str, Any]) -> Format:
    return format_of(settings[FORMAT.key], tuple(settings[control.key] for control in OWN_CONTROLS))


def _number(settings: Mapping[str, Any]) -> float:
    """The number that is typed; of a code, its value."""
    typed = read(settings[NUMBER.key])
    return float(_format(settings).decode(typed.code)) if isinstance(typed, CodeText) else typed


def _result(settings: Mapping[str, Any]) -> float:
    """The value that the number becomes."""
    format_ = _format(settings)
    how = rounding_of(settings[ROUNDING.key]), overflow_of(settings[OVERFLOW.key])
    return float(format_.decode(format_.encode(_number(settings), *how)))


def _number_count(settings: Mapping[str, Any]) -> int:
    """The finite numbers of the format; 0 and −0 are one."""
    values = _format(settings).values
    return np.unique(values[np.isfinite(values)]).size


def _worst_error(settings: Mapping[str, Any]) -> float:
    """The relative error of a number half a step above a power of two: no other normal one is larger."""
    half = 2.0 ** -(finest_bits(_format(settings)) + 1)
    return half / (1 + half)


FACTS = {
    "number": _number,
    "rounded": _result,
    "rounded_ratio": lambda settings: _result(settings) / _number(settings),
    "number_count": _number_count,
    "worst_error": _worst_error,
    "largest": lambda settings: _format(settings).max,
    "smallest_normal": lambda settings: _format(settings).min_normal,
}
