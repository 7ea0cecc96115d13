"""Section "One code": the bits, the number line around the value, and the table of all codes."""

import math
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fp8core.formats import Format
from fp8core.formats.number_line import Interval, Outcome, interval, outcomes, step
from fp8core.formats.spelling import spell
from fp8core.rounding import Overflow, Rounding
from pages.formats.charts import line as formats_line
from pages.formats.charts.bits import FLIP, bits_chart
from pages.formats.charts.line import line_chart, line_rows
from pages.formats.charts.strip import strip_chart
from pages.formats.charts.table import LARGEST, PICK, code_table
from pages.formats.charts.words import ROLES, hexadecimal, number
from pages.formats.compare import own_row
from pages.formats.controls import (
    FORMAT,
    NEAR,
    NUMBER,
    OVERFLOW,
    OWN,
    ROUNDING,
    TITLES,
    format_of,
    overflow_of,
    own_fields,
    policies,
    rounding_of,
)
from pages.formats.words import facts, notice, reals, sentence
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
from pages.kit.widgets import reported, selected

_CODE_FIELD = "_formats_code"
_KEYBOARD = "_formats_bits_keyboard"


@dataclass(frozen=True, kw_only=True)
class Shown:
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
        format_ = chosen_format(controls, name)
    rounding = rounding_of(controls.draw(ROUNDING))
    policy = controls.draw(OVERFLOW, options=policies(format_))
    if name == OWN:
        own_row(controls)
    with words:
        shown = shown_code(controls, format_, rounding, overflow_of(policy))
    draw_notice(shown.notice)
    words.html(_becomes(shown, ink))
    _bits(controls, shown, bits)
    _line(shown, picture)
    if format_.bits <= LARGEST and not projected():
        draw_chart(
            strip_chart(format_, shown.code, ink),
            place=picture,
            key="formats_strip",
            is_rigid=True,
            alt=f"All positive numbers of {format_.name} on a logarithmic axis, those above framed.",
        )
    _steps(controls, shown)
    _table(controls, shown)
    how = shown.interval, rounding, overflow_of(policy)
    view.know.markdown(
        f"{reals(format_, shown.code, *how)} On the number line they are the blue bar. A filled end "
        "belongs to it, an open one does not."
    )
    view.know.markdown(facts(format_))


def _becomes(shown: Shown, ink: Ink) -> str:
    """HTML of the value in large figures, and how far it is from the number that was typed."""
    off = ""
    if shown.typed and math.isfinite(shown.value) and math.isfinite(shown.typed) and len(shown.outcomes) < 2:
        ratio = shown.value / shown.typed - 1
        side = "large" if ratio > 0 else "small"
        lost = f"{percent_text(abs(ratio))} too {side}" if shown.value else "vanishes"
        off = f'<span style="color:{ink.lost};font-weight:650">{lost}</span>' if ratio else ""
    return (
        f'<div style="font-size:16px;color:{ink.soft}">becomes</div><div style="display:flex;flex-wrap:wrap;'
        f'gap:0 12px;align-items:baseline"><span style="font-size:38px;line-height:46px;font-weight:650;'
        f'color:{ink.text}">{number(shown.value)}</span>{off}</div>'
    )


def chosen_format(controls: Controls, name: str) -> Format:
    """The format of the choice. Where the reader's own is impossible, says why and takes the default."""
    try:
        return format_of(name, own_fields(controls))
    except ValueError as refused:
        st.error(f"{plain(sentence(refused))} Shown instead: {TITLES[FORMAT.default]}.")
        return format_of(FORMAT.default, own_fields(controls))


def shown_code(controls: Controls, format_: Format, rounding: Rounding, overflow: Overflow) -> Shown:
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
            return Shown(code=min(typed.code, top), **how)
        if rounding is not Rounding.STOCHASTIC:
            return Shown(code=int(format_.encode(typed, rounding, overflow)), typed=typed, **how)
        found = outcomes(format_, typed, overflow)
        likelier = max(found, key=lambda outcome: outcome.probability)
        return Shown(code=likelier.code, typed=typed, outcomes=found, **how)
    except ValueError as refused:
        st.warning(f"{plain(sentence(refused))} Shown is code 0.")
        return Shown(code=0, **how)


