"""Section "Against int8": evenly spaced integers or floats, for a model that is trained already?"""

import math

from fp8core.experiments.error_curves import CREST_POWERS, DRAWS, Counted, Draws
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.recipe_marks import Mark
from pages.kit.charts.words import short
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.terms.explain import draw_text
from pages.kit.view import here
from pages.outliers import chosen
from pages.outliers.charts.draws import Curve, draws_chart
from pages.outliers.controls import COUNTED
from pages.outliers.measures import CHANNELS_SHAPE, bare_crest
from pages.outliers.words import db

INTEGER, FLOAT = "int8", "e4m3"
ELEMENTS = {INTEGER: "mxint8", FLOAT: "e4m3"}
"""The elements of MXINT8 under an fp32 scale are those of int8: whole multiples of one step."""
GAUSSIAN = CREST_POWERS.index(1.0)
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


def show(controls: Controls) -> None:
    """Draw SQNR of both formats over the crest factor."""
    asked = (chosen.seed(controls), Counted[controls.draw(COUNTED).upper()])
    calls = [Call(bare_crest, (name, *asked)) for name in ELEMENTS.values()]
    shown = computed("outliers_int8", asked, calls, doing="Rounding five draws of every point")
    if shown is None:
        return
    found = dict(zip(ELEMENTS, shown.parts, strict=True))
    draw_notice(notice(found[INTEGER], found[FLOAT]))
    ink = INKS[theme()]
    marks = {INTEGER: Mark(ink.mid, "square", (1, 0)), FLOAT: Mark(ink.text, "circle", (1, 0))}
    draw_chart(
        draws_chart(
            [Curve(name=name, points=points, mark=marks[name]) for name, points in found.items()],
            "crest factor of the tensor: largest |x| over rms",
            ink,
        ),
        key="outliers_int8",
        alt="; ".join(f"{name}: {db(p[0].mean)} to {db(p[-1].mean)}" for name, p in found.items()),
    )
    rows, columns = CHANNELS_SHAPE
    draw_text(STORY, here().know)
    here().know.caption(
        f"{DRAWS} draws per point, {rows} channels of {columns} elements each, one fp32 scale per channel: "
        "the line is the mean, the bar reaches from the worst to the best. x = sign(g) · |g|ᵖ with g from "
        "N(0, 1). A weight is nearly Gaussian; activations have the heavy tails."
    )
    here().know.caption(SOURCES)


def notice(integer: tuple[Draws, ...], floating: tuple[Draws, ...]) -> str:
    """The winner at the Gaussian, and the crest factor from which on it is the other one."""
    gain = integer[GAUSSIAN].mean - floating[GAUSSIAN].mean
    better, other = (INTEGER, FLOAT) if gain > 0 else (FLOAT, INTEGER)
    told = f"On Gaussian numbers {better} is **{short(abs(gain), 2)} dB better than {other}.**"
    at = crossing(integer, floating)
    if at is None:
        return f"{told} The lines do not cross."
    return f"{told} Beyond a crest factor of {short(at, 2)}, {FLOAT} loses less."


def crossing(integer: tuple[Draws, ...], floating: tuple[Draws, ...]) -> float | None:
    """The crest factor at which floats begin to be better for good; None where they are never or always."""
    gains = [(i.at, f.mean - i.mean) for i, f in zip(integer, floating, strict=True)]
    below = [place for place, (_, gain) in enumerate(gains) if gain <= 0]
    if not below or below[-1] + 1 == len(gains):
        return None
    (left, lost), (right, won) = gains[below[-1]], gains[below[-1] + 1]
    part = -lost / (won - lost)
    return math.exp((1 - part) * math.log(left) + part * math.log(right))
