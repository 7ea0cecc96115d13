"""Losses of a step: matmuls of a step against the fastest of them, all other kernels against a copy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

import streamlit as st

from kernels.bench.lines import slug
from kernels.layer.timeline.job import Way
from kernels.layer.timeline.row import KernelRun, LayerRow, Role
from pages.fused import rows
from pages.fused.charts.timeline import Bound, Paint, bounds_chart
from pages.fused.rows import Shown, own_us
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import count
from pages.kit.gemm.words import duration
from pages.kit.shell import theme
from pages.kit.view import here

READING = (
    "The full part of a bar is the time that a kernel needs at least: a matmul at the rate of this step's "
    "fastest fp8 matmul, any other one at the rate of a copy of as many bytes. The pale part is lost."
)
_FP8 = (Way.OURS, Way.OURS_KEPT, Way.BOUND)
_WITHIN = ": "
"""Between the words of a piece and those of one of its kernels."""
_MOMENT = 0.002
"""Of a step."""
_SPECS_KEPT = 24


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The rates that a step could have: of its fastest fp8 matmul, and of a copy where one was recorded."""

    tflop_s: float
    copy_gb_s: float | None


@dataclass(frozen=True, kw_only=True)
class Lost:
    """A piece of a step, its time, and the shortest one that is known to be possible; None where none is.

    Its kernels belong together: an amax, a cast and a copy turned around quantize one tensor.
    """

    what: str
    role: Role
    time_us: float
    least_us: float | None

    @property
    def lost_us(self) -> float:
        return 0.0 if self.least_us is None else self.time_us - self.least_us


def rates(ways: Sequence[Shown]) -> Rates | None:
    """The rates for these ways of one step; None where no fp8 matmul was timed."""
    fastest = [
        kernel.tflop_s for one in ways if one.row.way in _FP8 for kernel in one.row.kernels if kernel.tflop_s
    ]
    if not fastest:
        return None
    copies = rows.quantizers().rows.get(slug(ways[0].row.gpu), ())
    return Rates(tflop_s=max(fastest), copy_gb_s=median(row.copy_gb_s for row in copies) if copies else None)


def losses(row: LayerRow, reached: Rates) -> list[Lost]:
    """Each piece of a step beside its bound. No bound is longer than the piece itself took."""
    pieces: list[list[tuple[KernelRun, float]]] = [[]]
    ends = any(kernel.piece_bytes is not None for kernel in row.kernels)
    for kernel, own in zip(row.kernels, own_us(row), strict=True):
        pieces[-1].append((kernel, own))
        if kernel.piece_bytes is not None or not ends:
            pieces.append([])
    return [_lost(piece, reached) for piece in pieces if piece]


def _lost(piece: Sequence[tuple[KernelRun, float]], reached: Rates) -> Lost:
    kernels, time_us = [kernel for kernel, _ in piece], sum(own for _, own in piece)
    longest, last = max(kernels, key=lambda kernel: kernel.time_us), kernels[-1]
    what = longest.what if len(kernels) == 1 else longest.what.partition(_WITHIN)[0]
    flop, moved = longest.flop, last.bytes if last.piece_bytes is None else last.piece_bytes
    least_us = None
    if flop is not None:
        least_us = flop / reached.tflop_s / 1e6
    elif moved is not None and reached.copy_gb_s is not None:
        least_us = moved / reached.copy_gb_s / 1e3
    bound = None if least_us is None else min(time_us, least_us)
    return Lost(what=what, role=longest.role, time_us=time_us, least_us=bound)


def sentence(row: LayerRow, pieces: Sequence[Lost], reached: Rates) -> str:
    """The loss of matmuls and of the rest, the largest one, and the speed without any."""
    matmuls = [one for one in pieces if one.role is Role.MATMUL]
    others = [one for one in pieces if one.role is not Role.MATMUL]
    most = max(matmuls, key=lambda one: one.lost_us)
    parts = [
        f"matmuls lose **{_sum(matmuls):,.0f} µs** against the fastest one, {reached.tflop_s:,.0f} TFLOP/s, "
        f"and {most.what} loses most, {most.lost_us:,.0f} µs"
    ]
    counted = [one for one in others if one.least_us is not None]
    least = "" if len(counted) == len(others) else "at least "
    if counted:
        parts.append(
            f"all other kernels lose {least}**{_sum(counted):,.0f} µs** against a copy, "
            f"{reached.copy_gb_s:,.0f} GB/s"
        )
    speed = row.bf16.median_us / (row.step_us - _sum(pieces))
    parts.append(f"without these losses the step would have {least}{speed:.2f} times bf16's speed")
    words = "; ".join(parts)
    return f"{words[0].upper()}{words[1:]}."


def _sum(pieces: Sequence[Lost]) -> float:
    return sum(one.lost_us for one in pieces)


def draw(ways: Sequence[Shown], roles: Mapping[Role, Paint]) -> None:
    """Draw the fused way's kernels beside their bounds, where that way was timed."""
    ours = next((one for one in ways if one.row.way is Way.OURS), None)
    reached = rates(ways)
    if ours is None or reached is None:
        return
    lost = losses(ours.row, reached)
    shown = _shown(lost)
    st.header("What is left to gain?")
    st.markdown(sentence(ours.row, lost, reached))
    draw_chart(
        _spec(ours, reached, tuple(roles.items()), theme()),
        key="fused_bounds",
        alt="Kernels of the fused step and their bounds. "
        + "; ".join(f"{one.what}: {_words(one)}" for one in shown),
        is_rigid=True,  # words above the bars reach as far as a legend beside them would
    )
    here().know.markdown(READING + _left_out([one for one in lost if one not in shown]))


def _shown(pieces: Sequence[Lost]) -> list[Lost]:
    """The pieces that have a bound and take more than a moment."""
    least = _MOMENT * sum(one.time_us for one in pieces)
    return [one for one in pieces if one.least_us is not None and one.time_us >= least]


def _left_out(pieces: Sequence[Lost]) -> str:
    """A sentence on the kernels that the chart leaves out, if there are any."""
    if not pieces:
        return ""
    kernels, time = count(len(pieces), "kernel"), duration(sum(one.time_us for one in pieces))
    return f" Left out: {kernels}, {time} together, short or with bytes that nobody counted."


@lru_cache(maxsize=_SPECS_KEPT)
def _spec(ours: Shown, reached: Rates, roles: tuple[tuple[Role, Paint], ...], theme: str) -> Filled:
    bounds = [
        Bound(
            what=one.what,
            role=dict(roles)[one.role].name,
            time=one.time_us,
            least=one.least_us,
            figures=_words(one),
        )
        for one in _shown(losses(ours.row, reached))
    ]
    return bounds_chart(bounds, tuple(paint for _, paint in roles), INKS[theme])


def _words(one: Lost) -> str:
    assert one.least_us is not None, "a kernel without a bound is left out"
    return f"{duration(one.time_us)}, {one.time_us / max(one.least_us, 1e-9):.2f}× its bound"
