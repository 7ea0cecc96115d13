"""Section "Formats compared": the values of several formats on one axis, and their numbers."""

import numpy as np
import streamlit as st

from fp8core.formats import Format
from fp8core.formats.float_format import FloatFormat
from fp8core.rounding import Overflow
from pages.kit.chart import draw_chart
from pages.kit.chart_slider import chart_with_slider, with_slider
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import power_of_two
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.sections.formats.charts.compare import TOP, compare_chart
from pages.sections.formats.charts.words import power_or_number
from pages.sections.formats.controls import (
    AXIS,
    AXIS_TOP,
    COMPARED,
    OWN,
    OWN_CONTROLS,
    TITLES,
    OwnFields,
    own_fields,
)
from pages.sections.formats.data import formats_by_title
from pages.sections.formats.words import sentence


def show(controls: Controls) -> None:
    """Draw the section for the formats that the controls hold."""
    chosen = controls.draw(COMPARED)
    names = tuple(name for name in TITLES if name in chosen)
    logarithmic = controls.draw(AXIS) == "log"
    if OWN in names:
        own_row(controls)
    own = own_fields(controls)
    names = possible(names, own)
    if not names:
        st.info("Choose at least one format.")
        return
    formats = formats_by_title(names, own)
    draw_notice(_notice(formats, logarithmic))
    told = f"Every positive value of {', '.join(formats)} on one {AXIS.options[controls.value(AXIS)]} axis"
    spec = compare_chart(formats, logarithmic, INKS[theme()])
    if logarithmic:
        draw_chart(spec, key="formats_compare", alt=told)
    else:
        chart_with_slider(
            controls,
            AXIS_TOP,
            name="formats_compare",
            drawn=(names, own, theme()),
            at=controls.value(AXIS_TOP),
            spec_at=lambda start: with_slider(spec, TOP, start),
            alt_at=lambda start: f"{told} from 0 to {power_of_two(start)}",
        )
    st.markdown(_table(formats))


def own_row(controls: Controls) -> None:
    """The fields of the reader's own format."""
    row = st.container(horizontal=True, gap="small")
    for control, width in zip(OWN_CONTROLS, (120, 120, 120, 390), strict=True):
        controls.draw(control, row.container(width=width))


def possible(names: tuple[str, ...], own: OwnFields) -> tuple[str, ...]:
    """The names, without the reader's own format where that is impossible; a sentence then says so."""
    if OWN not in names:
        return names
    try:
        formats_by_title((OWN,), own)
    except ValueError as refused:
        st.error(plain(sentence(refused)))
        return tuple(name for name in names if name != OWN)
    return names


def _notice(formats: dict[str, Format], logarithmic: bool) -> str:
    small = {title: f for title, f in formats.items() if f.bits <= 8}
    if not small:
        return (
            "**Notice:** formats of more than 8 bits are drawn from end to end: their values lie too close."
        )
    first = next(iter(small))
    if logarithmic:
        counts = ", ".join(f"{title} {count_between(f, 1.0, 2.0)}" for title, f in small.items())
        return (
            "**Notice:** a binade runs from one power of two to the next. With an exponent field of fixed "
            "width each has as many values, except at the two ends: below the smallest normal number there "
            "are fewer, and special codes may take some of the highest binade. "
            f"From 1 to 2: {counts}."
        )
    share = count_between(small[first], 0.0, 1.0) / count_between(small[first], 0.0, np.inf)
    return (
        f"**Notice:** values crowd at zero. {share:.0%} of {first}'s positive values lie below 1, and the "
        f"step grows to {power_or_number(small[first].gap_beyond)} at its largest."
    )


def count_between(format_: Format, low: float, high: float) -> int:
    """The number of positive finite values in [low, high)."""
    values = format_.values
    return int(((values >= low) & (values < high) & (values > 0)).sum())


def _table(formats: dict[str, Format]) -> str:
    lines = [
        "| format | bits | largest | normal from | smallest | special codes |",
        "|:--|--:|--:|--:|--:|:--|",
    ]
    for title, format_ in formats.items():
        normal = power_or_number(format_.min_normal) if isinstance(format_, FloatFormat) else "–"
        cells = [
            title,
            str(format_.bits),
            power_or_number(format_.max),
            normal,
            power_or_number(format_.min_subnormal),
            specials(format_),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def specials(format_: Format) -> str:
    """The special values that a format has."""
    has = [
        word for policy, word in ((Overflow.INF, "∞"), (Overflow.NAN, "NaN")) if policy in format_.overflows
    ]
    minus = np.signbit(format_.decode(format_.encode(-0.0))) if format_.signed else False
    return ", ".join([*has, "−0"] if minus else has) or "none"
