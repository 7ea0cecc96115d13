"""Section "Overflow": runs that it ends, and the results for numbers beyond the largest value."""

import math

import streamlit as st

from fp8core.formats import FORMATS
from fp8core.rounding import Overflow
from pages.formats.charts.overflow import inputs, overflow_chart
from pages.formats.charts.words import number
from pages.formats.compare import own_row, possible
from pages.formats.controls import OVERFLOWING, OWN, TITLES, own_fields
from pages.formats.data import formats_by_title
from pages.formats.run import draw_run
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.controls import Controls
from pages.kit.shell import theme
from pages.kit.view import here

PRACTICE = """
- OCP's FP8 specification defines both a saturating and a non-saturating conversion; without saturation E4M3
  gives NaN, E5M2 infinity. The OCP microscaling formats of 4 and 6 bits have no special code and saturate.
- HiF8 rounds ties away from zero (Luo et al., arXiv 2409.16626), so its tie overflows; here all formats are
  shown by nearest even, to compare them.
- NVIDIA's `cvt.rn.satfinite` saturates, infinity included; `ml_dtypes` does not saturate FP8.
- PyTorch's cast to `float8_e4m3fn` depends on its version: up to 2.11 overflow became NaN, from 2.12 on it
  saturates (pytorch/pytorch#178817). So never let a cast decide: clamp first, everywhere.
"""


def show(controls: Controls) -> None:
    """Draw the runs; below, what each format makes of the numbers from its largest value on."""
    draw_run(controls)
    chosen = controls.draw(OVERFLOWING)
    names = tuple(name for name in TITLES if name in chosen)
    if OWN in names:
        own_row(controls)
    own = own_fields(controls)
    st.header("Beyond the largest value")
    names = possible(names, own)
    if not names:
        st.info("Choose at least one format.")
        return
    formats = formats_by_title(names, own)
    draw_chart(
        overflow_chart(formats, INKS[theme()]),
        key="formats_overflow",
        is_rigid=True,
        alt=f"What numbers from the largest value on become in {', '.join(formats)}",
    )
    know = here().know
    know.markdown(
        "In each cell: the number, and what it becomes by nearest even. A step is the distance from the "
        "largest value to the one that would follow; half of it is a tie. “+” is the next float64 above. "
        f"{ties()}"
    )
    know.markdown("**In practice**\n" + PRACTICE)


def ties() -> str:
    """What becomes of a tie beyond the largest value, in two formats."""
    e4m3, e5m2 = FORMATS["e4m3"], FORMATS["e5m2"]
    tie4, tie5 = inputs(e4m3)[1], inputs(e5m2)[1]
    stays = float(e4m3.decode(e4m3.encode(tie4, overflow=Overflow.NAN)))
    goes = float(e5m2.decode(e5m2.encode(tie5, overflow=Overflow.INF)))
    verb = "stays at" if math.isfinite(stays) else "becomes"
    return (
        f"{number(tie4)} is half a step beyond E4M3's largest value and {verb} {number(stays)}, whose code "
        f"is even. {number(tie5)} is half a step beyond E5M2's and becomes {number(goes)}, because there the "
        "largest value's code is odd."
    )
