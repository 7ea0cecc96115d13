"""The foot of the page "Start": three ways on, and the time of one layer in bf16 and in fp8."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape

import streamlit as st

from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, Axis, LayerShape
from fp8core.recipes import RECIPES
from kernels.gemm.numerics import Summation
from kernels.measure.jobs import Cache, GemmJob, Into
from kernels.measure.rows import Peer, Provenance, Row
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import count, duration, ratio
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm import results as gemm_results
from pages.kit.gemm.results import Origin, Recorded, Result, accumulation
from pages.kit.inert import plain

INTRODUCTION = (
    "A neural network trains by multiplying large matrices. In FP8, the numbers that are multiplied have "
    f"{FORMATS['e4m3'].bits} bits instead of {FORMATS['bf16'].bits}, and tensor cores multiply them faster. "
    "So few bits are enough only with the right **scales**."
)
NO_TIMES = "No time of a layer is recorded, and none was measured here yet."
TILES = "pages/tile_layouts.py"
DOORS = (
    ("pages/lesson.py", "Take the lesson"),
    (TILES, "See tile layouts"),
    ("pages/sanity_check.py", "Check my GPU"),
)
_KEY = "start_doors"


@dataclass(frozen=True, kw_only=True)
class LayerTimes:
    """Microseconds of some of a layer's matmuls together."""

    recipe: str
    layer: LayerShape
    matmuls: tuple[str, ...]
    bf16_us: float
    gemm_us: float
    quantize_us: float
    where: str
    when: str

    @property
    def fp8_us(self) -> float:
        return self.gemm_us + self.quantize_us

    @property
    def times_faster(self) -> float:
        return self.bf16_us / self.fp8_us


def layer_times() -> LayerTimes | None:
    """The layer of this session's newest GPU run; else the largest whole recorded one."""
    here = [Result(row, Origin.HERE) for row in gpu_queue.session().rows_of(Row) if _is_timed(row)]
    if here:
        return _together(_once(result for result in here if _same(result.row) == _same(here[0].row)))
    return _recorded(gemm_results.every_recorded())


@lru_cache(maxsize=2)
def _recorded(recorded: Recorded) -> LayerTimes | None:
    groups: dict[object, list[Result]] = {}
    for result in sorted(recorded.results, key=lambda one: one.row.date, reverse=True):
        if _is_timed(result.row) and _is_usual(result.row.job):
            groups.setdefault(_same(result.row), []).append(result)
    whole = [layer for layer in map(_once, groups.values()) if len(layer) == len(MATMULS)]
    order, rows = list(RECIPES), Counter(result.row.machine.name for result in recorded.results)

    def rank(layer: list[Result]) -> tuple[float, int, int]:
        first, flop = layer[0].row, sum(result.row.job.flop for result in layer)
        return -flop, order.index(first.job.recipe), -rows[first.machine.name]

    best = min(whole, key=rank, default=None)
    return None if best is None else _together(best)


def _is_timed(row: Row) -> bool:
    return row.provenance is Provenance.GPU and {Peer.OURS, Peer.BF16, Peer.QUANTIZE} <= row.times.keys()


def _is_usual(job: GemmJob) -> bool:
    usual = job.cache is Cache.HOT and job.into is Into.NEW and job.input is InputKind.GAUSSIAN
    return usual and job.recipe in RECIPES and accumulation(job) is Summation.RECIPE


def _same(row: Row) -> tuple[object, ...]:
    """The key of a layer on a GPU."""
    job = row.job
    layer = job.matmul_data.layer(job.m, job.n, job.k)
    return row.machine.name, job.recipe, job.own, layer, job.input, job.cache, job.into, accumulation(job)


def _once(results: Iterable[Result]) -> list[Result]:
    by_matmul: dict[str, Result] = {}
    for result in results:
        by_matmul.setdefault(result.row.job.matmul, result)
    return [by_matmul[name] for name in MATMULS if name in by_matmul]


def _together(results: Sequence[Result]) -> LayerTimes:
    first, job = results[0], results[0].row.job

    def total(peer: Peer) -> float:
        return sum(result.row.times[peer].median_us for result in results)

    return LayerTimes(
        recipe=job.recipe_data.title,
        layer=job.matmul_data.layer(job.m, job.n, job.k),
        matmuls=tuple(result.row.job.matmul_data.title for result in results),
        bf16_us=total(Peer.BF16),
        gemm_us=total(Peer.OURS),
        quantize_us=total(Peer.QUANTIZE),
        where=first.where,
        when=first.when,
    )


def about_times(times: LayerTimes | None) -> str:
    if times is None:
        return NO_TIMES
    sizes = ", ".join(f"{times.layer.size(axis):,} {axis.value}" for axis in Axis)
    return plain(
        f"Times: {', '.join(times.matmuls)} of a layer with {sizes}. bf16 takes {duration(times.bf16_us)}. "
        f"FP8 takes {duration(times.fp8_us)}, and {duration(times.quantize_us)} of these are for quantizing. "
        f"Recipe: {times.recipe}. {times.where}, {times.when}."
    )


def draw_doors(times: LayerTimes | None, ink: Ink, tiles: Mapping[str, str]) -> None:
    """Draw the three doors; `tiles` are the parameters of Tile layouts."""
    door = f".st-key-{_KEY} [data-testid='stPageLink']"
    st.html(
        f"<style>{door} a {{ border: 1px solid {ink.mid}; border-radius: 9px; padding: 10px 20px; "
        "min-height: 44px; justify-content: center; } "
        f"{door} a p {{ font-size: 16px; font-weight: 600; }} "
        f".st-key-{_KEY} > :first-child a {{ background: {ink.text}; border-color: {ink.text}; }} "
        f".st-key-{_KEY} > :first-child a * {{ color: {ink.page}; }} "
        f"[data-testid='stMain'] {door} a:focus-visible {{ outline-offset: 3px; }} "
        f".st-key-{_KEY} .faster {{ text-align: right; font-size: 15px; line-height: 22px; "
        f"color: {ink.soft}; }} .st-key-{_KEY} .faster b {{ display: block; font-size: 16px; "
        f"font-weight: 650; color: {ink.text}; }} "
        f".st-key-{_KEY} > :last-child {{ margin-left: auto; }} "
        f"@media (max-width: 640px) {{ .st-key-{_KEY} > * {{ flex: 1 1 40%; }} "
        f".st-key-{_KEY} > :is(:first-child, :last-child) {{ flex: 1 0 100%; }} "
        f"{door} > div, {door} a {{ width: 100%; padding: 10px 8px; }} "
        f".st-key-{_KEY} .faster {{ text-align: left; }} }}</style>"
    )
    faster = NO_TIMES
    if times is not None:
        layer = f"{count(len(times.matmuls), 'matmul')} of a layer, with quantizing. {times.where}"
        faster = f"<b>{escape(ratio(times.times_faster))} as fast as bf16</b>{escape(layer)}"
    with st.container(horizontal=True, key=_KEY, gap="small", vertical_alignment="center"):
        for page, label in DOORS:
            st.page_link(page, label=label, width="content", query_params=tiles if page == TILES else None)
        st.html(f'<div class="faster">{faster}</div>', width="content")
