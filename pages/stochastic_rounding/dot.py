"""Section "In training", of a matmul: the noise that remains when many rounded terms are added."""

import numpy as np

from fp8core.experiments.dot_noise import DotErrors, noise_ratio
from fp8core.formats import FORMATS
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import percent_text, short
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.view import here, stage
from pages.stochastic_rounding.charts.dot import dot_chart
from pages.stochastic_rounding.controls import FORMAT
from pages.stochastic_rounding.data import TERMS, TRIALS, DotView, dot_view


def show(controls: Controls) -> None:
    """Draw the control, what to notice, and the two pictures."""
    name, seed = controls.draw(FORMAT, here().control), controls.draw(SEED)
    view = dot_view(name, seed)
    draw_notice(_notice(view))
    domain, ink = view.domain, INKS[theme()]
    pictures = (
        ("Terms of one sign", view.same_sign, view.floor, "dot_same_sign"),
        ("Terms of both signs", view.zero_mean, None, "dot_zero_mean"),
    )
    for place, (title, errors, floor, key) in zip(stage().columns(2, gap="large"), pictures, strict=True):
        draw_chart(
            dot_chart(errors, domain, title, ink, floor),
            place=place,
            key=key,
            alt=f"{title}: at K = {TERMS[-1]:,} the relative error is "
            f"{percent_text(errors.nearest[-1], 2)} to nearest, "
            f"{percent_text(errors.stochastic[-1], 2)} stochastically",
        )
    here().know.markdown(_why(view, noise_ratio(FORMATS[name])))
    here().know.caption(
        f"d = Σ round(aₖ) · round(bₖ), both operands in {name} without a scale, added in fp64: what is seen "
        "is the rounding of the operands alone. One sign: |N(0, 1)|, as after a ReLU; both signs: N(0, 1). "
        f"rms of the error of {TRIALS} dot products over the rms of the exact ones."
    )


def _notice(view: DotView) -> str:
    zero, ahead = view.zero_mean, overtaken(view.same_sign)
    ratio = short(float(zero.stochastic[-1] / zero.nearest[-1]), 2)
    one = "nearest stays better" if ahead is None else f"noise wins from K = {ahead:,} on"
    return f"With one sign, {one}. Where signs cancel, noise has **{ratio} times nearest's error.**"


def _why(view: DotView, expected: float) -> str:
    same = view.same_sign
    return (
        "Where all terms have one sign, the noise averages out as 1/√K. Nearest's bias "
        f"({percent_text(view.floor, 2)}) does not, however many terms are added. At K = {TERMS[-1]:,} the "
        f"errors are {percent_text(same.stochastic[-1], 2)} stochastically and "
        f"{percent_text(same.nearest[-1], 2)} to nearest. Where signs cancel, the result itself grows only "
        "as √K: nothing averages out. In the mean over many sums, stochastic rounding has "
        f"{short(expected, 2)} times nearest's error."
    )


def overtaken(errors: DotErrors) -> int | None:
    """The least K from which on stochastic has the smaller error; None where nearest has it at the end."""
    behind = np.flatnonzero(errors.stochastic >= errors.nearest)
    first = behind[-1] + 1 if behind.size else 0
    return int(errors.terms[first]) if first < errors.terms.size else None
