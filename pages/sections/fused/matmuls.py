"""Matmuls that quantize on the way: when that pays, what was measured of them, and the kernel to read."""

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import streamlit as st

from kernels.bench.fused_gemms import FusedGemmRow, read_fused_gemms
from kernels.bench.lines import slug
from pages.kit.file_stamps import Stamp, stamps
from pages.kit.gemm import results as gemm_results
from pages.kit.in_code.source_text import Source, explanation, files, text
from pages.kit.inert import plain
from pages.kit.origins import Measured, recorded_on, told, told_versions
from pages.kit.tables.arrow_table import arrow_table
from pages.kit.tables.draw import draw_rows
from pages.kit.terms.explain import draw_text

MATMUL = Source(
    title="A matmul that quantizes: A as it loads it, or D as it leaves",
    places=(("gemm/fused/simple_kernel.py", "fused_gemm_kernel"),),
    explained_in="gemm/fused/quantizing_kernel.py",
)
IN_MATMUL = (
    "A matmul can quantize its own A while loading it: no pass, and no codes in memory. But every block of D "
    "needs whole rows of A. So each row is quantized **as often as D is blocks wide**, beside the "
    "tensor cores' work. One pass before it quantizes each row once. Quantizing D on its way out has no "
    "such price: a block of D is written once."
)
_FOLDERS_KEPT = 2
_READING = threading.Lock()
"""Sessions that come first at the same time read the files once."""
_NUMBER = st.column_config.NumberColumn
_COLUMNS = {
    "fused, µs": _NUMBER(format="%.1f"),
    "two kernels, µs": _NUMBER(format="%.1f", help="The quantizer and the matmul, one after the other"),
    "× two kernels": _NUMBER(format="%.2f", help="Above 1, fusing pays"),
    "× matmul alone": _NUMBER(format="%.2f", help="1 is quantizing for nothing"),
}


@lru_cache(maxsize=_FOLDERS_KEPT)
def _read(folder: str, stamped: tuple[Stamp, ...]) -> tuple[FusedGemmRow, ...]:
    """The newest recorded row of each job; the stamps change when a file does."""
    rows = sorted(read_fused_gemms(Path(folder)).rows, key=lambda row: row.date)
    return tuple({(row.gpu, row.job): row for row in rows}.values())


def recorded(gpu: str) -> list[FusedGemmRow]:
    """The recorded rows of the GPU with this slug; those of all GPUs where it has none."""
    folder = str(gemm_results.RECORDS)
    with _READING:
        rows = _read(folder, stamps(folder))
    return [row for row in rows if slug(row.gpu) == gpu] or list(rows)


def lines(rows: Sequence[FusedGemmRow]) -> list[dict[str, object]]:
    """The table: a line a matmul."""
    return [
        {
            "matmul, M × N × K": row.job.title,
            "fused, µs": row.ours.median_us,
            "two kernels, µs": row.apart.median_us,
            "× two kernels": row.over_apart,
            "× matmul alone": row.over_gemm,
        }
        for row in rows
    ]


def _measured(row: FusedGemmRow) -> Measured:
    return Measured(
        place=recorded_on(row.gpu),
        date=row.date,
        versions=told_versions(row.versions),
        commit=row.commit or "",
    )


def draw(gpu: str) -> None:
    """Draw a part that is closed at first: the words, the times, the kernel's source."""
    with st.expander("A matmul that quantizes, with its source"):
        draw_text(IN_MATMUL)
        if rows := recorded(gpu):
            draw_rows(arrow_table(lines(rows)), column_config=_COLUMNS)
            st.caption(plain(f"{told(map(_measured, rows))}."))
        st.markdown(explanation(MATMUL.explained_in))
        st.markdown(f"**{MATMUL.title}**, the kernel to read: {files(MATMUL)}")
        st.code(text(MATMUL), language="python")
