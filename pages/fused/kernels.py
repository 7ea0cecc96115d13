"""Section "Kernels": how close each quantizing kernel comes to a copy, and its source."""

from collections.abc import Sequence

import streamlit as st

from fp8core.recipes import RECIPES
from kernels.bench.quantizers import QuantizerKernel, QuantizerRow
from pages.fused import matmuls, quantizers
from pages.fused.charts.copy_ratio import Quantizer, ratio_chart
from pages.fused.controls import KERNEL
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.gemm.results import draw_left_out
from pages.kit.gemm.words import duration
from pages.kit.in_code.source_text import Source, files, text
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.tables import arrow_table, draw_rows
from pages.kit.terms.explain import draw_text
from pages.kit.view import here, stage
from pages.kit.widgets import Choice

IDEA = (
    "Quantizing does next to no arithmetic. So its limit is memory, and a **copy** of the tensor is the fair "
    "peer: it reads and writes at the speed that this GPU has. 1 means that the least bytes move as fast as "
    "in a copy of the same run. What reads its input twice cannot reach 1."
)
NOTHING = (
    "No quantizing kernel is recorded on any GPU yet. On one, `python -m kernels.bench --quantizers "
    "--record` measures them beside a copy and beside torch.compile."
)
_FUSED = (
    ("fused/kernel.py", "fused_kernel"),
    ("fused/copies.py", "write_copies"),
    ("strips/kernel.py", "strip_kernel"),
)
SOURCES = {
    QuantizerKernel.QUANTIZE: Source(
        title="Amax where it needs a pass of its own, one layout, and two layouts out of one read",
        places=(
            ("quantize/kernel.py", "amax_kernel"),
            ("quantize/kernel.py", "quantize_kernel"),
            ("quantize/both_kernel.py", "both_kernel"),
            ("strips/kernel.py", "strip_kernel"),
            ("strips/write.py", "write_along"),
            ("strips/write.py", "write_down"),
            ("strips/panel_kernel.py", "panel_kernel"),
        ),
    ),
    QuantizerKernel.SWIGLU: Source(
        title="SwiGLU in the kernel that quantizes",
        places=(("fused/blocks.py", "swiglu_block"), *_FUSED, ("strips/words.py", "swiglu_words")),
    ),
    QuantizerKernel.SWIGLU_BACKWARD: Source(
        title="SwiGLU's gradients in the kernel that quantizes",
        places=(("fused/blocks.py", "gradient_blocks"), *_FUSED, ("strips/words.py", "gradient_words")),
    ),
    QuantizerKernel.RMS_NORM: Source(
        title="RMSNorm in the kernel that quantizes",
        places=(
            ("fused/norm_kernel.py", "reciprocal_rms_kernel"),
            ("fused/blocks.py", "normed_block"),
            *_FUSED,
            ("strips/words.py", "normed_words"),
        ),
    ),
}
_BOTH = "along rows and down columns"
_NUMBER = st.column_config.NumberColumn
_COLUMNS = {
    "of a copy": _NUMBER(format="%.2f", help="Least bytes over time, over the copy's"),
    "of its own bytes": _NUMBER(format="%.2f", help="The same with the bytes that its passes move"),
    "× torch.compile": _NUMBER(format="%.2f", help="Speed over torch.compile of the same operations"),
    "× apart": _NUMBER(format="%.2f", help="Speed over two kernels, the first of which writes bf16"),
    "time, µs": _NUMBER(format="%.1f"),
    "GB/s": _NUMBER(format="%.0f"),
    "copy, GB/s": _NUMBER(format="%.0f"),
}


def size_control() -> Choice:
    """The choice of a size among those that some kernel was timed with, on any GPU."""
    every = [row for rows in quantizers.recorded().rows.values() for row in rows]
    found = {size: None for kernel in QuantizerKernel for size in quantizers.sizes(every, kernel)}
    largest_first = sorted(found, key=lambda size: -size[0] * size[1])
    options = {_key(size): _words(size) for size in largest_first} or {"none": "none"}
    return Choice(key="fused_size", label="Tensor", options=options, default=next(iter(options)))


def _key(size: quantizers.Size) -> str:
    return f"{size[0]}x{size[1]}"


def _words(size: quantizers.Size) -> str:
    return f"{size[0]:,} × {size[1]:,}"


