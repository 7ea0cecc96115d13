"""Results in a table to compare and to take home."""

import csv
import io
import json
import math
from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.ui.gemm_results import Result

_SHOWN_AT_ONCE = 2


def draw_table(results: Sequence[Result], *, key: str) -> list[Result]:
    """Draw the table; the results that the reader picked in it, at most two."""
    numbers = {
        "rel_err": "%.2e",
        "quantization": "%.2e",
        "kernel": "%.2e",
        "SQNR dB": "%.1f",
        "µs": "%.1f",
        "quantize µs": "%.1f",
        "TFLOP/s": "%.0f",
        "GB/s": "%.0f",
        "× bf16": "%.2f",
        "× bf16, quantized": "%.2f",
        "× torch scaled": "%.2f",
    }
    picked = st.dataframe(
        [shown(result) for result in results],
        hide_index=True,
        on_select="rerun",
        selection_mode="multi-row",
        key=key,
        column_config={name: st.column_config.NumberColumn(format=form) for name, form in numbers.items()},
    )
    rows = [row for row in picked.selection.rows if row < len(results)]
    return [results[row] for row in rows[:_SHOWN_AT_ONCE]]


def shown(result: Result) -> dict[str, Any]:
    """A line of the table."""
    row, job = result.row, result.row.job
    return {
        "run on": result.where,
        "recipe": job.recipe_data.title,
        "matmul": job.matmul_data.title,
        "M": job.m,
        "N": job.n,
        "K": job.k,
        "input": job.input.value,
        "seed": job.seed,
        "accumulation": job.accumulation.value,
        "rel_err": row.rel_err,
        "quantization": row.quantization_rel_err,
        "kernel": row.kernel_rel_err,
        "SQNR dB": row.sqnr_db,
        "µs": row.gemm.median_us if row.gemm else None,
        "quantize µs": row.quantize.median_us if row.quantize else None,
        "TFLOP/s": row.tflop_s,
        "GB/s": row.gb_s,
        "× bf16": row.times_bf16,
        "× bf16, quantized": row.times_bf16_with_quantize,
        "× torch scaled": row.times_torch_scaled,
    }


def draw_downloads(results: Sequence[Result]) -> None:
    """Buttons that give these results as a CSV table and as JSON with everything in it."""
    with st.container(horizontal=True):
        st.download_button(
            "CSV",
            lambda: as_csv(results),
            "gemm.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
        st.download_button(
            "JSON",
            lambda: as_json(results),
            "gemm.json",
            "application/json",
            icon=":material/download:",
            on_click="ignore",
        )


def as_csv(results: Sequence[Result]) -> str:
    """The table as CSV."""
    text = io.StringIO()
    lines = [{**shown(result), "origin": result.origin.value} for result in results]
    writer = csv.DictWriter(text, fieldnames=list(lines[0]) if lines else [])
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def as_json(results: Sequence[Result]) -> str:
    """Every row in full, as strict JSON: what is not a finite number becomes null."""
    rows = [{"origin": result.origin.value, **result.row.to_dict()} for result in results]
    return json.dumps(_finite(rows), indent=1, allow_nan=False, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
