"""Section "Against torch": speed relative to torch's own op for the recipe, measured in one run."""

from collections.abc import Sequence
from functools import cache
from statistics import geometric_mean

import streamlit as st

from kernels.bench.job import Cache, GemmJob
from kernels.bench.machine import Timing
from kernels.bench.peers.quoted import Quoted, quoted
from kernels.bench.records import slug
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.gemm.results import Origin, Result
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import MATMUL
from pages.kit.shell import theme
from pages.sections.benchmarks import data
from pages.sections.benchmarks import live as benchmarks_live
from pages.sections.benchmarks.charts.ratios import Bar, Group, ratios_chart
from pages.sections.benchmarks.controls import CACHE, FAMILY, SIZE, Size

TORCH, BF16 = "torch's own op of the same recipe", "bf16 torch.mm: torch has no op"


def show(controls: Controls, gpu: str) -> None:
    """Draw the controls, the groups of bars, and the button that runs one of them here."""
    row = st.container(horizontal=True)
    family = controls.draw(FAMILY, row.container(width=150))
    matmul = controls.draw(MATMUL, row)
    size = Size(controls.draw(SIZE, row))
    l2 = Cache(controls.draw(CACHE, row))
    results = data.of_family(data.results_and_here(gpu), family)
    found = [r for r in results if is_asked(r, matmul, size, l2)]
    found_groups = groups(found, gpu)
    if found_groups:
        draw_notice(notice(found_groups))
        draw_chart(
            ratios_chart(found_groups, [TORCH, BF16], INKS[theme()]),
            key="benchmarks_ratios",
            alt=alt_text(found_groups),
        )
        st.caption(READING + " " + data.origin_sentence(found))
        if told := quoted_sentence(found, gpu):
            st.caption(told)
    else:
        st.info(
            f"No {MATMUL.options[matmul]} of such a shape is recorded with {l2.value} L2 yet; on a GPU, "
            "the button below measures one."
        )
    benchmarks_live.draw_gemm(controls, matmul, l2)


READING = (
    "Bars: the time of the peer divided by the time of the kernel. Both are medians of one run in which they "
    "took turns. The whisker divides the 20th percentile of one by the 80th of the other, and the reverse. "
    "Diamonds: the geometric mean over the recorded shapes, or over those measured here where none is "
    "recorded. Bars measured here have an outline."
)


def quoted_sentence(found: Sequence[Result], gpu: str) -> str:
    """One line of Markdown on libraries that are not timed here, for the GEMMs of these results; empty where
    there is none.
    """
    shown = {(*_what(result.row.job), data.shape(result.row.job)) for result in found}
    of_gpu = [one for one in _quoted() if slug(one.gpu) == gpu]
    asked = [one for one in of_gpu if (*_what(one.job), data.shape(one.job)) in shown]
    if not asked:
        return ""
    said = [
        f"**{one.library}**, {data.contender(one.job)}, {data.shape(one.job)}: {one.ratio:.2f} times as fast "
        "as torch's op"
        for one in asked
    ]
    where = dict.fromkeys(f"{one.gpu}, {one.date}; {one.source}" for one in asked)
    return (
        "On no package registry, so not timed here, but recorded by us in a run of its own: "
        f"{'; '.join(said)} ({'; '.join(where)})."
    )


def _what(job: GemmJob) -> tuple[str, str, Cache]:
    return job.recipe, job.matmul, job.cache


@cache
def _quoted() -> tuple[Quoted, ...]:
    return quoted()


def is_asked(result: Result, matmul: str, size: Size, cache: Cache) -> bool:
    job = result.row.job
    return (job.matmul, Size.of((job.m, job.n, job.k)), job.cache) == (matmul, size, cache)


def groups(found: Sequence[Result], gpu: str) -> list[Group]:
    """Rows with a peer, by recipe and by peer. The smallest GEMM comes first; runs made here come
    below it.
    """
    by_title: dict[tuple[int, str, str], list[Result]] = {}
    for result in sorted(found, key=_order):
        job = result.row.job
        peer = BF16 if result.row.torch_scaled is None else TORCH
        if bar(result, gpu) is not None:
            by_title.setdefault((data.place(job), data.contender(job), peer), []).append(result)
    made = []
    for (_, title, peer), members in sorted(by_title.items(), key=lambda item: item[0]):
        bars = tuple(one for one in (bar(member, gpu) for member in members) if one is not None)
        averaged = [one.ratio for one in bars if not one.is_here] or [one.ratio for one in bars]
        mean = geometric_mean(averaged)
        against = " ÷ bf16" if peer == BF16 else ""
        made.append(Group(title=title + against, peer=peer, mean=mean, averaged=len(averaged), bars=bars))
    return made


def _order(result: Result) -> tuple[int, tuple[int, int, int], bool]:
    job = result.row.job
    return job.flop, (job.m, job.n, job.k), result.origin is Origin.HERE


def bar(result: Result, gpu: str) -> Bar | None:
    """The ratio to torch's op, or to bf16 where torch has none; None for a row timed without a peer."""
    row = result.row
    peer = row.torch_scaled or row.bf16
    if peer is None or row.gemm is None:
        return None
    low, high = spread(peer, row.gemm)
    is_here = result.origin is Origin.HERE
    other = "" if data.is_of(row.machine, gpu) else f" on {row.machine.name}"
    return Bar(
        name=data.shape(row.job) + (", here" + other if is_here else ""),
        is_here=is_here,
        ratio=peer.median_us / row.gemm.median_us,
        low=low,
        high=high,
        facts=result.facts,
    )


def spread(peer: Timing, own: Timing) -> tuple[float, float]:
    """The least and the largest ratio between the 20th and 80th percentiles of both times."""
    return peer.p20_us / own.p80_us, peer.p80_us / own.p20_us


def notice(found: Sequence[Group]) -> str:
    """The recipes nearest to torch's op and farthest from it, by geometric mean, and those against bf16."""
    torch = [group for group in found if group.peer == TORCH]
    against_bf16 = [group for group in found if group.peer == BF16]
    said = []
    if torch:
        best, worst = max(torch, key=lambda g: g.mean), min(torch, key=lambda g: g.mean)
        said.append(f"**{best.title}** runs at {best.mean:.2f} of the speed of torch's own op")
        if worst is not best:
            said[-1] += f", **{worst.title}** at {worst.mean:.2f}"
        averaged = [group.averaged for group in torch]
        up_to = "" if min(averaged) == max(averaged) else "up to "
        said[-1] += f" (geometric mean over {up_to}{count(max(averaged), 'shape')})."
    said += [
        f"**{group.title}** is {group.mean:.2f} over {count(group.averaged, 'shape')}: torch has no op of "
        "that recipe on this GPU."
        for group in against_bf16
    ]
    return "**Notice:** " + " ".join(said)


def alt_text(found: Sequence[Group]) -> str:
    """The chart in words."""
    told = "; ".join(f"{g.title} {g.mean:.2f} against {g.peer}" for g in found)
    return f"Bars of speed over the peer's, by recipe and shape. Geometric means: {told}"
