"""Section "Any shape": speed over torch's best on shapes that a seed drew and nobody tuned."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import streamlit as st

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.measure.jobs import shape_text
from kernels.measure.random_shapes import (
    LARGEST,
    MAX_TOKENS,
    AnyShapeDraw,
    AnyShapeJob,
    Spread,
    percentile,
    spread,
)
from kernels.measure.records import slug
from kernels.measure.rows import Peer
from pages.benchmarks import data
from pages.benchmarks.charts.points import RANDOM_TITLES, Point, any_shape_chart
from pages.benchmarks.controls import DRAW_COUNT, DRAW_SEED, FAMILY
from pages.kit.charts.words import count, duration
from pages.kit.controls import Controls
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm import results as gemm_results
from pages.kit.gemm.results import Origin, Recorded, Result
from pages.kit.inert import plain
from pages.kit.look.presenter import projected
from pages.kit.origins import listed
from pages.kit.shared_controls import MATMUL, RECIPE, draw_recipe, recipe_values
from pages.kit.tables import draw_rows
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room, stage
from pages.kit.widgets import Place

IDEA = (
    "The other sections show shapes for which our kernels were tuned. These were **drawn at random**: "
    f"tokens from 1 to {MAX_TOKENS:,}, odd numbers too. The other dims are those of layers of Llama 3, "
    f"DeepSeek-V3 and Qwen3, or any multiple of 16. One layer in fifty has up to {LARGEST:,} features. "
    "Percentiles and a geometric mean sum them up."
)
READING = (
    "Each point is one GEMM: the time of torch's best op for the recipe divided by ours, medians of one run "
    "in which they took turns. With few operations per byte memory decides, with many the tensor cores. "
    "Points measured here have an outline. Click a name to see its points alone."
)
NOTHING = (
    "No {matmul} of random shapes is recorded on this GPU yet. There, `python -m kernels.measure random "
    "--count 200 --record` draws 200 and keeps them. A button under More controls draws a few and keeps none."
)
_REASONS = 3  # at most, of shapes that could not be timed
_NUMBER = st.column_config.NumberColumn
_COLUMNS = {
    "worst": _NUMBER(format="%.2f"),
    "10th percentile": _NUMBER(format="%.2f", help="One GEMM in ten is slower than this, relative to torch"),
    "median": _NUMBER(format="%.2f", help="Half the GEMMs are slower than this, relative to torch"),
    "geometric mean": _NUMBER(format="%.2f", help="A mean in which twice as fast and half as fast make 1"),
    "lost, median": _NUMBER(
        format="%.1f%%", help="How much longer the chosen blocks take than the best of all that were tried"
    ),
    "lost, 95th percentile": _NUMBER(
        format="%.1f%%", help="19 GEMMs in 20 lose no more than this by their choice of blocks"
    ),
}


@dataclass(frozen=True)
class RandomGemm(Result):
    @property
    def is_here(self) -> bool:
        return self.origin is Origin.HERE

    @cached_property
    def series(self) -> str:
        """The recipe, with its peer if that is not torch's own op."""
        peer = " ÷ bf16" * (self.row.peer is Peer.BF16)
        return RECIPES[self.row.job.recipe].title + peer + ", here" * self.is_here

    @cached_property
    def point(self) -> Point:
        row = self.row
        words = (
            f"{row.job.recipe_data.title}, {row.job.matmul_data.title}",
            shape_text(row.job.mnk),
            f"{duration(row.us(Peer.OURS))}, {row.tflop_s:,.0f} TFLOP/s",
            f"{duration(row.us(row.peer))}, {row.times[row.peer].op}",
            row.kernel,
            "not searched" if row.regret is None else f"{row.regret:.1%}",
            f"{data.origins_of([self])}, seed {row.job.seed}",
        )
        return Point(
            series=self.series,
            recipe=row.job.recipe,
            is_here=self.is_here,
            intensity=row.job.flop / row.bytes,
            speed=row.ratio,
            words=dict(zip(RANDOM_TITLES, words, strict=True)),
        )


def show(controls: Controls, gpu: str) -> None:
    view, matmul = here(), controls.draw(MATMUL, here().control)
    gemms = random_gemms(gpu, matmul, controls.draw(FAMILY))
    view.know.markdown(IDEA)
    if gemms:
        draw_notice(notice(groups(gemms)))
        _draw(gemms, stage(), key="benchmarks_any_shape")
        view.know.markdown(READING)
        view.know.caption(origin_sentence(gemms))
    else:
        stage().info(NOTHING.format(matmul=MATMULS[matmul].title))
    draws = gpu_queue.session().rows_of(AnyShapeDraw)
    if failures := [one for draw in draws if draw.job.matmul == matmul for one in draw.left_out]:
        reasons = [f"{one.m} × {one.n} × {one.k} ({plain(one.reason)})" for one in failures[:_REASONS]]
        more = f" and {len(failures) - _REASONS} more" if len(failures) > _REASONS else ""
        st.caption(f"Drawn here and not timed: {'; '.join(reasons)}{more}.")
    _draw_run(controls, matmul)


