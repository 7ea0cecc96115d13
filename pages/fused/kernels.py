"""Section "Kernels": each quantizing kernel's speed over a copy's, and its source."""

import tomllib
from collections.abc import Iterable, Sequence
from functools import cache

from fp8core.recipes import RECIPES
from kernels.measure.jobs import GemmJob, QuantizerKernel
from kernels.measure.rows import Peer, QuantizerRow
from kernels.paths import RECORDS
from kernels.typed import from_data
from pages.fused import rows
from pages.fused.charts.kernels import COMPILED, OURS, Row, ratio_chart
from pages.kit.charts.words import NONE, count, duration
from pages.kit.controls import Controls
from pages.kit.gemm.results import draw_left_out
from pages.kit.in_code.source_text import Source, files, text
from pages.kit.inert import plain
from pages.kit.origins import RowOrigin, origins_words, recorded_on, row_origin, versions_words
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room, stage
from pages.kit.widgets import Choice, Select

KERNEL = Select(
    key="fused_kernel",
    label="Kernel",
    options={kernel.value: kernel.title for kernel in QuantizerKernel},
    default=QuantizerKernel.QUANTIZE.value,
)
IDEA = (
    "Quantizing does next to no arithmetic. So its limit is memory, and a **copy** of the tensor is the fair "
    "peer: it reads and writes at the speed that this GPU has. 1 means that the least bytes move as fast as "
    "in a copy of the same run. What reads its input twice cannot reach 1."
)
TURNS = "Each took turns with a copy in one run, those with a hollow mark with torch.compile, too."
NOTHING = (
    "No quantizing kernel is recorded on any GPU yet. On one, `python -m kernels.measure quantizer "
    "--record` measures them beside a copy and beside torch.compile."
)
MATMULS = (
    "No matmul here quantizes its own operands. A block of D needs whole rows of A. So a matmul that "
    "quantizes A quantizes each row **as often as D is blocks wide**. A kernel before it quantizes each row "
    "once. A matmul can quantize D, too: it stores each block of D once. Both were timed beside a quantizer "
    "and a matmul, one after the other."
)
_KERNEL = ("quantize/kernel.py", "quantize_kernel")
SOURCES = {
    QuantizerKernel.QUANTIZE: Source(
        title="Amax where it needs a pass of its own, one layout, and two layouts out of one read",
        places=(
            ("quantize/passes.py", "amax_kernel"),
            _KERNEL,
            ("quantize/kernel.py", "_write_copies"),
            ("quantize/write.py", "write_block"),
        ),
    ),
    QuantizerKernel.SWIGLU: Source(
        title="SwiGLU in the kernel that quantizes", places=(("quantize/sources.py", "swiglu_block"), _KERNEL)
    ),
    QuantizerKernel.SWIGLU_BACKWARD: Source(
        title="SwiGLU's gradients in the kernel that quantizes",
        places=(("quantize/sources.py", "gradient_blocks"), _KERNEL),
    ),
    QuantizerKernel.RMS_NORM: Source(
        title="RMSNorm in the kernel that quantizes",
        places=(
            ("quantize/passes.py", "reciprocal_rms_kernel"),
            ("quantize/sources.py", "normed_block"),
            _KERNEL,
        ),
    ),
}
_BOTH = "along rows and down columns"


def size_control() -> Choice:
    options = _sizes(row for of_gpu in rows.quantizers().rows.values() for row in of_gpu) or {"none": "none"}
    return Choice(key="fused_size", label="Tensor", options=options)


def _sizes(rows: Iterable[QuantizerRow]) -> dict[str, str]:
    sizes = {(row.job.rows, row.job.columns) for row in rows}
    largest_first = sorted(sizes, key=lambda size: (-size[0] * size[1], size))
    return {f"{size[0]}x{size[1]}": f"{size[0]:,} × {size[1]:,}" for size in largest_first}


