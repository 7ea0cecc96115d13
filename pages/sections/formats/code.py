"""Section "One code": the bits, the number line around the value, and the table of all codes."""

import math
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fp8core.formats import Format
from fp8core.formats.number_line import Interval, Outcome, interval, outcomes, step
from fp8core.formats.spelling import spell
from fp8core.rounding import Overflow, Rounding
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.number_text import CodeText, code_text, read
from pages.kit.reported import reported, selected
from pages.kit.shell import theme
from pages.sections.formats.charts import line as formats_line
from pages.sections.formats.charts.bits import BITS_WIDTH, FLIP, bits_chart
from pages.sections.formats.charts.line import line_chart, line_rows
from pages.sections.formats.charts.table import LARGEST, PICK, code_table
from pages.sections.formats.charts.words import ROLES, hexadecimal, number
from pages.sections.formats.compare import own_row
from pages.sections.formats.controls import (
    FORMAT,
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
from pages.sections.formats.words import facts, notice, sentence, written_out

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
        how = self.rounding, self.overflow
        return notice(self.format, self.code, self.interval, self.typed, self.outcomes, *how)


def show(controls: Controls) -> None:
    """Draw the section for the format and the number that the controls hold."""
    row = st.container(horizontal=True, gap="small")
    name = controls.draw(FORMAT, row.container(width=230))
    if name == OWN:
        own_row(controls)
    format_ = chosen_format(controls, name)
    controls.draw(NUMBER, row.container(width=200))
    rounding = rounding_of(controls.draw(ROUNDING, row.container(width=185)))
    policy = controls.draw(OVERFLOW, row.container(width=155), options=policies(format_))
    shown = shown_code(controls, format_, rounding, overflow_of(policy))

    draw_notice(shown.notice)
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        _bits(controls, shown, st.container(width=452))
        st.container(width=320).latex(written_out(format_, shown.code, INKS[theme()]))
    _line(shown)
    _steps(controls, shown)
    st.caption(facts(format_))
    _table(controls, shown)


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
        bits_chart(spelling, INKS[theme()]),
        key=f"formats_bits_{shown.format.bits}",
        selection=(FLIP, "bit"),
        alt=f"The bits {spelling.bits} of {shown.format.name}, whose roles are {spelling.layout}: "
        + ", ".join(f"{letter} {ROLES[letter]}" for letter in dict.fromkeys(spelling.layout))
        + ". A click on a bit flips it.",
    )
    place.caption("Click a bit to flip it.")


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
        width="content" if param == FLIP else "stretch",
        least=BITS_WIDTH if param == FLIP else None,
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
    format_, row = shown.format, st.container(horizontal=True, gap="small", vertical_alignment="bottom")
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


def _line(shown: Shown) -> None:
    if math.isnan(shown.value):
        st.info("NaN stands at no place on the number line.")
        return
    rows = line_rows(shown.format, shown.code, shown.interval, shown.typed, shown.outcomes)
    draw_chart(
        line_chart(INKS[theme()]).filled({formats_line.DATA: rows}),
        key="formats_line",
        alt=f"The number line around {number(shown.value)} with its neighbors in {shown.format.name}"
        + (f"; the number {number(shown.typed)} is marked" if shown.typed is not None else ""),
    )
    verb = "may round" if shown.rounding is Rounding.STOCHASTIC else "round"
    st.caption(
        f"The bar: all reals that {verb} to this code. A filled end belongs to it, an open one does not."
    )


def _table(controls: Controls, shown: Shown) -> None:
    bits = shown.format.bits
    if bits > LARGEST:
        st.caption(f"{1 << bits:,} codes are too many for a table; those of up to {LARGEST} bits have one.")
        return
    st.header(f"All {1 << bits} codes")
    st.caption("Point at a code for its value; click to show it above. Color: size, from small to large.")
    _clickable(
        controls,
        shown,
        st.container(),
        code_table(shown.format, shown.code, INKS[theme()]),
        key=f"formats_table_{shown.format.name}",
        selection=(PICK, "code"),
        alt=f"All codes of {shown.format.name}; {hexadecimal(shown.code, shown.format)} is outlined.",
    )
