"""Section "What does the scale cost?": one GEMM by every recipe, alone and with its quantization."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from fp8core.costs import matmul_rescales
from fp8core.linear import MATMULS, Side
from fp8core.recipes import Recipe
from fp8core.tiles import WHOLE, TileShape
from kernels.bench.job import Cache, GemmJob, Into
from kernels.bench.row import Row
from kernels.gemm.meaning import Summation
from pages.benchmarks import data
from pages.benchmarks.charts.rows import Cost, cost_chart
from pages.benchmarks.controls import CACHE, FAMILY, SHAPE, SHAPES
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import bits_words, count
from pages.kit.controls import Controls
from pages.kit.gemm.results import Result
from pages.kit.gemm.words import NONE, duration
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import MATMUL
from pages.kit.shell import theme
from pages.kit.tables import arrow_table, draw_rows
from pages.kit.view import here, stage

BF16 = "bf16 torch.mm"
_TENSOR = TileShape(WHOLE, WHOLE)


def show(controls: Controls, gpu: str) -> None:
    """Draw the bars, and their figures in a table."""
    view = here()
    preset = SHAPES[controls.draw(SHAPE, view.control)]
    matmul, family = controls.draw(MATMUL), controls.draw(FAMILY)
    cache = Cache(controls.draw(CACHE))
    mnk = tuple(preset.mnk(MATMULS[matmul]).values())
    results = [r for r in data.results(gpu) if is_asked(r, matmul, mnk, cache)]
    runs, per_tensor = by_recipe(data.of_family(results, family)), first_per_tensor(by_recipe(results))
    if not runs:
        stage().info(
            f"{MATMUL.options[matmul]} of this shape is not recorded with {cache.value} L2. “Against torch” "
            "has a button that measures it, where there is a GPU."
        )
        return
    costs = costs_of(runs)
    draw_notice(notice(runs))
    draw_chart(
        cost_chart(costs, room(), INKS[theme()]),
        key="benchmarks_cost",
        alt=alt_text(costs),
        is_rigid=True,
    )
    view.know.markdown(READING)
    with view.know:
        draw_rows(arrow_table(lines(runs, per_tensor)), column_config=_COLUMNS)
    view.know.caption(data.origin_sentence([run.result for run in runs]))


READING = (
    "Each recipe's times are divided by those of bf16 `torch.mm` in the same run: the GPU's clock was the "
    "same for both. The figures: the matmul alone, then the time of quantizing A and B. A model that keeps "
    "quantized weights quantizes its activations only."
)
_COLUMNS = {
    "bits, A and B": st.column_config.TextColumn(
        help="Memory for each element, its share of the scales included"
    ),
    "scales along K": st.column_config.NumberColumn(
        help="Stretches of K along which no scale changes: how often an output element is rescaled"
    ),
    **{
        name: st.column_config.NumberColumn(format="%.2f", help=told)
        for name, told in {
            "× bf16": "Speed over bf16 in the same run, the matmul alone",
            "× bf16, all": "Speed over bf16 in the same run, with the time of quantizing A and B",
            "× per tensor": "Speed over the first per-tensor recipe, both over bf16, the matmul alone",
        }.items()
    },
}


@dataclass(frozen=True)
class Run:
    """One recipe's timed GEMM that has bf16 beside it."""

    result: Result

    @property
    def row(self) -> Row:
        return self.result.row

    @property
    def job(self) -> GemmJob:
        return self.row.job

    @property
    def recipe(self) -> Recipe:
        return self.job.recipe_data

    @property
    def title(self) -> str:
        """The recipe's title, unlike that of any other run."""
        return self.recipe.title + ", your own" * bool(self.job.own)

    @property
    def matmul(self) -> float:
        """Time relative to bf16."""
        return self.row.gemm.median_us / self.row.bf16.median_us

    @property
    def quantize(self) -> float | None:
        """Time of quantizing A and B, relative to the bf16 matmul."""
        return self.row.quantize.median_us / self.row.bf16.median_us if self.row.quantize else None