def show(controls: Controls, source: str, of_size: Choice) -> None:
    view, records = here(), rows.quantizers()
    view.know.markdown(IDEA)
    draw_left_out(records.bad)
    kernel = QuantizerKernel(controls.draw(KERNEL, view.control))
    of_gpu = records.rows.get(source) or next(iter(records.rows.values()), ())
    of_kernel = [row for row in of_gpu if row.job.kernel is kernel]
    if not of_gpu:
        stage().info(NOTHING)
    elif not of_kernel:
        stage().info(f"{kernel.title} is not recorded on this GPU yet.")
    else:
        size = controls.draw(of_size, options=_sizes(of_kernel))
        _draw_rows([row for row in of_kernel if f"{row.job.rows}x{row.job.columns}" == size])
    a, d, origin = fused_matmuls()
    view.know.markdown(
        f"{MATMULS} Quantizing A in the matmul took **{a:.2f}** times as long, quantizing D **{d:.2f}** "
        "times. So this program has neither."
    )
    view.know.caption(plain(f"{origin}."))
    code = SOURCES[kernel]
    view.know.markdown(f"The kernel on the screen: **{code.title}**, {files(code)}")
    view.know.code(text(code), language="python", height=400)


def _draw_rows(all_rows: Sequence[QuantizerRow]) -> None:
    draw_notice(notice(all_rows))
    ours, peers = (
        [_mark(y, row, who, peer) for y, row in enumerate(all_rows) if peer in row.times]
        for who, peer in ((OURS, Peer.OURS), (COMPILED, Peer.COMPILED))
    )
    draw_chart(
        ratio_chart(ours, peers, room(), page_ink()),
        key="fused_kernels",
        alt=f"{all_rows[0].job.kernel.title}, speed over a copy's: "
        + "; ".join(f"{name(row)} {row.ratio:.2f}" for row in all_rows),
    )
    origins = (row_origin(row, recorded_on(row.gpu)) for row in all_rows)
    here().know.caption(plain(f"{origins_words(origins)}. {TURNS}"))


def _mark(y: int, row: QuantizerRow, who: str, peer: Peer) -> Row:
    time_us = row.us(peer)
    gb_s = row.job.bytes / time_us / 1e3
    return {
        "y": y,
        "name": name(row),
        "recipe": row.job.recipe,
        "who": who,
        "ratio": gb_s / row.copy_gb_s,
        "time": duration(time_us),
        "rate": f"{gb_s:,.0f} GB/s; a copy {row.copy_gb_s:,.0f} GB/s",
        "note": _note(row) if peer is Peer.OURS else NONE,
    }


def name(row: QuantizerRow) -> str:
    layouts = row.job.layouts.replace(_BOTH, "both ways")
    return f"{RECIPES[row.job.recipe].title}, {row.job.tensor} {layouts}"


def _note(row: QuantizerRow) -> str:
    parts = [count(row.launches, "launch", "launches")]
    if row.moved_bytes > row.job.bytes:
        parts.append(f"{row.moved_ratio:.2f} of a copy by the bytes of its passes")
    if apart := row.over(Peer.APART):
        parts.append(f"{apart:.2f} times as fast as two kernels apart")
    if Peer.COMPILED not in row.times and row.note:
        parts.append(f"torch.compile: {row.note}")
    return "; ".join(parts)


def notice(rows: Sequence[QuantizerRow]) -> str:
    best = max(rows, key=lambda row: row.ratio)
    parts = f"{plain(name(best))} runs at **{best.ratio:.2f} of a copy's speed**."
    gains = [row.over(Peer.COMPILED) for row in rows if row.over(Peer.COMPILED) is not None]
    if gains:
        parts += f" torch.compile's kernels take {min(gains):.2f} to {max(gains):.2f} times as long."
    return parts


@cache
def fused_matmuls() -> tuple[float, float, str]:
    """Times of a matmul that quantizes A, and of one that quantizes D, over a quantizer's and a matmul's.

    The last item is the origin of these times.
    """
    row = tomllib.loads((RECORDS / "fused_matmuls.toml").read_text(encoding="utf-8"))
    origin = RowOrigin(
        place=recorded_on(row["gpu"]),
        date=row["date"],
        versions=versions_words(row["versions"]),
        commit=row["commit"],
    )
    a, d = (row[operand]["fused_us"] / row[operand]["apart_us"] for operand in ("a", "d"))
    return a, d, f"{from_data(GemmJob, row['job']).title}. {origins_words([origin])}"
