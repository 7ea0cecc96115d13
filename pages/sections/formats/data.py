"""The data of the page "Formats", kept between runs. A kept function depends only on its arguments."""

from typing import Any

import numpy as np
import streamlit as st

from fp8core.formats import FORMATS, Format
from fp8core.formats.float_format import FloatFormat
from fp8core.formats.survival import Fates, fates
from fp8core.inputs import InputKind, draw
from pages.kit.charts.ink import INKS
from pages.sections.formats.charts.bits import bits_chart
from pages.sections.formats.charts.compare import compare_chart
from pages.sections.formats.charts.gradients import gradient_chart
from pages.sections.formats.charts.line import line_chart
from pages.sections.formats.charts.overflow import overflow_chart
from pages.sections.formats.charts.range import range_bars, range_points
from pages.sections.formats.charts.table import code_table, table_rows
from pages.sections.formats.controls import LOSS_SCALE, OWN, TITLES, OwnFields, format_of

KEPT = 128
GRADIENT_SHAPE, GRADIENT_SEED = (128, 128), 0
GRADIENT_FORMATS = ("bf16", "fp16", "e5m2", "e4m3")
LOSS_SCALES = LOSS_SCALE.high + 1
_BINS_PER_BINADE = 2
Spec = dict[str, Any]


def formats_by_title(names: tuple[str, ...], own: OwnFields) -> dict[str, Format]:
    """Formats by their titles on the page. Raises ValueError where the reader's own is impossible."""
    found = {name: format_of(name, own) for name in names}
    return {f.name if name == OWN else TITLES[name]: f for name, f in found.items()}


@st.cache_data(max_entries=KEPT, show_spinner=False)
def bits_spec(bits: int, theme: str) -> Spec:
    """The bits of a code."""
    return bits_chart(bits, INKS[theme]).to_dict()


@st.cache_data(max_entries=KEPT, show_spinner=False)
def line_spec(theme: str) -> Spec:
    """The number line."""
    return line_chart(INKS[theme]).to_dict()


@st.cache_data(max_entries=KEPT, show_spinner=False)
def table_spec(bits: int, theme: str) -> Spec:
    """The table of codes of so many bits."""
    return code_table(bits, INKS[theme]).to_dict()


@st.cache_data(max_entries=KEPT, show_spinner=False)
def table_columns(name: str, own: OwnFields) -> dict[str, list[object]]:
    """The table's data: every code of a format."""
    rows = table_rows(format_of(name, own))
    return {column: [row[column] for row in rows] for column in rows[0]}


@st.cache_data(max_entries=KEPT, show_spinner=False)
def compare_spec(names: tuple[str, ...], own: OwnFields, logarithmic: bool, theme: str) -> Spec:
    """The values of several formats."""
    return compare_chart(formats_by_title(names, own), logarithmic, INKS[theme]).to_dict()


@st.cache_data(max_entries=KEPT, show_spinner=False)
def bars_spec(names: tuple[str, ...], own: OwnFields, theme: str) -> Spec:
    """Formats as bars over exponents."""
    return range_bars(formats_by_title(names, own), INKS[theme]).to_dict()


@st.cache_data(max_entries=KEPT, show_spinner=False)
def points_spec(names: tuple[str, ...], own: OwnFields, theme: str) -> Spec:
    """Formats as points."""
    return range_points(formats_by_title(names, own), INKS[theme]).to_dict()


@st.cache_data(max_entries=KEPT, show_spinner=False)
def overflow_spec(names: tuple[str, ...], own: OwnFields, theme: str) -> Spec:
    """Overflow policies of several formats."""
    return overflow_chart(formats_by_title(names, own), INKS[theme]).to_dict()


def gradient_formats() -> dict[str, FloatFormat]:
    """The formats to which the gradients are rounded, by title."""
    found = {TITLES[name]: FORMATS[name] for name in GRADIENT_FORMATS}
    return {title: format_ for title, format_ in found.items() if isinstance(format_, FloatFormat)}


def gradients() -> np.ndarray:
    """float64[n]: the nonzero gradients, seeded."""
    x = draw(InputKind.GRADIENT_LIKE, GRADIENT_SHAPE, GRADIENT_SEED).astype(np.float64).ravel()
    return x[x != 0]


@st.cache_data(max_entries=2, show_spinner=False)
def gradient_fates() -> dict[str, list[Fates]]:
    """The fate of the gradients times 2^k, by the format's title, for each k."""
    x = gradients()
    return {
        title: [fates(format_, np.ldexp(x, k)) for k in range(LOSS_SCALES)]
        for title, format_ in gradient_formats().items()
    }


@st.cache_data(max_entries=4, show_spinner=False)
def gradient_spec(theme: str) -> Spec:
    """The gradients against the window of each format."""
    log2 = np.log2(np.abs(gradients()))
    low, high = np.floor(np.quantile(log2, 0.0005)), np.ceil(log2.max())
    bins = np.linspace(low, high, int(high - low) * _BINS_PER_BINADE + 1)
    counts = np.histogram(log2, bins)[0]
    return gradient_chart(
        gradient_formats(), bins.tolist(), counts.tolist(), gradient_fates(), INKS[theme]
    ).to_dict()
