"""The rates that datasheets promise, in a table with its sources."""

from functools import cache
from typing import Any

import streamlit as st

from kernels.bench.ceilings.peak_rates import PEAK_RATES, Rate, Source
from pages.kit.tables import Table, arrow_table, draw_rows

_RIDGE = "With more operations per byte than this, memory is not the limit"
_NUMBER = st.column_config.NumberColumn
_COLUMNS = {
    **{rate.value: _NUMBER(format="localized", help="Dense TFLOP/s") for rate in Rate},
    "memory": _NUMBER(format="localized", help="GB/s"),
    **{name: _NUMBER(format="%.0f", help=_RIDGE) for name in ("ridge, fp8", "ridge, bf16")},
}


def draw_rates() -> None:
    """Draw the table of datasheets."""
    st.markdown("**What the datasheets promise**")
    draw_rows(_rates(), column_config=_COLUMNS)
    st.caption(
        "Dense peaks (without structured sparsity) in TFLOP/s at the boost clock, memory in GB/s; a card at "
        "its power limit runs slower. Ridge: with more operations per byte than this, memory is not the "
        f"limit. The chart follows S. Williams, A. Waterman, D. Patterson, Roofline, Communications of the "
        f"ACM 52(4), 2009. Sources: {sources_line()}"
    )


@cache
def _rates() -> Table:
    return arrow_table(rates_lines())


def rates_lines() -> list[dict[str, Any]]:
    """One line a card: TFLOP/s, GB/s for memory, operations per byte for ridges, sources by number."""
    numbers = {source: number for number, source in enumerate(sources(), 1)}
    return [
        {
            "generation": rates.generation,
            "card": rates.name,
            **{rate.value: rates.tflop_s[rate] for rate in Rate},
            "memory": rates.memory_gb_s,
            "ridge, fp8": rates.ridge(Rate.FP8),
            "ridge, bf16": rates.ridge(Rate.BF16),
            "sources": ", ".join(str(numbers[source]) for source in rates.sources),
        }
        for rates in PEAK_RATES.values()
    ]


def sources() -> list[Source]:
    """Every source of the datasheets' rates, once."""
    return list(dict.fromkeys(source for rates in PEAK_RATES.values() for source in rates.sources))


def sources_line() -> str:
    """The sources in words, by number."""
    return "; ".join(f"{number}: [{one.title}]({one.url})" for number, one in enumerate(sources(), 1)) + "."
