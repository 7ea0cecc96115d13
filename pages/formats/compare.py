"""Section "Formats compared": the values of several formats on one axis, and their numbers."""

import numpy as np
import streamlit as st

from fp8core.formats import FORMATS, Format
from fp8core.formats.binades import dynamic_range, finest_bits
from fp8core.formats.float_format import FloatFormat
from fp8core.rounding import Overflow
from pages.formats.charts.compare import TOP, binade_counts, compare_chart, count_chart
from pages.formats.charts.words import power_or_number
from pages.formats.controls import (
    AXIS,
    AXIS_TOP,
    COMPARED,
    OWN,
    OWN_CONTROLS,
    TITLES,
    OwnFields,
    own_fields,
)
from pages.formats.data import formats_by_title
from pages.formats.splits import draw_splits
from pages.formats.words import sentence
from pages.kit.chart import draw_chart, room
from pages.kit.chart_slider import chart_with_slider, with_slider
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count, power_of_two
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here


def show(controls: Controls) -> None:
    """Draw the section for the formats that the controls hold."""
    axis = controls.draw(AXIS, here().control)
    chosen = controls.draw(COMPARED)
    names = tuple(name for name in TITLES if name in chosen)
    if OWN in names:
        own_row(controls)
    own = own_fields(controls)
    names = possible(names, own)
    if not names:
        st.info("Choose at least one format.")
        return
    formats = formats_by_title(names, own)
    draw_notice(_notice(formats, axis))
    if axis == "count":
        _draw_counts(formats)
        return
    told = f"Every positive value of {', '.join(formats)} on one {AXIS.options[controls.value(AXIS)]} axis"
    spec = compare_chart(formats, axis == "log", room(), INKS[theme()])
    if axis == "log":
        draw_chart(spec, key="formats_compare", is_rigid=True, alt=told)
    else:
        chart_with_slider(
            controls,
            AXIS_TOP,
            name="formats_compare",
            drawn=(names, own, theme()),
            at=controls.value(AXIS_TOP),
            spec_at=lambda start: with_slider(spec, TOP, start),
            alt_at=lambda start: f"{told} from 0 to {power_of_two(start)}",
            is_rigid=True,
        )
    st.markdown(_table(formats))


def _draw_counts(formats: dict[str, Format]) -> None:
    """Draw how many values each power of two has; below, the splits of eight bits."""
    draw_chart(
        count_chart(formats, room(), INKS[theme()]),
        key="formats_counts",
        is_rigid=True,
        alt="Bars: the number of values from each power of two to the next. "
        + "; ".join(
            f"{title}: {len(counts)} powers of two, up to {max(counts.values())} values"
            for title, counts in ((title, binade_counts(format_)) for title, format_ in formats.items())
        ),
    )
    here().know.markdown(
        "A bar one step higher has twice as many numbers. Gray bars "
        f"have fewer than the format's most. {_trade('e5m2', 'e4m3')}; {_trade('bf16', 'fp16')}."
    )
    st.markdown(_table(formats))
    draw_splits()


def _trade(wide: str, fine: str) -> str:
    """The price that a format pays for a wider range than another of its size."""
    one, other = FORMATS[wide], FORMATS[fine]
    coarser = 2 ** (finest_bits(other) - finest_bits(one))
    return (
        f"{TITLES[wide]} spans {dynamic_range(one):.0f} binades where {TITLES[fine]} spans "
        f"{dynamic_range(other):.0f}, for a step {coarser} times coarser"
    )


def own_row(controls: Controls) -> None:
    """The fields of the reader's own format."""
    for control in OWN_CONTROLS:
        controls.draw(control)


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


def _notice(formats: dict[str, Format], axis: str) -> str:
    if axis == "count":
        title, counts = next((title, binade_counts(format_)) for title, format_ in formats.items())
        return (
            f"{title} spreads its positive numbers over {count(len(counts), 'power')} of two, **up to "
            f"{max(counts.values()):,} in each.** A wider range leaves fewer in each: a bit is spent once."
        )
    small = {title: f for title, f in formats.items() if f.bits <= 8}
    if not small:
        return "Formats of more than 8 bits are drawn from end to end: their values lie too close."
    first, format_ = next(iter(small.items()))
    if axis == "log":
        return (
            f"From one power of two to the next, {first} has **{count_between(format_, 1.0, 2.0)} values** "
            "nearly everywhere. At the lower end it has fewer."
        )
    share = count_between(format_, 0.0, 1.0) / count_between(format_, 0.0, np.inf)
    return (
        f"Values crowd at zero: **{share:.0%} of {first}'s positive values** lie below 1. The steps grow "
        "with the values."
    )


def count_between(format_: Format, low: float, high: float) -> int:
    """The number of positive finite values in [low, high)."""
    values = format_.values
    return int(((values >= low) & (values < high) & (values > 0)).sum())


def _table(formats: dict[str, Format]) -> str:
    lines = [
        "| format | largest | smallest | normal from | bits | special codes |",
        "|:--|--:|--:|--:|--:|:--|",
    ]
    for title, format_ in formats.items():
        normal = power_or_number(format_.min_normal) if isinstance(format_, FloatFormat) else "–"
        cells = [
            title,
            power_or_number(format_.max),
            power_or_number(format_.min_subnormal),
            normal,
            str(format_.bits),
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