def _bits(controls: Controls, shown: Shown, place: DeltaGenerator) -> None:
    spelling = spell(shown.format, shown.code)
    _clickable(
        controls,
        shown,
        place,
        bits_chart(shown.format, spelling, INKS[theme()]),
        key=f"formats_bits_{shown.format.bits}",
        selection=(FLIP, "bit"),
        alt=f"The bits {spelling.bits} of {shown.format.name}, whose roles are {spelling.layout}: "
        + ", ".join(f"{letter} {ROLES[letter]}" for letter in dict.fromkeys(spelling.layout))
        + ". A click on a bit flips it.",
    )


def _clickable(
    controls: Controls,
    shown: Shown,
    place: DeltaGenerator,
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
            _show_code(controls, shown.format, shown.code ^ sum(1 << bit for bit in changed))
        elif changed:
            _show_code(controls, shown.format, changed.pop())

    event = draw_chart(
        spec,
        place=place,
        is_rigid=True,
        key=key,
        on_select=clicked,
        selection_mode=[param],
        alt=alt,
    )
    st.session_state[before] = _columns(event.selection.get(param), column)


def _columns(places: list[dict[str, int]] | None, column: str) -> set[int]:
    return {int(one[column]) for one in places or []}


def _show_code(controls: Controls, format_: Format, code: int) -> None:
    controls.preset(**{NUMBER.key: code_text(code, format_.bits)})


def _type_code(controls: Controls, format_: Format) -> None:
    if (code := reported(_CODE_FIELD)) is not None:
        _show_code(controls, format_, code)


def _set_bits(controls: Controls, format_: Format) -> None:
    if (ones := reported(_KEYBOARD)) is not None:
        _show_code(controls, format_, sum(1 << bit for bit in ones))


def _steps(controls: Controls, shown: Shown) -> None:
    """The neighbors in value, the code as a field, and the bits for the keyboard."""
    format_ = shown.format
    row = here().more.container(horizontal=True, gap="small", vertical_alignment="bottom")
    for up, label in ((False, "Smaller"), (True, "Larger")):
        beside = step(format_, shown.code, up)
        row.button(
            label,
            icon=":material/arrow_back:" if not up else ":material/arrow_forward:",
            key=f"formats_{label.lower()}",
            disabled=beside is None,
            help="The next larger value" if up else "The next smaller value",
            on_click=_show_code,
            args=(controls, format_, beside),
        )
    st.session_state[_CODE_FIELD] = shown.code
    row.container(width=120).number_input(
        "Code",
        min_value=0,
        max_value=(1 << format_.bits) - 1,
        step=1,
        key=_CODE_FIELD,
        on_change=_type_code,
        args=(controls, format_),
    )
    _keyboard(controls, shown, row)


def _keyboard(controls: Controls, shown: Shown, place: DeltaGenerator) -> None:
    """The bits as buttons for the keyboard, which cannot reach the marks of a chart."""
    layout, bits = shown.format.layout(shown.code), shown.format.bits
    ones = [bit for bit in reversed(range(bits)) if shown.code >> bit & 1]
    st.session_state[_KEYBOARD] = ones
    with place.popover("Bits", icon=":material/keyboard:"):
        st.pills(
            "Bits that are 1",
            list(reversed(range(bits))),
            selection_mode="multi",
            format_func=lambda bit: f"{layout[bits - 1 - bit]}{bit}",
            key=_KEYBOARD,
            on_change=_set_bits,
            args=(controls, shown.format),
        )


def _line(shown: Shown, place: DeltaGenerator) -> None:
    if math.isnan(shown.value):
        place.info("NaN has no place on the number line.")
        return
    rows = line_rows(shown.format, shown.code, shown.interval, shown.typed, shown.outcomes)
    draw_chart(
        line_chart(INKS[theme()]).filled({formats_line.DATA: rows}),
        place=place,
        key="formats_line",
        is_rigid=True,
        alt=f"The number line around {number(shown.value)} with its neighbors in {shown.format.name}"
        + (f"; the number {number(shown.typed)} is marked" if shown.typed is not None else ""),
    )


def _table(controls: Controls, shown: Shown) -> None:
    bits = shown.format.bits
    if bits > LARGEST:
        here().know.markdown(
            f"{1 << bits:,} codes are too many for a table. Formats of up to {LARGEST} bits have one."
        )
        return
    st.header(f"All {1 << bits} codes")
    is_near = controls.draw(NEAR, st)
    _clickable(
        controls,
        shown,
        st.container(),
        code_table(shown.format, shown.code, INKS[theme()], is_near=is_near),
        key=f"formats_table_{shown.format.name}_{is_near}",
        selection=(PICK, "code"),
        alt=f"All codes of {shown.format.name}; {hexadecimal(shown.code, shown.format)} is outlined.",
    )
