"""Section "Formats compared": the values of several formats on one axis."""

from functools import cache

import numpy as np
import streamlit as st

from fp8core.errors import rel_err, sqnr_db
from fp8core.formats import FORMATS, Format
from fp8core.formats.binades import dynamic_range
from fp8core.formats.float_format import FloatFormat, Specials
from fp8core.inputs import INPUT_NOTES, InputKind, draw
from fp8core.rounding import Overflow
from pages.formats.charts import compare as charts
from pages.formats.charts.words import power_or_number
from pages.formats.controls import TITLES, draw_formats, format_of
from pages.kit.chart_slider import chart_with_slider, with_slider
from pages.kit.charts.words import count, power_of_two
from pages.kit.controls import Controls
from pages.kit.tables import markdown_table
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room
from pages.kit.widgets import Choice, Settings, Several, Whole

COMPARED = Several(
    key="compared",
    label="Formats",
    options=TITLES,
    default=["e4m3", "e5m2", "hif8", "mxint8", "e2m3", "e2m1", "fp16"],
)
AXIS = Choice(
    key="axis",
    label="Axis",
    options={"log": "logarithmic", "linear": "linear", "count": "per power of two"},
)
AXIS_TOP = Whole(
    key="axis_top",
    label="log2 of the linear axis' end",
    low=charts.LOWEST,
    high=charts.HIGHEST,
    default=charts.START,
)
CONTROLS = (COMPARED, AXIS, AXIS_TOP)
SHAPE, SEED = (64, 128), 0
KINDS = (InputKind.GAUSSIAN, InputKind.GRADIENT_LIKE, InputKind.OUTLIER_CHANNELS)
BITS = 8


def show(controls: Controls) -> None:
    axis = controls.draw(AXIS, here().control)
    formats = draw_formats(controls, COMPARED)
    if not formats:
        return
    draw_notice(_notice(formats, axis))
    if axis == "count":
        _draw_counts(formats)
    else:
        _draw_values(controls, formats, axis)
    st.markdown(_table(formats))
    if axis == "count":
        _draw_splits()


def _draw_values(controls: Controls, formats: dict[str, Format], axis: str) -> None:
    alt = f"Every positive value of {', '.join(formats)} on one {AXIS.options[axis]} axis"
    spec = charts.compare_chart(formats, axis == "log", room(), page_ink())
    if axis == "log":
        draw_chart(spec, key="formats_compare", alt=alt)
        return
    chart_with_slider(
        controls,
        AXIS_TOP,
        name="formats_compare",
        inputs=(tuple(formats.values()), page_ink()),
        at=controls.value(AXIS_TOP),
        spec_at=lambda start: with_slider(spec, charts.TOP, start),
        alt_at=lambda start: f"{alt} from 0 to {power_of_two(start)}",
    )


def _draw_counts(formats: dict[str, Format]) -> None:
    counts = "; ".join(f"{title}: {charts.per_power(format_)}" for title, format_ in formats.items())
    draw_chart(
        charts.count_chart(formats, room(), page_ink()),
        key="formats_counts",
        alt=f"Bars: the number of values from each power of two to the next. {counts}",
    )
    here().know.markdown(
        "A bar one step higher has twice as many numbers. Gray bars have fewer than the format's most."
    )


def _notice(formats: dict[str, Format], axis: str) -> str:
    first, format_ = next(iter(formats.items()))
    if axis == "count":
        counts = charts.binade_counts(format_)
        return (
            f"{first} spreads its positive numbers over {count(len(counts), 'power')} of two, **up to "
            f"{max(counts.values()):,} in each.** A wider range leaves fewer in each: a bit is spent once."
        )
    small = [(title, one) for title, one in formats.items() if one.bits <= 8]
    if not small:
        return "Formats of more than 8 bits are drawn from end to end: their values lie too close."
    first, format_ = small[0]
    if axis == "log":
        return (
            f"From one power of two to the next, {first} has **{count_between(format_, 1.0, 2.0)} values** "
            "nearly everywhere. At the lower end it has fewer."
        )
    return (
        f"Values crowd at zero: **{share_below_one(format_):.0%} of {first}'s positive values** lie below 1. "
        "The steps grow with the values."
    )


def count_between(format_: Format, low: float, high: float) -> int:
    """The number of positive finite values in [low, high)."""
    values = format_.values
    return int(((values >= low) & (values < high) & (values > 0)).sum())


def share_below_one(format_: Format) -> float:
    return count_between(format_, 0.0, 1.0) / count_between(format_, 0.0, np.inf)


