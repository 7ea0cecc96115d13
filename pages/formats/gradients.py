"""Section "fp16 or bf16": gradients that vanish in one and survive in the other."""

from pages.formats.charts.gradients import LOSS_SCALE as SLIDER
from pages.formats.charts.words import percent
from pages.formats.controls import LOSS_SCALE, TITLES
from pages.formats.data import gradient_fates, gradient_spec
from pages.kit.chart import room
from pages.kit.chart_slider import chart_with_slider, with_slider
from pages.kit.charts.words import power_of_two
from pages.kit.controls import Controls
from pages.kit.gradients import gradients_told
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here

HISTORY = """
- **fp16** was the first 16-bit format of tensor cores. The smallest gradients vanish in it, so the loss is
  multiplied by a large number before the backward pass, and the gradients are divided by it before the
  update: *loss scaling* (Micikevicius et al., Mixed Precision Training, arXiv 1710.03740).
- **bf16** has the exponent of fp32: no loss scaling, at the price of a coarser step (Kalamkar et al., A Study
  of BFLOAT16 for Deep Learning Training, arXiv 1905.12322). What training missed was range, not precision.
- **FP8** is short of both: E5M2 for gradients and E4M3 for the rest, with a scale for each tensor,
  which is loss scaling tensor by tensor (Micikevicius et al., FP8 Formats for Deep Learning, arXiv
  2209.05433). With a scale for each small tile, gradients fit E4M3 as well (DeepSeek-V3, arXiv 2412.19437).
"""


def show(controls: Controls) -> None:
    """Draw the gradients against each format's window."""
    draw_notice(_notice(controls.value(LOSS_SCALE)))
    found = gradient_fates()
    chart_with_slider(
        controls,
        LOSS_SCALE,
        name="formats_gradients",
        drawn=theme(),
        at=controls.value(LOSS_SCALE),
        spec_at=lambda start: with_slider(gradient_spec(theme(), room()), SLIDER, start),
        alt_at=lambda start: (
            f"The same gradients in four formats; at a loss scale of {power_of_two(start)} "
            "become zero: "
            + ", ".join(f"{title} {percent(fates[start].zero)}" for title, fates in found.items())
        ),
        is_rigid=True,
    )
    know = here().know
    know.markdown("**What training history taught**\n" + HISTORY)
    know.caption(
        f"{gradients_told()} The shares come from encoding every one, by nearest even; bars are colored by "
        "their middle. Dotted: half the smallest value, below which all become zero. Solid: the largest "
        "value."
    )


def _notice(k: int) -> str:
    found = gradient_fates()
    where = f"With a loss scale of {power_of_two(k)}" if k else "Without a loss scale"
    lost = found[TITLES["fp16"]][k].zero
    return (
        f"{where}, **{percent(lost)} of these gradients become zero in fp16.** bf16 has "
        "fp32's exponent and loses none."
    )
