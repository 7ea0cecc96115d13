"""Section "Cost of a scale": one GEMM by every recipe, alone and with its quantization."""

from collections.abc import Sequence

import streamlit as st

from fp8core.costs import matmul_rescales
from fp8core.linear import MATMULS, Side
from fp8core.tiles import WHOLE, TileShape
from kernels.gemm.numerics import Summation
from kernels.measure.jobs import Cache, GemmJob, Into
from kernels.measure.rows import Peer
from pages.benchmarks import data
from pages.benchmarks.charts.rows import Cost, cost_chart
from pages.benchmarks.controls import CACHE, FAMILY, SHAPE, SHAPES
from pages.benchmarks.data import Measurement
from pages.kit.charts.words import NONE, bits_words, count, duration
from pages.kit.controls import Controls
from pages.kit.gemm.results import Result
from pages.kit.shared_controls import MATMUL
from pages.kit.tables import draw_rows
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room, stage

BF16 = "bf16 torch.mm"
_TENSOR = TileShape(WHOLE, WHOLE)
READING = (
    "Each recipe's times are divided by those of bf16 `torch.mm` in the same run: the GPU's clock was the "
    "same for both. The figures: the matmul alone, then the time of quantizing A and B. A model that keeps "
    "quantized weights quantizes its activations only."
)
_HELP = {
    "bits, A and B": "Memory for each element, its share of the scales included",
    "scales along K": "Stretches of K along which no scale changes: how often an output element is rescaled",
    "× bf16": "Speed over bf16 in the same run, the matmul alone",
    "× bf16, all": "Speed over bf16 in the same run, with the time of quantizing A and B",
    "× per tensor": "Speed over the first per-tensor recipe, both over bf16, the matmul alone",
}
_COLUMNS = {
    name: st.column_config.NumberColumn(format="%.2f", help=words)
    if "×" in name
    else st.column_config.Column(help=words)
    for name, words in _HELP.items()
}


def show(controls: Controls, gpu: str) -> None:
    view = here()
    preset = SHAPES[controls.draw(SHAPE, view.control)]
    matmul, family = controls.draw(MATMUL), controls.draw(FAMILY)
    cache = Cache(controls.draw(CACHE))
    mnk = tuple(preset.mnk(MATMULS[matmul]).values())
    every = by_recipe([one for one in data.results(gpu) if is_plain(one, matmul, mnk, cache)])
    results, per_tensor = data.of_family(every, family), first_per_tensor(every)
    if not results:
        stage().info(
            f"{MATMUL.options[matmul]} of this shape is not recorded with {cache.value} L2. “Against torch” "
            "has a button that measures it, where there is a GPU."
        )
        return
    costs = costs_of(results)
    draw_notice(notice(results))
    draw_chart(
        cost_chart(costs, room(), page_ink()),
        key="benchmarks_cost",
        alt="Bars of time. "
        + "; ".join(f"{cost.name}: {cost.matmul:.2f}, with quantization {cost.whole:.2f}" for cost in costs),
    )
    view.know.markdown(READING)
    with view.know:
        draw_rows(lines(results, per_tensor), column_config=_COLUMNS)
    view.know.caption(data.origin_sentence(results))


def is_plain(result: Result, matmul: str, mnk: tuple[int, int, int], cache: Cache) -> bool:
    """True for this GEMM summed as its recipe says, into a new D, with bf16 beside it."""
    job = result.row.job
    as_recipe = data.accumulation(job) is Summation.RECIPE and job.into is Into.NEW
    is_same = (job.matmul, job.mnk, job.cache) == (matmul, mnk, cache)
    return is_same and as_recipe and Peer.BF16 in result.row.times


def by_recipe(results: Sequence[Measurement]) -> list[Measurement]:
    """The last result of each recipe, in their order; the reader's own comes last."""
    latest = {one.row.job.recipe: one for one in results}
    return sorted(latest.values(), key=lambda one: data.order(one.row.job))


def first_per_tensor(results: Sequence[Measurement]) -> Measurement | None:
    return next((one for one in results if _is_per_tensor(one)), None)


def _is_per_tensor(result: Measurement) -> bool:
    job = result.row.job
    operands = job.recipe_data.spec(job.matmul_data).quantized
    return len(operands) == len(Side) and all(operand.tile == _TENSOR for operand in operands)


def _title(result: Measurement) -> str:
    job = result.row.job
    return job.recipe_data.title + ", your own" * bool(job.own)


def costs_of(results: Sequence[Measurement]) -> list[Cost]:
    return [Cost(name=BF16, recipe=None, matmul=1.0, quantize=None, words=None)] + [
        Cost(
            name=_title(result),
            recipe=row.job.recipe,
            matmul=1 / row.over(Peer.BF16),
            quantize=row.us(Peer.QUANTIZE) / row.us(Peer.BF16) if Peer.QUANTIZE in row.times else None,
            words=result.words,
        )
        for result in results
        for row in [result.row]
    ]


def notice(results: Sequence[Measurement]) -> str:
    per_tensor = first_per_tensor(results)
    others = [one for one in results if not _is_per_tensor(one)]
    if per_tensor is None or not others:
        gain, best = max(((one.row.over(Peer.BF16), one) for one in results), key=lambda pair: pair[0])
        return f"The matmul of {_title(best)} takes **{1 / gain:.2f} of bf16's time**."
    finest = max(others, key=_scales)
    longer = per_tensor.row.over(Peer.BF16) / finest.row.over(Peer.BF16)
    return (
        f"With {count(_scales(finest), 'scale')} along K, the matmul of {_title(finest)} takes **"
        f"{longer:.2f} times as long** as with one scale per tensor."
    )


def _scales(result: Measurement) -> int:
    job = result.row.job
    return matmul_rescales(job.recipe_data, job.matmul_data, job.matmul_data.layer(*job.mnk))


def lines(results: Sequence[Measurement], per_tensor: Measurement | None) -> list[dict[str, object]]:
    return [
        {
            "recipe": _title(result),
            "bits, A and B": _bits(row.job),
            "scales along K": _scales(result),
            "GEMM": duration(row.ours.median_us),
            "quantize A and B": duration(quantize) if (quantize := row.us(Peer.QUANTIZE)) else NONE,
            "bf16, same run": duration(row.us(Peer.BF16)),
            "× bf16": row.over(Peer.BF16),
            "× bf16, all": row.over_bf16_with_quantize,
            "× per tensor": row.over(Peer.BF16) / per_tensor.row.over(Peer.BF16) if per_tensor else None,
            "measured": f"{result.where}, {row.date}",
        }
        for result in results
        for row in [result.row]
    ]


def _bits(job: GemmJob) -> str:
    matmul, recipe, layer = job.matmul_data, job.recipe_data, job.matmul_data.layer(*job.mnk)
    return ", ".join(
        bits_words(recipe.operand(matmul, side), layer.of(matmul.operand(side))) for side in Side
    )
