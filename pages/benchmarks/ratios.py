"""Section "Against torch": speed over torch's own op for the recipe."""

from collections.abc import Sequence
from functools import cache
from statistics import geometric_mean

from fp8core.linear import MATMULS
from kernels.measure.jobs import Cache, GemmJob, shape_text
from kernels.measure.records import quoted, slug
from kernels.measure.rows import Peer
from pages.benchmarks import data
from pages.benchmarks.charts.rows import NO_OP, Group, Row, ratios_chart
from pages.benchmarks.controls import CACHE, FAMILY, SHAPE, SHAPES, SIZE, size_of
from pages.kit.controls import Controls
from pages.kit.gemm.presets import refusal
from pages.kit.gemm.results import Origin, Result
from pages.kit.shared_controls import MATMUL, draw_recipe, recipe_values
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room, stage


def show(controls: Controls, gpu: str) -> None:
    matmul = controls.draw(MATMUL, here().control)
    size, l2 = controls.draw(SIZE), Cache(controls.draw(CACHE))
    results = data.of_family(data.results(gpu, is_any_here=True), controls.draw(FAMILY))
    gemms = [r for r in results if is_of(r.row.job, matmul, size, l2)]
    if every := groups(gemms, gpu):
        draw_notice(notice(every))
        means = "; ".join(
            f"{one.title} {one.mean:.2f}" if one.mean else f"{one.title} {one.mean_bf16:.2f} against bf16"
            for one in every
        )
        draw_chart(
            ratios_chart(every, room(), page_ink()),
            key="benchmarks_ratios",
            alt=f"Points of speed over torch's op, by recipe and shape. Geometric means: {means}",
        )
        here().know.markdown(READING)
        for words in filter(None, (quoted_sentence(every), data.origin_sentence(gemms))):
            here().know.caption(words)
    else:
        stage().info(
            f"No {MATMUL.options[matmul]} of such a shape is recorded with {l2.value} L2 yet. On a GPU, "
            "a button under More controls measures one."
        )
    more = here().more
    more.markdown(f"**Measure one here**: {MATMULS[matmul].title}, {l2.value} L2")
    draw_recipe(controls, more)
    shape = SHAPES[controls.draw(SHAPE)].mnk(MATMULS[matmul])
    job = GemmJob(**recipe_values(controls), matmul=matmul, **shape, cache=l2)
    data.draw_run(job, "Run on the GPU", refusal(job, has_gpu=True))


READING = (
    "A point: the time of torch's own op of the same recipe, divided by the time of the kernel. Both are "
    "medians of one run in which they took turns. Its line divides the 20th percentile of one by the 80th of "
    "the other, and the reverse. The gray bar is the geometric mean over the recorded shapes, or over those "
    "measured here where none is recorded. Points measured here have an outline. At the right, the same "
    "GEMMs beside bf16 `torch.mm`. Hopper has no four-bit tensor cores: codes of NVFP4 are decoded to bf16 "
    "before they are multiplied."
)


def quoted_sentence(every: Sequence[Group]) -> str:
    others = [other for group in every for other in group.others]
    if not others:
        return ""
    names = ", ".join(dict.fromkeys(other["name"] for other in others))
    where = "; ".join(dict.fromkeys(other["source"] for other in others))
    return f"Hollow: {names}, on no package registry, and recorded by us in a run of its own ({where})."


_quoted = cache(quoted)


def is_of(job: GemmJob, matmul: str, size: str, cache: Cache) -> bool:
    return (job.matmul, size_of(job.mnk), job.cache) == (matmul, size, cache)


def groups(results: Sequence[Result], gpu: str) -> list[Group]:
    """Rows with a peer by contender, those without an op of torch's last.

    The smallest GEMM comes first, runs of this session below recorded ones.
    """
    by_title: dict[tuple[bool, int, str], list[Result]] = {}
    for result in sorted(results, key=_order):
        job = result.row.job
        if result.row.peer in result.row.times:
            key = (result.row.peer is not Peer.TORCH, data.order(job), data.contender(job))
            by_title.setdefault(key, []).append(result)
    return [_group(title, by_title[key], gpu) for key in sorted(by_title) for *_, title in [key]]


def _group(title: str, members: Sequence[Result], gpu: str) -> Group:
    dots = tuple(dot(member, gpu) for member in members)
    sample = [one for one in dots if not one["here"]] or dots
    jobs = [member.row.job for member in members]
    quotes = [one for one in _quoted() if slug(one.gpu) == gpu and data.contender(one.job) == title]
    return Group(
        title=title,
        recipe=jobs[0].recipe,
        mean=_mean([one["ratio"] for one in sample]),
        mean_bf16=_mean([one["bf16"] for one in sample]),
        dots=dots,
        others=tuple(
            {"line": line, "name": one.library, "ratio": one.ratio}
            | {"source": f"{one.gpu}, {one.date}; {one.source}"}
            for one in quotes
            for line, job in enumerate(jobs)
            if _gemm(one.job) == _gemm(job)
        ),
    )


def _gemm(job: GemmJob) -> tuple[object, ...]:
    return job.recipe, job.matmul, job.cache, job.mnk


def _mean(ratios: Sequence[float | None]) -> float | None:
    values = [one for one in ratios if one is not None]
    return geometric_mean(values) if values else None


def _order(result: Result) -> tuple[int, tuple[int, int, int], bool]:
    job = result.row.job
    return job.flop, job.mnk, result.origin is Origin.HERE


def dot(result: Result, gpu: str) -> Row:
    row = result.row
    own, peer = row.ours, row.times.get(Peer.TORCH)
    is_here = result.origin is Origin.HERE
    other = "" if data.is_of(row.machine, gpu) else f" on {row.machine.name}"
    return {
        "name": shape_text(row.job.mnk) + (", here" + other if is_here else ""),
        "here": is_here,
        "ratio": row.over(Peer.TORCH),
        "low": peer and peer.p20_us / own.p80_us,
        "high": peer and peer.p80_us / own.p20_us,
        "bf16": row.over(Peer.BF16),
        "words": result.words,
    }


def notice(every: Sequence[Group]) -> str:
    torch = [group for group in every if group.mean is not None]
    if not torch:
        best = max(every, key=lambda group: group.mean_bf16 or 0.0)
        return f"{best.title} is **{best.mean_bf16:.2f} times as fast as bf16**. {NO_OP}."
    best = max(torch, key=lambda group: group.mean)
    words = f"Every kernel takes turns with torch's best. {best.title}'s is on average **{_gain(best.mean)}**"
    faster = [one["name"] for one in best.others if one["ratio"] > (best.dots[one["line"]]["ratio"] or 0.0)]
    return f"{words}; {faster[0]}'s is faster still." if faster else f"{words}."


def _gain(ratio: float) -> str:
    share = abs(ratio - 1)
    return "as fast" if share < 0.005 else f"{share:.0%} {'faster' if ratio > 1 else 'slower'}"
