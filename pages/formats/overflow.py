"""Section "Overflow": runs under each scale, and numbers beyond the largest value."""

import numpy as np
import streamlit as st

from fp8core.experiments.scaled_run import LOG2_SCALES, OCTAVES, STEPS, WEIGHTS, ScaledRuns, scaled_runs
from fp8core.formats import FORMATS
from fp8core.rounding import Overflow
from pages.formats.charts import overflow as charts
from pages.formats.charts.overflow import Row
from pages.formats.controls import TITLES, draw_formats
from pages.kit.charts.words import power_of_two, short
from pages.kit.controls import Controls
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room
from pages.kit.widgets import Choice, Several

OVERFLOWING = Several(
    key="overflowing",
    label="Formats",
    options=TITLES,
    default=["e4m3", "e5m2", "e4m3fnuz", "binary8p4se", "hif8", "e2m1"],
)
RUN_FORMAT = Choice(
    key="run_format",
    label="Gradients in",
    options={name: TITLES[name] for name in ("fp16", "e5m2", "e4m3")},
    default="e5m2",
)
RUN_BEYOND = Choice(
    key="run_beyond",
    label="Too large becomes",
    options={"special": "infinity or NaN", "saturate": "the largest value"},
)
CONTROLS = (OVERFLOWING, RUN_FORMAT, RUN_BEYOND)

# A run "learns" up to so many times the last loss of the run without rounding.
WORSE = 2.0
INTRO = (
    "A scale can be wrong in two ways. If it is too large, gradients **overflow**. If it is too small, they "
    "**underflow**. The two are not alike in a run, so whoever chooses a scale looks at overflow first. Here "
    "a small linear layer learns again and again, and its gradients are rounded under one fixed scale."
)
SETUP = (
    f"A layer of {WEIGHTS} weights, {STEPS} steps of gradient descent, w ← w − rate · round(g · scale) / "
    f"scale. Its inputs differ by a factor of up to {4**OCTAVES}, and so do the gradients. A run “learns” "
    f"where its loss ends at most {short(WORSE, 2)} times as high as without rounding. Source of the rule: "
    "Micikevicius et al., Mixed Precision Training, arXiv 1710.03740, section 3.2."
)
PRACTICE = """
- OCP's FP8 specification defines both a saturating and a non-saturating conversion; without saturation E4M3
  gives NaN, E5M2 infinity. The OCP microscaling formats of 4 and 6 bits have no special code and saturate.
- HiF8 rounds ties away from zero (Luo et al., arXiv 2409.16626), so its tie overflows; here all formats are
  shown by nearest even, to compare them.
- NVIDIA's `cvt.rn.satfinite` saturates, infinity included; `ml_dtypes` does not saturate FP8. PyTorch's cast
  to `float8_e4m3fn` gave NaN up to 2.11. So never let a cast decide: clamp first, everywhere.
"""


def show(controls: Controls) -> None:
    _draw_runs(controls)
    formats = draw_formats(controls, OVERFLOWING)
    st.header("Beyond the largest value")
    if not formats:
        return
    draw_chart(
        charts.overflow_chart(formats, page_ink()),
        key="formats_overflow",
        alt=f"What numbers from the largest value on become in {', '.join(formats)}",
    )
    here().know.markdown(
        "In each cell: the number, and what it becomes by nearest even. A step is the distance from the "
        "largest value to the one that would follow; half of it is a tie, which goes to the even code. “+” "
        "is the next float64 above."
    )
    here().know.markdown("**In practice**\n" + PRACTICE)


def _draw_runs(controls: Controls) -> None:
    beyond, name = controls.draw(RUN_BEYOND, here().control), controls.draw(RUN_FORMAT)
    runs = scaled_runs(FORMATS[name], overflow_of(name, beyond))
    draw_notice(notice(runs))
    draw_chart(
        charts.ends_chart(end_rows(runs), room(), page_ink()),
        key="formats_run_ends",
        alt=f"Loss in the end over the scale of the gradients in {TITLES[name]}. {notice(runs)}",
    )
    here().know.markdown(INTRO)
    here().know.markdown(SETUP)


def overflow_of(name: str, beyond: str) -> Overflow:
    """The policy of a choice in RUN_BEYOND; of two special codes, infinity before NaN."""
    if beyond == "saturate":
        return Overflow.SATURATE
    return Overflow.INF if FORMATS[name].inf_code is not None else Overflow.NAN


def fate(runs: ScaledRuns, log2_scale: int) -> str:
    if runs.ended(log2_scale) is not None:
        return charts.OVER
    if _last(runs, log2_scale) <= WORSE * runs.exact[-1]:
        return charts.LEARNS
    at = LOG2_SCALES.index(log2_scale)
    return charts.LOSES if runs.zeros[at] >= runs.beyond[at] else charts.CLIPPED


def end_rows(runs: ScaledRuns) -> list[Row]:
    """A row a scale; a run without a finite loss has the first loss of all runs."""
    return [
        {"k": k, "loss": float(runs.exact[0]) if end == charts.OVER else _last(runs, k), "fate": end}
        | {"text": "none" if end == charts.OVER else short(_last(runs, k), 3), "zeros": float(zeros)}
        for k, zeros in zip(LOG2_SCALES, runs.zeros, strict=True)
        for end in [fate(runs, k)]
    ]


def notice(runs: ScaledRuns) -> str:
    if runs.first_lost is not None:
        return (
            "Too small a scale loses small numbers, without a warning. Too large a scale ends the run: "
            f"**from {power_of_two(runs.first_lost)} on** a gradient overflows."
        )
    return (
        f"Gradients that are too large are clipped, so the run goes on: at {power_of_two(LOG2_SCALES[-1])} "
        f"its loss ends at **{short(_last(runs, LOG2_SCALES[-1]), 2)}**."
    )


def _last(runs: ScaledRuns, log2_scale: int) -> float:
    return float(runs.losses[LOG2_SCALES.index(log2_scale), -1])


def _specials(name: str) -> int:
    return int((~np.isfinite(FORMATS[name].values)).sum())


FACTS = {
    "special_codes": lambda settings: _specials(settings[OVERFLOWING.key][0]),
    "e5m2_special_codes": lambda _: _specials("e5m2"),
    "e4m3_ieee_special_codes": lambda _: _specials("e4m3_ieee"),
    "e4m3_largest": lambda _: FORMATS["e4m3"].max,
    "e4m3_ieee_largest": lambda _: FORMATS["e4m3_ieee"].max,
}
