"""A table of results, to compare and to download."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import streamlit as st

from fp8core.inputs import INPUT_NOTES
from kernels.gemm.simple.dot_scaled import NOTE
from kernels.typed import to_data
from pages.kit.gemm.results import Result
from pages.kit.gemm.words import CACHE, INTO
from pages.kit.tables import arrow_table, draw_rows

_COLUMNS = {
    "rel_err": st.column_config.NumberColumn(format="%.2e"),
    "SQNR": st.column_config.NumberColumn(format="%.1f dB"),
    "time": st.column_config.NumberColumn(format="%.1f µs"),
    "TFLOP/s": st.column_config.NumberColumn(format="%.0f"),
    "× bf16": st.column_config.NumberColumn(format="%.2f", help="The matmul alone"),
    "× bf16, all": st.column_config.NumberColumn(format="%.2f", help="With quantizing A and B"),
    "× torch": st.column_config.NumberColumn(format="%.2f", help="torch's scaled op, the matmul alone"),
    "× simple": st.column_config.NumberColumn(
        format="%.2f", help="The simple kernel, the matmul alone; empty where it is the one that ran"
    ),
    "× dot_scaled": st.column_config.NumberColumn(format="%.2f", help=f"The matmul alone. {NOTE}"),
    "L2": st.column_config.TextColumn(
        help="hot: launches back to back, buffers rotated; cold: the L2 flushed before each launch"
    ),
}


def draw_table(results: Sequence[Result], *, key: str) -> list[Result]:
    """Draw the table. Returns the result that the reader picked in it, if any."""
    picked = draw_rows(
        arrow_table([_line(result) for result in results]),
        on_select="rerun",
        selection_mode="single-row",
        key=key,
        column_config=_COLUMNS,
    )
    rows = [row for row in picked.selection.rows if row < len(results)]
    return [results[row] for row in rows]


def _line(result: Result) -> dict[str, Any]:
    row, job = result.row, result.row.job
    return {
        "run on": result.where,
        "recipe": job.recipe_data.title,
        "matmul": job.matmul_data.title,
        "M × N × K": f"{job.m} × {job.n} × {job.k}",
        "rel_err": row.rel_err,
        "SQNR": row.sqnr_db,
        "time": row.gemm.median_us if row.gemm else None,
        "TFLOP/s": row.tflop_s,
        "× bf16": row.times_bf16,
        "× bf16, all": row.times_bf16_with_quantize,
        "× torch": row.times_torch_scaled,
        "× simple": row.times_simple,
        "× dot_scaled": row.times_dot_scaled,
        "input": INPUT_NOTES[job.input].title,
        "seed": job.seed,
        "accumulation": job.accumulation.words,
        "L2": CACHE[job.cache],
        "D": INTO[job.into],
        "date": row.date,
    }


def _record(result: Result) -> dict[str, Any]:
    row = result.row
    machine = row.machine
    times = {
        "gemm": row.gemm,
        "quantize": row.quantize,
        "bf16": row.bf16,
        "torch_scaled": row.torch_scaled,
        "simple": row.simple,
        "dot_scaled": row.dot_scaled,
    }
    return {
        "origin": result.origin.value,
        "provenance": row.provenance.value,
        "machine": machine.name,
        "date": row.date,
        **machine.versions,
        **to_data(row.job),
        "kernel": row.kernel,
        "why": row.why,
        "out": row.out,
        "rel_err": row.rel_err,
        "quantization_rel_err": row.quantization_rel_err,
        "kernel_rel_err": row.kernel_rel_err,
        "sqnr_db": row.sqnr_db,
        **{
            f"{name}_{field}": getattr(timing, field, None)
            for name, timing in times.items()
            for field in ("median_us", "p20_us", "p80_us")
        },
        "bytes": row.bytes,
        "tflop_s": row.tflop_s,
        "gb_s": row.gb_s,
        "times_bf16": row.times_bf16,
        "times_bf16_with_quantize": row.times_bf16_with_quantize,
        "times_torch_scaled": row.times_torch_scaled,
        "times_simple": row.times_simple,
        "times_dot_scaled": row.times_dot_scaled,
        "torch_op": row.torch_op,
        "bf16_op": row.bf16_op,
        "peer_note": row.peer_note,
        "clock_mhz": machine.clock_mhz,
        "power_w": machine.power_w,
        "peer_clock_mhz": row.peer_clock_mhz,
        "peer_power_w": row.peer_power_w,
        "turns": row.turns,
        "commit": row.commit,
    }


def draw_downloads(results: Sequence[Result]) -> None:
    st.download_button(
        "CSV",
        lambda: as_csv(results),
        "gemm.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
    )


def as_csv(results: Sequence[Result]) -> str:
    records = [_record(result) for result in results]
    text = io.StringIO()
    writer = csv.DictWriter(
        text, fieldnames=list(dict.fromkeys(name for record in records for name in record))
    )
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