def drawn(rows: Sequence[QuantizerRow]) -> list[Quantizer]:
    """A line a row."""
    return [
        Quantizer(
            line=name(row),
            recipe=row.job.recipe,
            ratio=row.ratio,
            time=duration(row.ours.median_us),
            rate=f"{row.gb_s:,.0f} GB/s; a copy {row.copy_gb_s:,.0f} GB/s",
            told=_told(row),
            compiled=None
            if row.compiled is None
            else row.bytes / row.compiled.median_us / 1e3 / row.copy_gb_s,
            compiled_time="" if row.compiled is None else duration(row.compiled.median_us),
            compiled_rate=""
            if row.compiled is None
            else f"{row.bytes / row.compiled.median_us / 1e3:,.0f} GB/s",
        )
        for row in rows
    ]


def name(row: QuantizerRow) -> str:
    """A row's recipe, tensor and layouts."""
    layouts = row.job.layouts.replace(_BOTH, "both ways")
    return f"{RECIPES[row.job.recipe].title}, {row.job.tensor} {layouts}"


def _told(row: QuantizerRow) -> str:
    said = [count(row.launches, "launch", "launches")]
    if row.moved_bytes > row.bytes:
        said.append(f"{row.moved_ratio:.2f} of a copy by the bytes of its passes")
    if row.compiled is None and row.compiled_note:
        said.append(f"torch.compile: {row.compiled_note}")
    return "; ".join(said)


def notice(rows: Sequence[QuantizerRow]) -> str:
    """The kernel nearest to a copy, and the gain over torch.compile."""
    best = max(rows, key=lambda row: row.ratio)
    said = f"{plain(name(best))} runs at **{best.ratio:.2f} of a copy's speed**."
    gains = [row.over_compiled for row in rows if row.over_compiled is not None]
    if gains:
        said += f" torch.compile's kernels take {min(gains):.2f} to {max(gains):.2f} times as long."
    return said


def turns(rows: Sequence[QuantizerRow]) -> str:
    """What each kernel took turns with, and why some have no time of torch.compile, in sentences."""
    lacking = [row for row in rows if row.compiled is None]
    if not lacking:
        return "Each took turns with a copy and with torch.compile in one run."
    why = "; ".join(dict.fromkeys(row.compiled_note for row in lacking))
    some = ", those with a hollow mark with torch.compile, too" * (len(lacking) < len(rows))
    share = f"{len(lacking)} of {len(rows)} {'has' if len(lacking) == 1 else 'have'}"
    return f"Each took turns with a copy in one run{some}. {share} no time of torch.compile: {why}."


def lines(rows: Sequence[QuantizerRow]) -> list[dict[str, object]]:
    """The table: a line a row."""
    return [
        {
            "quantizes": name(row),
            "of a copy": row.ratio,
            "of its own bytes": row.moved_ratio,
            "× torch.compile": row.over_compiled,
            "× apart": row.over_apart,
            "time, µs": row.ours.median_us,
            "launches": row.launches,
            "GB/s": row.gb_s,
            "copy, GB/s": row.copy_gb_s,
        }
        for row in rows
    ]


def show(controls: Controls, source: str, of_size: Choice) -> None:
    """Draw the ratios; the table, a word on matmuls and the source of the kernel."""
    view = here()
    draw_text(IDEA, view.know)
    draw_left_out(quantizers.recorded().bad)
    kernel = QuantizerKernel(controls.draw(KERNEL, view.control))
    rows = quantizers.of_gpu(source)
    if not rows:
        stage().info(NOTHING)
    else:
        _draw_rows(controls, rows, kernel, of_size)
    draw_text(matmuls.reason(matmuls.recorded()), view.know)
    view.know.caption(plain(f"{matmuls.recorded().origin}."))
    shown = SOURCES[kernel]
    view.know.markdown(f"The kernel on the screen: **{shown.title}**, {files(shown)}")
    view.know.code(text(shown), language="python", height=400)


def _draw_rows(
    controls: Controls, rows: Sequence[QuantizerRow], kernel: QuantizerKernel, of_size: Choice
) -> None:
    offered = {_key(size): size for size in quantizers.sizes(rows, kernel)}
    if not offered:
        stage().info(f"{kernel.title} is not recorded on this GPU yet.")
        return
    key = controls.draw(of_size, options={key: _words(size) for key, size in offered.items()})
    found = quantizers.of_size(rows, kernel, offered[key])
    draw_notice(notice(found))
    draw_chart(
        ratio_chart(drawn(found), room(), INKS[theme()]),
        key="fused_kernels",
        alt=f"{kernel.title}, speed over a copy's: "
        + "; ".join(f"{name(row)} {row.ratio:.2f}" for row in found),
        is_rigid=True,
    )
    know = here().know
    with know:
        draw_rows(arrow_table(lines(found)), column_config=_COLUMNS)
    know.caption(plain(f"{quantizers.where(found)}. {turns(found)}"))
