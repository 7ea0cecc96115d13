"""Questions on the crest factor: errors over it, and the crest factors of real tensors."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import streamlit as st

from fp8core.experiments.error_curves import CREST_POWERS, DRAWS, Counted, Draws
from fp8core.experiments.tensor_shape import BIN, ENDS, ROW_ENDS, TensorShape, tensor_shape
from fp8core.inputs import INPUT_NOTES, RECORDED, InputKind
from fp8core.inputs.recorded import tensor
from fp8core.linear import OPERANDS, LayerTensor
from fp8core.recipes.keys import recipe_of_key
from pages.kit.charts.recipe_marks import Mark, mark_of
from pages.kit.charts.words import short
from pages.kit.computing.compute import Call, computed
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED
from pages.kit.tables import markdown_table
from pages.kit.view import draw_chart, draw_notice, here, page_ink
from pages.outliers.charts.curves import draws_chart, has_error, shapes_chart
from pages.outliers.controls import COUNTED, REAL, ROLE
from pages.outliers.data import CHANNELS_SHAPE, CREST_SHAPE, bare_crest, crest
from pages.outliers.subject import BF16, db, draw_bf16, percent, recipes

GAUSSIAN = CREST_POWERS.index(1.0)
POWERS = (
    "x = sign(g) · |g|ᵖ with g from N(0, 1); p near 0 gives ±1, p = 1 the Gaussian, and a larger p a heavier "
    "tail."
)
INTEGER, FLOAT = "int8", "e4m3"
# Under an fp32 scale, MXINT8's elements are those of int8: whole multiples of one step.
ELEMENTS = {INTEGER: "mxint8", FLOAT: "e4m3"}
STORY = (
    "**Post-training quantization (PTQ)** rounds a model that is trained already. For years its eight bits "
    "were **int8**, with an fp32 scale for each output channel of a weight. Now they may be e4m3 under the "
    "very same scales. Integers lie at even distances, so their error hardly depends on the number. Floats "
    "lie close together near zero, so their error shrinks with the number. Which is better depends on how "
    "far the largest number stands out."
)
SOURCES = (
    "Sources: Kuzmin et al., FP8 Quantization: The Power of the Exponent, arXiv 2208.09225; van Baalen et "
    "al., FP8 versus INT8, arXiv 2303.17951; Chen et al., INT v.s. FP, arXiv 2510.25602."
)


def show_recipes(controls: Controls) -> None:
    counted = Counted[controls.draw(COUNTED, here().control).upper()]
    request = (recipes(controls), controls.draw(ROLE), controls.draw(SEED), counted)
    calls = [Call(crest, (key, *request[1:])) for key in request[0]]
    answer = computed("outliers_crest", request, calls, label="Quantizing five draws of every point")
    if answer is None:
        return
    keys, *_, counted = answer.arguments
    titles = {key: recipe_of_key(key).title for key in keys}
    curves = {titles[key]: points for key, points in zip(keys, answer.parts, strict=True) if points}
    if not curves:
        draw_notice(f"Every chosen recipe {BF16}.")
        return
    draw_notice(notice(curves, counted))
    _draw("outliers_crest", curves, {title: mark_of(key) for key, title in titles.items()})
    draw_bf16([title for title in titles.values() if title not in curves])
    rows, columns = CREST_SHAPE
    here().know.caption(
        f"{DRAWS} draws per point, {rows} × {columns} elements each: the line is their mean, the bar reaches "
        f"from the worst to the best. {POWERS} A point without any error is left out."
    )


def notice(lines: Mapping[str, tuple[Draws, ...]], counted: Counted) -> str:
    lines = {name: points for name, points in lines.items() if all(map(has_error, points))}
    if not lines:
        return "Every number is a value of every chosen recipe: **the error is 0.**"
    gain = {name: points[-1].mean - points[GAUSSIAN].mean for name, points in lines.items()}
    best, worst = max(gain, key=gain.__getitem__), min(gain, key=gain.__getitem__)
    if counted is Counted.ALL and gain[best] > 1:
        return (
            f"Do not trust the rise **to {db(lines[best][-1].mean)}.** "
            "The outlier itself is stored exactly, and it holds most of the energy."
        )
    return (
        f"From the Gaussian to the heaviest tail, {worst} goes from {db(lines[worst][GAUSSIAN].mean)} "
        f"**to {db(lines[worst][-1].mean)}.**"
    )


def _draw(key: str, curves: Mapping[str, tuple[Draws, ...]], marks: Mapping[str, Mark]) -> None:
    draw_chart(
        draws_chart(curves, marks, page_ink()),
        key=key,
        is_fitted=True,
        alt="; ".join(f"{name}: {db(p[0].mean)} to {db(p[-1].mean)}" for name, p in curves.items()),
    )


def show_int8(controls: Controls) -> None:
    request = (controls.draw(SEED), Counted[controls.draw(COUNTED).upper()])
    calls = [Call(bare_crest, (name, *request)) for name in ELEMENTS.values()]
    answer = computed("outliers_int8", request, calls, label="Rounding five draws of every point")
    if answer is None:
        return
    integer, floating = answer.parts
    draw_notice(winner(integer, floating))
    ink = page_ink()
    marks = {INTEGER: Mark(ink.mid, "square", (1, 0)), FLOAT: Mark(ink.text, "circle", (1, 0))}
    _draw("outliers_int8", {INTEGER: integer, FLOAT: floating}, marks)
    rows, columns = CHANNELS_SHAPE
    here().know.markdown(STORY)
    here().know.caption(
        f"{DRAWS} draws per point, {rows} channels of {columns} elements each, one fp32 scale per channel: "
        f"the line is the mean, the bar reaches from the worst to the best. {POWERS} A weight is nearly "
        "Gaussian; activations have the heavy tails."
    )
    here().know.caption(SOURCES)


def winner(integer: tuple[Draws, ...], floating: tuple[Draws, ...]) -> str:
    gain = integer[GAUSSIAN].mean - floating[GAUSSIAN].mean
    better, other = (INTEGER, FLOAT) if gain > 0 else (FLOAT, INTEGER)
    first = f"On Gaussian numbers {better} is **{short(abs(gain), 2)} dB better than {other}.**"
    at = crossing(integer, floating)
    if at is None:
        return f"{first} The lines do not cross."
    return f"{first} Beyond a crest factor of {short(at, 2)}, {FLOAT} loses less."


def crossing(integer: tuple[Draws, ...], floating: tuple[Draws, ...]) -> float | None:
    """The crest factor from which floats are better for good, if there is one."""
    gains = [(i.at, f.mean - i.mean) for i, f in zip(integer, floating, strict=True)]
    behind = [at for at, (_, gain) in enumerate(gains) if gain <= 0]
    if not behind or behind[-1] + 1 == len(gains):
        return None
    (low, loss), (high, gain) = gains[behind[-1]], gains[behind[-1] + 1]
    return float(np.exp(np.interp(0, (loss, gain), np.log((low, high)))))


NAMES = {LayerTensor.X: "x, activations", LayerTensor.W: "w, weights", LayerTensor.DY: "dy, gradients"}
LAW = "a Gaussian"
READING = (
    "**How they differ.** A *crest factor* far above a Gaussian's says that a few elements stand out: one "
    "scale for all must reach them, and the others get the lowest codes. The *kurtosis* counts the tail in "
    "between. The *octaves*, or doublings, say how much range a format needs before numbers become zero. "
    "*Rows* and *columns* tell where large numbers sit: in single tokens, which a scale for each row cures, "
    "or in single channels, which need scales along the row."
)


def show_real(controls: Controls) -> None:
    kind = InputKind(controls.draw(REAL))
    shapes = _shapes(kind)
    *tensors, law = shapes
    most = max(tensors, key=lambda name: shapes[name].crest)
    draw_notice(
        f"The largest number of {most}, is **{short(shapes[most].crest, 3)} times the rms.** "
        f"A Gaussian's is {short(shapes[law].crest, 2)} times."
    )
    # Shares by the middles of bins.
    bins = {n: {at + BIN / 2: s for at, s in zip(o.bins, o.shares, strict=True)} for n, o in shapes.items()}
    draw_chart(
        shapes_chart(bins, page_ink()),
        key="outliers_real",
        is_fitted=True,
        alt="; ".join(f"{name}: crest factor {short(one.crest, 3)}" for name, one in shapes.items()),
    )
    rows = [
        (
            name,
            *(short(value, 3) for value in (one.rms, one.crest, one.kurtosis)),
            f"{one.octaves:.1f}",
            percent(one.zeros),
            short(one.rows, 3),
            short(one.columns, 3),
        )
        for name, one in shapes.items()
    ]
    heads = ("tensor", "rms", "crest factor", "kurtosis", "octaves", "zeros", "rows", "columns")
    st.markdown(markdown_table(heads, rows))
    here().know.markdown(READING)
    here().know.caption(
        f"x, w and dy {INPUT_NOTES[kind].rule}. Here the whole crops are counted. Bins of {BIN:g} octaves; "
        f"elements that are 0 have none. Octaves: log2 of the {ENDS[1]:.0%} quantile of |v| over the "
        f"{ENDS[0]:.0%} one. Rows, columns: the rms of a large one over that of a small one "
        f"({ROW_ENDS[1]:.0%} and {ROW_ENDS[0]:.0%} quantile)."
    )


@lru_cache(maxsize=len(RECORDED))
def _shapes(kind: InputKind) -> dict[str, TensorShape]:
    tensors = {NAMES[one]: tensor(*RECORDED[kind], one) for one in OPERANDS}
    tensors[LAW] = np.random.default_rng(0).standard_normal((256, 256))
    return {name: tensor_shape(numbers) for name, numbers in tensors.items()}