def _table(formats: dict[str, Format]) -> str:
    rows = [
        (
            title,
            power_or_number(format_.max),
            power_or_number(format_.min_subnormal),
            power_or_number(format_.min_normal) if isinstance(format_, FloatFormat) else "–",
            format_.bits,
            specials(format_),
        )
        for title, format_ in formats.items()
    ]
    heads = ("format", "largest", "smallest", "normal from", "bits", "special codes")
    return markdown_table(heads, rows, "<>>>><")


def specials(format_: Format) -> str:
    names = [
        name
        for policy, name in {Overflow.INF: "∞", Overflow.NAN: "NaN"}.items()
        if policy in format_.overflows
    ]
    if format_.signed and np.signbit(format_.decode(format_.encode(-0.0))):
        names.append("−0")
    return ", ".join(names) or "none"


def _draw_splits() -> None:
    st.header("Why not eight bits of bf16?")
    splits = ", ".join(f"{name} {sqnr:.1f} dB" for name, sqnr in gaussian_sqnr().items())
    draw_chart(
        charts.splits_chart(split_rows(), page_ink()),
        key="formats_splits",
        is_fitted=True,
        alt=f"SQNR of each split of eight bits: {splits}",
    )
    here().know.markdown(splits_words())
    here().know.caption(
        f"{SHAPE[0] * SHAPE[1]:,} seeded numbers of each kind (seed {SEED}), one exact scale for all, which "
        "puts amax on the largest value. No code is spent on infinity or NaN. SQNR counts energy: for the "
        "small numbers, point at a split and see how many become 0."
    )


def split(exponent_bits: int) -> FloatFormat:
    """A format of eight bits without special codes."""
    mantissa_bits = BITS - 1 - exponent_bits
    return FloatFormat(
        name=f"E{exponent_bits}M{mantissa_bits}",
        exponent_bits=exponent_bits,
        mantissa_bits=mantissa_bits,
        bias=(1 << (exponent_bits - 1)) - 1,
        specials=Specials.NONE,
    )


@cache
def split_rows() -> tuple[dict[str, object], ...]:
    rows = []
    for kind in KINDS:
        x = draw(kind, SHAPE, SEED).astype(np.float64)
        for format_ in map(split, range(1, BITS)):
            scale = np.abs(x).max() / format_.max
            values = format_.decode(format_.encode(x / scale)) * scale
            row = {
                "split": format_.name,
                "kind": INPUT_NOTES[kind].title,
                "sqnr": sqnr_db(rel_err(values, x)),
            }
            rows.append(row | {"zeros": float(((values == 0) & (x != 0)).mean())})
    return tuple(rows)


def gaussian_sqnr() -> dict[str, float]:
    """SQNR in dB of Gaussian numbers, by split."""
    return {row["split"]: row["sqnr"] for row in split_rows() if row["kind"] == INPUT_NOTES[KINDS[0]].title}


def splits_words() -> str:
    sqnr = gaussian_sqnr()
    whole, widest, usual = FORMATS["bf16"], split(BITS - 1), split(FORMATS["e4m3"].exponent_bits)
    return (
        "bf16 is the upper half of fp32. Its own upper half would be a sign and "
        f"{widest.exponent_bits} of its {whole.exponent_bits} exponent bits, and no mantissa bit. At "
        "best each number then becomes a power of two: on Gaussian numbers that leaves "
        f"{sqnr[widest.name]:.1f} dB of SQNR, where {usual.name} has {sqnr[usual.name]:.1f} dB. "
        "A **scale** moves numbers to where the format is. So the wide range of bf16 is not needed in each "
        "code, and its bits are better spent on the mantissa."
    )


def _format(settings: Settings, index: int = 0) -> Format:
    names = [name for name in TITLES if name in settings[COMPARED.key]]
    return format_of(names[index], settings)


def _even(settings: Settings) -> list[int]:
    counts = charts.binade_counts(_format(settings))
    return [exponent for exponent, count in counts.items() if count == counts[0]]


FACTS = {
    "share_below_one": lambda settings: share_below_one(_format(settings)),
    "values_per_binade": lambda settings: charts.binade_counts(_format(settings))[0],
    "even_from": lambda settings: 2.0 ** min(_even(settings)),
    "even_to": lambda settings: 2.0 ** (max(_even(settings)) + 1),
    "last_step": lambda settings: _format(settings).gap_beyond,
    "range_ratio": lambda settings: (
        2.0 ** (dynamic_range(_format(settings, -1)) - dynamic_range(_format(settings)))
    ),
    "e4m3_binades": lambda _: dynamic_range(FORMATS["e4m3"]),
    "e5m2_binades": lambda _: dynamic_range(FORMATS["e5m2"]),
    "bf16_exponent_bits": lambda _: FORMATS["bf16"].exponent_bits,
}
