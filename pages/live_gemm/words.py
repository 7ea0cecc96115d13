"""A GEMM and its result in sentences and numbers for the reader."""

import math

from fp8core.contraction import rescales_per_output
from fp8core.costs import matmul_rescales
from fp8core.inputs import INPUT_NOTES
from fp8core.linear import Side
from fp8core.recipes import Operand
from fp8core.refold import REFOLDED_K, REFOLDED_TILES
from fp8core.rounding import Rounding
from kernels.gemm.numerics import REFOLDED_WORDS, Summation
from kernels.measure.jobs import Cache, GemmJob, Into
from kernels.measure.rows import Prediction, Row
from pages.kit.charts.words import (
    NONE,
    bits_words,
    count,
    percent_text,
    rotation_words,
    scales_words,
    stored_tile,
)
from pages.kit.inert import plain
from pages.live_gemm.results import CACHE, INTO

_ACCUMULATION = {how: how.words for how in Summation} | {Summation.RECIPE: "as in the recipe"}
_CLEARLY_MORE = 5.0


def headline(job: GemmJob) -> str:
    matmul = job.matmul_data
    d, a, b = matmul.d.value, matmul.symbol(Side.A), matmul.symbol(Side.B)
    shape = f"{job.m} {matmul.m.value} × {job.n} {matmul.n.value}, summed over {job.k} {matmul.k.value}"
    numbers = f"{INPUT_NOTES[job.input].title} input, seed {job.seed}"
    sign = "+=" if job.into is Into.ACCUMULATE else "="
    return (
        f"**{job.recipe_data.title}, {matmul.title}**: {d} {sign} {a} · {b}, {shape}; "
        f"{numbers}, accumulation {_ACCUMULATION[job.accumulation]}"
    )


def differences(job: GemmJob, other: GemmJob) -> str:
    """The differences of two jobs, such as ``M is 8192, input is Gaussian``."""
    pairs = {
        "M": (job.m, other.m),
        "N": (job.n, other.n),
        "K": (job.k, other.k),
        "recipe": (job.recipe_data.title, other.recipe_data.title),
        "matmul": (job.matmul_data.title, other.matmul_data.title),
        "input": (INPUT_NOTES[job.input].title, INPUT_NOTES[other.input].title),
        "seed": (job.seed, other.seed),
        "accumulation": (_ACCUMULATION[job.accumulation], _ACCUMULATION[other.accumulation]),
        "L2": (CACHE[job.cache], CACHE[other.cache]),
        "D": (INTO[job.into], INTO[other.into]),
    }
    return ", ".join(f"{name} is {has}" for name, (has, value) in pairs.items() if has != value)


def geometry(job: GemmJob) -> str:
    matmul, recipe = job.matmul_data, job.recipe_data
    layer = matmul.layer(job.m, job.n, job.k)
    operands = "; ".join(_operand(job, side) for side in Side)
    rescales, first = matmul_rescales(recipe, matmul, layer), ""
    if job.accumulation is Summation.REFOLDED:
        rescales = rescales_per_output(job.k, REFOLDED_K, REFOLDED_K)
        tiles = " and for ".join(
            f"{stored_tile(matmul.operand(side), *REFOLDED_TILES[side].on_tensor(matmul, side))} of "
            f"{side.value}"
            for side in Side
        )
        first = (
            f" {REFOLDED_WORDS.capitalize()}: first the scales are merged into one in fp32 for {tiles}, and "
            "codes that become too small for it are rounded again."
        )
    if not recipe.spec(matmul).quantized:
        return f"{operands}.{first} Nothing is rescaled."
    return f"{operands}.{first} {count(rescales, 'rescale')} per output element."


def _operand(job: GemmJob, side: Side) -> str:
    matmul = job.matmul_data
    tensor, operand = matmul.operand(side), job.recipe_data.operand(matmul, side)
    rows, columns = tensor.axes
    name = f"**{side.value}** is {tensor.value}[{rows.value}, {columns.value}] in"
    if operand is None:
        return f"{name} bf16, without scales"
    bits = bits_words(operand, matmul.layer(job.m, job.n, job.k).of(tensor))
    parts = (scales_words(tensor, operand), *preparation(operand), f"{bits} bits an element in all")
    return f"{name} {operand.spec.format.name}, {', '.join(parts)}"


def error_sentence(row: Row) -> str:
    quantization, kernel = row.errors.quantization_rel_err, row.errors.kernel_rel_err
    if not (math.isfinite(quantization) and math.isfinite(kernel)):
        return (
            "The error is not a finite number: the true product is zero, or the result has infinities or NaN."
        )
    refolding = "refolding, " if row.job.accumulation is Summation.REFOLDED else ""
    parts = f"{refolding}the tensor core's accumulator, D to {plain(row.job.spec.out.name)}"
    own = f"the kernel's own rounding ({parts}) is {percent(kernel)}"
    exact = f"exact arithmetic on the same FP8 operands would be off by {percent(quantization)}"
    if quantization > _CLEARLY_MORE * kernel:
        return f"Nearly all of the error is quantization: {exact}; {own}."
    if kernel > _CLEARLY_MORE * quantization:
        return f"Nearly all of the error is the kernel's: {own}; {exact}."
    return f"Both matter: {exact}; {own}. Independent errors add as the root of the sum of their squares."


def timing_sentence(row: Row) -> str:
    parts = []
    if row.job.cache is Cache.COLD:
        parts.append("Cold: the L2 was flushed before each launch, and each was timed alone.")
    if row.job.into is Into.ACCUMULATE:
        parts.append("The product was added into an fp32 D, as weight gradients are over micro-batches.")
    return " ".join(parts)


def prediction_sentence(prediction: Prediction) -> str:
    if prediction.equal == prediction.outputs:
        return (
            "**Predicted bit for bit**: a model of the tensor core's accumulator gives the GPU's result "
            f"exactly, on all of {prediction.outputs:,} sampled outputs."
        )
    return (
        f"**Predicted, but not bit for bit**: {prediction.outputs - prediction.equal:,} of "
        f"{prediction.outputs:,} sampled outputs differ from the model of the tensor core's accumulator. "
        f"The first: {plain(prediction.first_difference)}."
    )


def percent(value: float) -> str:
    """A relative error, such as ``3.75%``, ``1.2e-06%``, ``∞``."""
    if not math.isfinite(value):
        return NONE if math.isnan(value) else "∞"
    return percent_text(value, 3 if value == 0 or value >= 1e-6 else 2)


def preparation(operand: Operand) -> tuple[str, ...]:
    """Unusual steps before and in the rounding, in words."""
    spec, parts = operand.spec, []
    if spec.saved_as is not None:
        parts.append("made out of a saved copy")
    if spec.rotation is not None:
        parts.append(f"rotated ({rotation_words(spec.rotation)})")
    if spec.rounding is Rounding.STOCHASTIC:
        parts.append("rounded stochastically")
    elif spec.rounding is not Rounding.NEAREST_EVEN:
        to = "to the " * (spec.rounding is Rounding.NEAREST_AWAY)
        parts.append(f"rounded {to}{spec.rounding.value}")
    return tuple(parts)