def _draw_run(controls: Controls, matmul: str) -> None:
    def draw_partial(draw: AnyShapeDraw) -> None:
        if draw.rows:
            gemms = [RandomGemm(row, Origin.HERE) for row in draw.rows]
            _draw(gemms, st, key="benchmarks_any_shape_so_far")

    more = here().more
    more.markdown(f"**Draw some here**: {MATMULS[matmul].title}, shapes that a seed gives")
    draw_recipe(controls, more)
    seed, number = controls.draw(DRAW_SEED), int(controls.draw(DRAW_COUNT))
    names = recipe_values(controls)
    name = RECIPE.default if names["own"] else names["recipe"]
    if names["own"]:
        title = RECIPES[name].title
        more.caption(f"A draw is of a published recipe, so {title} is drawn instead of your own.")
    job = AnyShapeJob(recipe=name, matmul=matmul, count=number, seed=seed)
    data.draw_run(job, "Run on the GPU", draw_partial=draw_partial)


def _draw(gemms: Sequence[RandomGemm], place: Place, key: str) -> None:
    sums = groups(gemms)
    means = "; ".join(
        f"{one.title} {one.ratios.geometric_mean:.2f}, {one.ratios.worst:.2f} to {one.ratios.best:.2f}"
        for one in sums
    )
    draw_chart(
        any_shape_chart([one.point for one in gemms], room(), page_ink(), is_aside=projected()),
        key=key,
        place=place,
        alt="Points of speed over torch's by operations per byte. Geometric means, worst to best: " + means,
    )
    lines = [
        {
            "recipe": group.title,
            "shapes": group.ratios.count,
            "worst": group.ratios.worst,
            "10th percentile": group.ratios.p10,
            "median": group.ratios.median,
            "geometric mean": group.ratios.geometric_mean,
            "lost, median": 100 * percentile(group.regrets, 0.5) if group.regrets else None,
            "lost, 95th percentile": 100 * percentile(group.regrets, 0.95) if group.regrets else None,
        }
        for group in sums
    ]
    draw_rows(lines, column_config=_COLUMNS)


def random_gemms(gpu: str, matmul: str, family: str) -> list[RandomGemm]:
    """The drawn GEMMs of a GPU by its slug and of this session, by recipe."""
    draws = reversed(gpu_queue.session().rows_of(AnyShapeDraw))
    here = [RandomGemm(row, Origin.HERE) for draw in draws for row in draw.rows if row.job.matmul == matmul]
    recorded = _by_gpu(gemm_results.every_recorded()).get((gpu, matmul), ())
    return data.of_family(_in_order([*recorded, *here]) if here else recorded, family)


def _in_order(gemms: Iterable[RandomGemm]) -> list[RandomGemm]:
    """The newest row of each GEMM, by recipe, those of this session last."""
    return sorted(
        data.newest(gemms),
        key=lambda one: (data.order(one.row.job), one.row.peer is Peer.BF16, one.is_here),
    )


@lru_cache(maxsize=2)
def _by_gpu(files: Recorded) -> Mapping[tuple[str, str], Sequence[RandomGemm]]:
    """Recorded rows by the slug of their GPU and the matmul."""
    gemms: dict[tuple[str, str], list[RandomGemm]] = {}
    for row in files.records.any_shape:
        gemms.setdefault((slug(row.gpu), row.job.matmul), []).append(RandomGemm(row, Origin.RECORDED))
    return {key: _in_order(members) for key, members in gemms.items()}


@dataclass(frozen=True, kw_only=True)
class Group:
    title: str
    gemms: Sequence[RandomGemm]
    ratios: Spread

    @property
    def regrets(self) -> list[float]:
        return [one.row.regret for one in self.gemms if one.row.regret is not None]


def groups(gemms: Sequence[RandomGemm]) -> list[Group]:
    members: dict[str, list[RandomGemm]] = {}
    for one in gemms:
        members.setdefault(one.series, []).append(one)
    return [
        Group(title=title, gemms=own, ratios=ratios)
        for title, own in members.items()
        if (ratios := spread(one.row.ratio for one in own)) is not None
    ]


def notice(gemms: Sequence[Group]) -> str:
    best = max(gemms, key=lambda group: group.ratios.geometric_mean)
    slowest = min((one for group in gemms for one in group.gemms), key=lambda one: one.row.ratio)
    return (
        f"On {count(best.ratios.count, 'random shape')}, {best.title} is **"
        f"{best.ratios.geometric_mean:.2f} times as fast as torch's best**. "
        f"The slowest: {slowest.row.ratio:.2f}, {slowest.series}, {shape_text(slowest.row.job.mnk)}."
    )


def origin_sentence(gemms: Sequence[RandomGemm]) -> str:
    seeds = [str(seed) for seed in sorted({one.row.job.seed for one in gemms})]
    return plain(f"{data.origins_of(gemms)}, {'seed' if len(seeds) == 1 else 'seeds'} {listed(seeds)}.")
