"""The foot of the page "Start": three ways on, and the time of one layer in bf16 and in fp8."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from html import escape

import streamlit as st

from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, Axis
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


def timed_layer() -> list[Result]:
    """Matmuls of the layer of this session's newest GPU run; else of the largest whole recorded one."""
    here = [Result(row, Origin.HERE) for row in gpu_queue.session().rows_of(Row) if _is_timed(row)]
    if here:
        return _once(result for result in here if _same(result.row) == _same(here[0].row))
    return _recorded(gemm_results.every_recorded())


@lru_cache(maxsize=2)
def _recorded(recorded: Recorded) -> list[Result]:
    groups: dict[object, list[Result]] = {}
    for result in sorted(recorded.results, key=lambda one: one.row.date, reverse=True):
        if _is_timed(result.row) and _is_usual(result.row.job):
            groups.setdefault(_same(result.row), []).append(result)
    whole = [layer for layer in map(_once, groups.values()) if len(layer) == len(MATMULS)]
    order, rows = list(RECIPES), Counter(result.row.machine.name for result in recorded.results)

    def rank(layer: list[Result]) -> tuple[float, int, int]:
        first, flop = layer[0].row, sum(result.row.job.flop for result in layer)
        return -flop, order.index(first.job.recipe), -rows[first.machine.name]

    return min(whole, key=rank, default=[])


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


def total_us(layer: Iterable[Result], *peers: Peer) -> float:
    return sum(result.row.times[peer].median_us for result in layer for peer in peers)


def about_times(layer: Sequence[Result]) -> str:
    if not layer:
        return NO_TIMES
    job = layer[0].row.job
    sizes = job.matmul_data.layer(job.m, job.n, job.k)
    bf16, fp8 = total_us(layer, Peer.BF16), total_us(layer, Peer.OURS, Peer.QUANTIZE)
    return plain(
        f"Times: {', '.join(one.row.job.matmul_data.title for one in layer)} of a layer with "
        f"{', '.join(f'{sizes.size(axis):,} {axis.value}' for axis in Axis)}. bf16 takes {duration(bf16)}. "
        f"FP8 takes {duration(fp8)}, and {duration(total_us(layer, Peer.QUANTIZE))} of these are for "
        f"quantizing. Recipe: {job.recipe_data.title}. {layer[0].where}, {layer[0].when}."
    )


def draw_doors(layer: Sequence[Result], ink: Ink, tiles: Mapping[str, str]) -> None:
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
    if layer:
        times = total_us(layer, Peer.BF16) / total_us(layer, Peer.OURS, Peer.QUANTIZE)
        words = f"{count(len(layer), 'matmul')} of a layer, with quantizing. {layer[0].where}"
        faster = f"<b>{escape(ratio(times))} as fast as bf16</b>{escape(words)}"
    with st.container(horizontal=True, key=_KEY, gap="small", vertical_alignment="center"):
        for page, label in DOORS:
            st.page_link(page, label=label, width="content", query_params=tiles if page == TILES else None)
        st.html(f'<div class="faster">{faster}</div>', width="content")
