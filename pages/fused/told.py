"""Lanes of bars, sums, a sentence on what to notice and tables, out of the rows of timed steps."""

from collections.abc import Sequence
from functools import lru_cache

from kernels.layer.timeline.job import Way
from kernels.layer.timeline.row import KernelRun, LayerRow, LeftOut, Role
from pages.fused.charts.facts import Bar, Lane, Paint, Tone
from pages.fused.controls import WAY_NAMES, WAY_TOLD
from pages.fused.rows import Shown
from pages.kit import origins
from pages.kit.charts.words import bytes_text
from pages.kit.gemm.words import duration
from pages.kit.inert import plain
from pages.kit.tables import Table, arrow_table

ROLES = {
    Role.MATMUL: Paint("multiplies", Tone.WORK),
    Role.PASS: Paint("a pass of the matmul", Tone.BESIDE),
    Role.QUANTIZE: Paint("quantizes", Tone.COST),
    Role.ACTIVATION: Paint("activation", Tone.REST),
    Role.FUSED: Paint("activation that quantizes", Tone.MERGED),
    Role.OTHER: Paint("other", Tone.REST),
}
_RUNS = "Not all ways are of one run, but each took turns with bf16"
_KEPT = 128
_EARLY_US = 1.0
"""A kernel that starts earlier than this before the end of the one before is told to."""


def lanes(found: Sequence[Shown]) -> list[Lane]:
    """A lane a way."""
    return [_lane(one) for one in found]


@lru_cache(maxsize=_KEPT)
def _lane(one: Shown) -> Lane:
    row = one.row
    return Lane(
        name=WAY_NAMES[row.way.value],
        bars=tuple(map(_bar, row.kernels, own_us(row))),
        told=WAY_TOLD[row.way.value],
        speed=f"{row.times_bf16:.2f}×",
        time=duration(row.step_us),
        share=f"{share:.0%} quantizes" if (share := role_us(row, Role.QUANTIZE) / row.span_us) else "",
    )


def own_us(row: LayerRow) -> list[float]:
    """Times of kernels without what overlaps with kernels before: one may start early, and wait."""
    found, end = [], 0.0
    for kernel in row.kernels:
        found.append(max(0.0, kernel.end_us - max(kernel.start_us, end)))
        end = max(end, kernel.end_us)
    return found


def role_us(row: LayerRow, role: Role) -> float:
    """The time of a role's kernels, none of it counted twice."""
    return sum(own for kernel, own in zip(row.kernels, own_us(row), strict=True) if kernel.role is role)


def _bar(kernel: KernelRun, own: float) -> Bar:
    waited = kernel.time_us - own
    early = f", {duration(waited)} of it beside others" if waited > _EARLY_US else ""
    return Bar(
        start_us=kernel.start_us,
        end_us=kernel.end_us,
        own_us=own,
        role=ROLES[kernel.role].name,
        phase=kernel.phase.value,
        what=kernel.what,
        time=duration(kernel.time_us) + early,
        traffic="not counted" if kernel.bytes is None else bytes_text(kernel.bytes),
        rate=_rate(kernel),
        name=kernel.name,
    )


def _rate(kernel: KernelRun) -> str:
    rates = []
    if kernel.gb_s is not None:
        rates.append(f"{kernel.gb_s:,.0f} GB/s")
    if kernel.tflop_s is not None:
        rates.append(f"{kernel.tflop_s:,.0f} TFLOP/s")
    return ", ".join(rates) or "not counted"


def paints(found: Sequence[Shown]) -> tuple[Paint, ...]:
    """The roles that some kernel of these rows has, in their order."""
    used = {kernel.role for one in found for kernel in one.row.kernels}
    return tuple(paint for role, paint in ROLES.items() if role in used)


def by_way(found: Sequence[Shown]) -> dict[Way, LayerRow]:
    return {one.row.way: one.row for one in found}


def notice(found: Sequence[Shown]) -> str:
    """What naive casts cost, what fused ones leave, and the bound."""
    ways = by_way(found)
    naive, ours = ways.get(Way.NAIVE), ways.get(Way.OURS)
    if ours is None:
        first = next(iter(found)).row
        return f"{first.way.title} takes **{duration(first.step_us)} per step**."
    fused = f"the same step is **{ours.times_bf16:.2f} times as fast as bf16**"
    if naive is None:
        return f"Fused, {fused}."
    share = role_us(naive, Role.QUANTIZE) / naive.span_us
    return f"Op by op, quantizing takes {share:.0%} of the time. Fused, {fused}."


def lines(found: Sequence[Shown]) -> list[dict[str, object]]:
    """The table: a line a way."""
    return [
        {
            "way": row.way.title,
            "step, µs": row.step_us,
            "× bf16": row.times_bf16,
            "eager, µs": row.eager.median_us,
            "kernels": len(row.kernels),
            "matmuls, µs": role_us(row, Role.MATMUL),
            "quantizing, µs": role_us(row, Role.QUANTIZE),
            "gaps, µs": row.gaps_us,
            "GB moved": None if row.bytes is None else row.bytes / 1e9,
            "MiB held": row.held_bytes / (1 << 20),
        }
        for row in (one.row for one in found)
    ]


@lru_cache(maxsize=_KEPT)
def kernel_table(one: Shown) -> Table:
    """The table of one way's kernels."""
    return arrow_table(kernel_lines(one.row))


def kernel_lines(row: LayerRow) -> list[dict[str, object]]:
    """A line a kernel of one way."""
    return [
        {
            "kernel": kernel.what,
            "role": ROLES[kernel.role].name,
            "pass": kernel.phase.value,
            "start, µs": kernel.start_us,
            "time, µs": kernel.time_us,
            "MB": None if kernel.bytes is None else kernel.bytes / 1e6,
            "GB/s": kernel.gb_s,
            "TFLOP/s": kernel.tflop_s,
            "name": kernel.name,
        }
        for kernel in row.kernels
    ]


def origin_sentence(found: Sequence[Shown]) -> str:
    """One line of Markdown on the machine, its date and versions, and how kernels were timed."""
    clocks = dict.fromkeys(one.row.clock.value for one in found)
    graphs = "as one CUDA graph" if all(one.row.in_graph for one in found) else "some launched one by one"
    measured = [one.measured for one in found]
    is_one = len(set(measured)) == 1 and len({one.row.bf16 for one in found}) == 1
    runs = "All ways took turns in one run" if is_one else _RUNS
    return plain(f"{origins.told(measured)}. {runs}. Times of kernels by {' and '.join(clocks)}, {graphs}.")


def note_sentence(row: LayerRow) -> str:
    """One line of Markdown: the name of a way, then what it does otherwise."""
    return f"**{row.way.title}.** {plain(row.note)}"


def left_out_sentence(lacking: Sequence[LeftOut]) -> str:
    """One line of Markdown on the ways that were not timed here, with the reasons."""
    told = (f"{one.way.title} ({plain(one.reason)})" for one in lacking)
    return f"Not timed here: {'; '.join(told)}."
