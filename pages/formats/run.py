"""What overflow does to a run, and what underflow does: the picture of the section "Overflow"."""

import numpy as np
import streamlit as st

from fp8core.experiments.scaled_run import LOG2_SCALES, OCTAVES, STEPS, WEIGHTS, ScaledRuns, scaled_runs
from fp8core.formats import FORMATS
from fp8core.rounding import Overflow
from pages.formats.charts.run import CLIPPED, LEARNS, LOSES, OVER, Row, ends_chart, steps_chart
from pages.formats.charts.words import percent
from pages.formats.controls import RUN_BEYOND, RUN_FORMAT, RUN_SCALE, TITLES
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import power_of_two, short
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.terms.explain import draw_text
from pages.kit.view import here

WORSE = 2.0
"""A run that ends with so many times the loss of the one without rounding has lost something that counts."""
EXACT = "without rounding"
INTRO = (
    "A scale can be wrong in two ways. If it is too large, gradients **overflow**. If it is too small, they "
    "**underflow**. The two are not alike in a run, so whoever chooses a scale looks at overflow first. Here "
    "a small linear layer learns again and again, and its gradients are rounded under one fixed scale."
)
SETUP = (
    f"A layer of {WEIGHTS} weights, {STEPS} steps of gradient descent, w ← w − rate · round(g · scale) / "
    f"scale. Its inputs differ by up to {2 * OCTAVES} octaves, and so do the gradients. A run “learns” where "
    f"its loss ends at most {short(WORSE, 2)} times as high as without rounding. Source of the rule: "
    "Micikevicius et al., Mixed Precision Training, arXiv 1710.03740, section 3.2."
)


def draw_run(controls: Controls) -> None:
    """Draw the loss in the end for every scale, then the run under one of them."""
    beyond = controls.draw(RUN_BEYOND, here().control)
    name = controls.draw(RUN_FORMAT)
    runs = scaled_runs(FORMATS[name], overflow_of(name, beyond))
    draw_notice(notice(runs))
    at, ink = controls.draw(RUN_SCALE), INKS[theme()]
    draw_chart(
        ends_chart(end_rows(runs), at, room(), ink),
        key="formats_run_ends",
        is_rigid=True,
        alt=ends_alt(runs, TITLES[name]),
    )
    rounded = f"{TITLES[name]}, scale {power_of_two(at)}"
    st.header(f"The run under a scale of {power_of_two(at)}")
    draw_chart(
        steps_chart(step_rows(runs, at, rounded), [EXACT, rounded], ink),
        key="formats_run_steps",
        is_rigid=True,
        alt=f"Loss over {STEPS} steps. {told(runs, at)}",
    )
    draw_text(INTRO, here().know)
    here().know.markdown(told(runs, at))
    here().know.markdown(SETUP)


def overflow_of(name: str, beyond: str) -> Overflow:
    """The overflow policy: the format's own special code, infinity before NaN, or the largest value."""
    if beyond == Overflow.SATURATE.name.lower():
        return Overflow.SATURATE
    return Overflow.INF if FORMATS[name].inf_code is not None else Overflow.NAN


def fate(runs: ScaledRuns, log2_scale: int) -> str:
    """The end of one run, in words."""
    if runs.ended(log2_scale) is not None:
        return OVER
    if _last(runs, log2_scale) <= WORSE * runs.exact[-1]:
        return LEARNS
    place = LOG2_SCALES.index(log2_scale)
    return LOSES if runs.zeros[place] >= runs.beyond[place] else CLIPPED


def end_rows(runs: ScaledRuns) -> list[Row]:
    """A row a scale. A run that is over stands where all runs begin."""
    rows = []
    for place, k in enumerate(LOG2_SCALES):
        last, how = _last(runs, k), fate(runs, k)
        rows.append(
            {
                "k": k,
                "loss": last if how != OVER else float(runs.exact[0]),
                "fate": how,
                "told": short(last, 3) if how != OVER else "none",
                "zeros": float(runs.zeros[place]),
            }
        )
    return rows


def step_rows(runs: ScaledRuns, at: int, name: str) -> list[Row]:
    """A row a step of the run without rounding, and of the run under one scale as far as it goes."""
    rounded = runs.losses[LOG2_SCALES.index(at)]
    lines = {EXACT: runs.exact, name: rounded[np.isfinite(rounded)]}
    return [
        {"step": step, "loss": float(loss), "who": who}
        for who, losses in lines.items()
        for step, loss in enumerate(losses)
    ]


def notice(runs: ScaledRuns) -> str:
    """The cliff at the right of the window, or the slow end there."""
    if runs.first_lost is not None:
        return (
            "Too small a scale loses small numbers, without a warning. Too large a scale ends the run: "
            f"**from {power_of_two(runs.first_lost)} on** a gradient overflows."
        )
    high = LOG2_SCALES[-1]
    return (
        f"Gradients that are too large are clipped, so the run goes on: at {power_of_two(high)} its loss "
        f"ends at **{short(_last(runs, high), 2)}**."
    )


def told(runs: ScaledRuns, at: int) -> str:
    """The run under one scale, in a sentence."""
    ended = runs.ended(at)
    if ended is not None:
        return f"Under {power_of_two(at)} the loss is no number any more after step {ended}."
    zeros = float(runs.zeros[LOG2_SCALES.index(at)])
    return (
        f"Under {power_of_two(at)}, {percent(zeros)} of the gradients became 0, and the loss ended at "
        f"{short(_last(runs, at), 3)}; without rounding at {short(float(runs.exact[-1]), 3)}."
    )


def ends_alt(runs: ScaledRuns, title: str) -> str:
    """The picture in words."""
    counts = {how: sum(fate(runs, k) == how for k in LOG2_SCALES) for how in (LEARNS, LOSES, CLIPPED, OVER)}
    return f"Loss in the end over the scale, in {title}: " + ", ".join(
        f"{count} runs: {how}" for how, count in counts.items()
    )


def _last(runs: ScaledRuns, log2_scale: int) -> float:
    return float(runs.losses[LOG2_SCALES.index(log2_scale), -1])
