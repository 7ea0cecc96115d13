"""Timelines as text: a line for each way of a step, and one for each of its kernels."""

from collections.abc import Iterable, Iterator

from kernels.layer.timeline.row import KernelRun, LayerRow, Role, Timeline

_MIB = 1 << 20
_COLUMNS = (
    ("way", 44),
    ("graph µs", 10),
    ("eager µs", 10),
    ("× bf16", 8),
    ("matmuls", 9),
    ("casts", 9),
    ("gaps", 7),
    ("held MiB", 10),
)
_CASTS = (Role.QUANTIZE, Role.FUSED, Role.PASS)
_WHAT = 58


def heading(timeline: Timeline) -> str:
    """The job, where it ran, and the names of the columns."""
    names = "".join(name.ljust(width) for name, width in _COLUMNS).rstrip()
    where = f" ({timeline.rows[0].machine.name}, {timeline.rows[0].date})" if timeline.rows else ""
    return f"{timeline.job.title}{where}\n{names}"


def lines(timeline: Timeline, *, kernels: bool) -> Iterator[str]:
    """A line for each way, with its kernels if those are wanted."""
    yield heading(timeline)
    for row in timeline.rows:
        yield line(row)
        if kernels:
            yield from map(kernel_line, row.kernels)
    yield from (f"{one.way.title}: left out. {one.reason}" for one in timeline.left_out)
    yield from notes(timeline.rows)


def line(row: LayerRow) -> str:
    """A way: wall times, speed over bf16, sums of kernels' times, time without a kernel, bytes held."""
    cells = (
        row.way.title,
        "-" if row.graph is None else f"{row.graph.median_us:.0f}",
        f"{row.eager.median_us:.0f}",
        f"{row.times_bf16:.2f}",
        f"{row.role_us(Role.MATMUL):.0f}",
        f"{sum(map(row.role_us, _CASTS)):.0f}",
        f"{row.gaps_us:.0f}",
        f"{(row.held_bytes + row.weight_bytes) / _MIB:.0f}",
    )
    return "".join(cell.ljust(width) for cell, (_, width) in zip(cells, _COLUMNS, strict=True)).rstrip()


def kernel_line(kernel: KernelRun) -> str:
    """A kernel: start, duration, what it does, its rate."""
    rate = f"{kernel.tflop_s:.0f} TFLOP/s" if kernel.tflop_s else ""
    rate = rate or (f"{kernel.gb_s:.0f} GB/s" if kernel.gb_s else "")
    return f"  {kernel.start_us:9.1f} {kernel.time_us:9.1f}  {kernel.what[:_WHAT]:<{_WHAT}}  {rate}".rstrip()


def notes(rows: Iterable[LayerRow]) -> Iterator[str]:
    """Sentences on ways that do something otherwise."""
    yield from (f"{row.way.title}. {row.note}" for row in rows if row.note)
