"""Section "Table": every row, to filter and to download, and the rates of datasheets."""

from functools import cache
from typing import Any

import streamlit as st

from kernels.bench.ceilings.peak_rates import PEAK_RATES, Rate, Source
from kernels.gemm.simple.dot_scaled import NOTE
from pages.kit.controls import Controls
from pages.kit.gemm.results import Origin, Result
from pages.kit.gemm.results_table import draw_downloads
from pages.kit.origins import CHANGED
from pages.kit.tables.arrow_table import Table, arrow_table
from pages.kit.tables.draw import draw_rows
from pages.sections.benchmarks import data
from pages.sections.benchmarks.controls import (
    ANY,
    TABLE_CACHE,
    TABLE_MATMUL,
    TABLE_RECIPE,
    family_key,
)

_RIDGE = "With more operations per byte than this, memory is not the limit"
_TWO_DIGITS = {
    "× torch": "Times as fast as torch's scaled op of the same recipe in the same run, the matmul alone",
    "× bf16": "Times as fast as bf16 torch.mm in the same run, the matmul alone",
    "× bf16, all": "Times as fast as bf16 torch.mm in the same run, with the time of quantizing A and B",
    "× simple": "Times as fast as the simple kernel in the same run; empty where that is the one that ran",
    "× dot_scaled": f"Times as fast as tl.dot_scaled in the same run. {NOTE}",
}
_NUMBER = st.column_config.NumberColumn
_COLUMNS = {
    "M × N × K": st.column_config.TextColumn(width=150),
    "GEMM": _NUMBER(format="%.1f µs"),
    "p20": _NUMBER(format="%.1f µs"),
    "p80": _NUMBER(format="%.1f µs"),
    "quantize": _NUMBER(format="%.1f µs", help="Quantizing A and B"),
    "TFLOP/s": _NUMBER(format="%.0f"),
    "GB/s": _NUMBER(format="%.0f", help="Codes, scales and D, once each, over time"),
    "MHz": _NUMBER(format="%.0f", help="SM clock while it was timed"),
    "W": _NUMBER(format="%.0f", help="Power while it was timed"),
    "MHz, torch": _NUMBER(format="%.0f", help="SM clock under torch's op, or under bf16 where there is none"),
    "commit": st.column_config.TextColumn(help=f"Of this code, as it was measured; {CHANGED}"),
    **{name: _NUMBER(format="%.2f", help=told) for name, told in _TWO_DIGITS.items()},
}
_RATES_COLUMNS = {
    **{rate.value: _NUMBER(format="localized", help="Dense TFLOP/s") for rate in Rate},
    "memory": _NUMBER(format="localized", help="GB/s"),
    **{name: _NUMBER(format="%.0f", help=_RIDGE) for name in ("ridge, fp8", "ridge, bf16")},
}


def show(controls: Controls, gpu: str) -> None:
    """Draw the filters, the rows, the downloads and the datasheets' rates."""
    row = st.container(horizontal=True)
    asked = {
        "recipe": controls.draw(TABLE_RECIPE, row),
        "matmul": controls.draw(TABLE_MATMUL, row),
        "cache": controls.draw(TABLE_CACHE, row),
    }
    rows = [r for r in data.every_result() if r.origin is Origin.HERE or data.is_of(r.row.machine, gpu)]
    found = [result for result in reversed(rows) if is_asked(result, asked)]
    if found:
        draw_rows(arrow_table([result.line for result in found]), column_config=_COLUMNS)
        st.caption(
            f"{len(found):,} rows, the newest first. A click on a column sorts; the files hold every field, "
            "percentiles and versions too."
        )
        draw_downloads(found)
    else:
        st.info("No row is recorded or was measured here with these filters.")
    st.header("What do the datasheets promise?")
    draw_rows(_rates(), column_config=_RATES_COLUMNS)
    st.caption(
        "Dense peaks (without structured sparsity) in TFLOP/s at the boost clock, memory in GB/s; a card at "
        "its power limit runs slower. Ridge: with more operations per byte than this, memory is not the "
        f"limit. Sources: {sources_line()}"
    )


def is_asked(result: Result, asked: dict[str, str]) -> bool:
    """True if a row passes every filter."""
    job = result.row.job
    has = {
        "recipe": (job.recipe, family_key(job.recipe_data.family)),
        "matmul": (job.matmul,),
        "cache": (job.cache.value,),
    }
    return all(value in (ANY, *has[field]) for field, value in asked.items())


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
