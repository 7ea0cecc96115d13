"""Section "fp16 or bf16": gradients that vanish in one and survive in the other."""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import numpy as np

from fp8core.formats import FORMATS
from fp8core.formats.survival import Fates, fates
from pages.formats.charts.gradients import LOSS_SCALE as SLIDER
from pages.formats.charts.gradients import gradient_chart
from pages.formats.charts.words import percent
from pages.formats.controls import TITLES
from pages.kit.chart_slider import chart_with_slider, with_slider
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled
from pages.kit.charts.words import power_of_two
from pages.kit.controls import Controls
from pages.kit.gradients import gradients, gradients_words
from pages.kit.view import draw_notice, here, page_ink, room
from pages.kit.widgets import Whole

LOSS_SCALE = Whole(key="loss_scale", label="log2 of the loss scale", low=0, high=30, default=0)
CONTROLS = (LOSS_SCALE,)
GRADIENT_FORMATS = ("bf16", "fp16", "e5m2", "e4m3")
BY_TITLE = {TITLES[name]: FORMATS[name] for name in GRADIENT_FORMATS}
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
    k, all_fates = controls.value(LOSS_SCALE), gradient_fates()
    where = f"With a loss scale of {power_of_two(k)}" if k else "Without a loss scale"
    draw_notice(
        f"{where}, **{percent(all_fates[TITLES['fp16']][k].zero)} of these gradients become zero in fp16.** "
        "bf16 has fp32's exponent and loses none."
    )

    def alt(start: int) -> str:
        shares = ", ".join(f"{title} {percent(its[start].zero)}" for title, its in all_fates.items())
        at = f"at a loss scale of {power_of_two(start)}"
        return f"The same gradients in four formats; {at} become zero: {shares}"

    chart_with_slider(
        controls,
        LOSS_SCALE,
        name="formats_gradients",
        inputs=page_ink(),
        at=k,
        spec_at=lambda start: with_slider(gradient_spec(page_ink(), room()), SLIDER, start),
        alt_at=alt,
    )
    here().know.markdown("**What training history taught**\n" + HISTORY)
    here().know.caption(
        f"{gradients_words()} The shares come from encoding every one, by nearest even; bars are colored by "
        "their middle. Dotted: half the smallest value, below which all become zero. Solid: the largest."
    )


@cache
def gradient_fates() -> Mapping[str, Sequence[Fates]]:
    """Fates of the gradients times 2^k for each k, by the format's title."""
    at_scales = [np.ldexp(gradients(), k) for k in range(LOSS_SCALE.high + 1)]
    return {title: [fates(format_, x) for x in at_scales] for title, format_ in BY_TITLE.items()}


@lru_cache(maxsize=4)
def gradient_spec(ink: Ink, room: int) -> Filled:
    log2 = np.log2(np.abs(gradients()))
    low, high = np.floor(np.quantile(log2, 0.0005)), np.ceil(log2.max())
    bins = np.linspace(low, high, 2 * int(high - low) + 1)
    counts = np.histogram(log2, bins)[0]
    return gradient_chart(BY_TITLE, bins.tolist(), counts.tolist(), gradient_fates(), room, ink)


FACTS = {
    f"{name}_zero_share": lambda settings, name=name: (
        gradient_fates()[TITLES[name]][settings[LOSS_SCALE.key]].zero
    )
    for name in GRADIENT_FORMATS
}