def is_asked(result: Result, matmul: str, mnk: tuple[int, int, int], cache: Cache) -> bool:
    """True if a result is of that GEMM as its recipe says, into a new D, with bf16 beside it."""
    job = result.row.job
    as_recipe = data.accumulation(job) is Summation.RECIPE and job.into is Into.NEW
    is_same = (job.matmul, (job.m, job.n, job.k), job.cache) == (matmul, mnk, cache)
    return is_same and as_recipe and result.row.bf16 is not None


def by_recipe(results: Sequence[Result]) -> list[Run]:
    """One run a recipe, in the recipes' order: this server's run if there is one, else the recorded one.

    The reader's own recipe that ran last comes last.
    """
    runs = {result.row.job.recipe: Run(result) for result in results}
    return sorted(runs.values(), key=lambda run: data.order(run.job))


def first_per_tensor(runs: Sequence[Run]) -> Run | None:
    """The first recipe with one scale a tensor on both operands."""
    return next((run for run in runs if _is_per_tensor(run)), None)


def _is_per_tensor(run: Run) -> bool:
    spec = run.recipe.spec(run.job.matmul_data)
    return len(spec.quantized) == len(Side) and all(o.tile == _TENSOR for o in spec.quantized)


def costs_of(runs: Sequence[Run]) -> list[Cost]:
    """The bars, bf16 first, which is 1."""
    return [Cost(name=BF16, recipe=None, matmul=1.0, quantize=None, words=None)] + [
        Cost(
            name=run.title,
            recipe=run.job.recipe,
            matmul=run.matmul,
            quantize=run.quantize,
            words=run.result.words,
        )
        for run in runs
    ]


def notice(runs: Sequence[Run]) -> str:
    """A comparison of the finest scale with one scale a tensor."""
    per_tensor = first_per_tensor(runs)
    others = [run for run in runs if not _is_per_tensor(run)]
    if per_tensor is None or not others:
        fastest = min(runs, key=lambda run: run.matmul)
        return f"The matmul of {fastest.title} takes **{fastest.matmul:.2f} of bf16's time**."
    finest = max(others, key=_scales)
    return (
        f"With {count(_scales(finest), 'scale')} along K, the matmul of {finest.title} takes **"
        f"{finest.matmul / per_tensor.matmul:.2f} times as long** as with one scale per tensor."
    )


def _scales(run: Run) -> int:
    """The number of stretches of K along which no scale changes: how often an output element is rescaled."""
    job = run.job
    return matmul_rescales(run.recipe, job.matmul_data, job.matmul_data.layer(job.m, job.n, job.k))


def lines(runs: Sequence[Run], per_tensor: Run | None) -> list[dict[str, object]]:
    """The table: a line a recipe."""
    return [
        {
            "recipe": run.title,
            "bits, A and B": _bits(run),
            "scales along K": _scales(run),
            "GEMM": duration(run.row.gemm.median_us),
            "quantize A and B": duration(run.row.quantize.median_us) if run.row.quantize else NONE,
            "bf16, same run": duration(run.row.bf16.median_us),
            "× bf16": run.row.times_bf16,
            "× bf16, all": run.row.times_bf16_with_quantize,
            "× per tensor": per_tensor.matmul / run.matmul if per_tensor else None,
            "measured": f"{run.result.where}, {run.row.date}",
        }
        for run in runs
    ]


def _bits(run: Run) -> str:
    """The bits of an element of A and of B, their shares of the scales included."""
    job, matmul = run.job, run.job.matmul_data
    layer = matmul.layer(job.m, job.n, job.k)
    return ", ".join(
        bits_words(run.recipe.operand(matmul, side), layer.of(matmul.operand(side))) for side in Side
    )


def alt_text(costs: Sequence[Cost]) -> str:
    """The chart in words."""
    return "Bars of time. " + "; ".join(
        f"{cost.name}: {cost.matmul:.2f}, with quantization {cost.whole:.2f}" for cost in costs
    )
