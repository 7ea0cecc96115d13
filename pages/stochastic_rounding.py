"""Can rounding noise help?"""

import inspect

import streamlit as st

from fp8core import stochastic
from pages.ui import stochastic_dot, stochastic_mean, stochastic_picture, stochastic_weight
from pages.ui.controls import Controls
from pages.ui.shell import guard
from pages.ui.stochastic_controls import ALL_CONTROLS, PART, SEED

SECTIONS = {
    "picture": stochastic_picture,
    "mean": stochastic_mean,
    "weight": stochastic_weight,
    "dot": stochastic_dot,
}
IDEA = (
    "Rounding **to nearest** gives the closest value, and makes the same error again every time. "
    "**Stochastic rounding** throws a weighted coin: a value a third of the way from one code to the next "
    "becomes the upper one in a third of the cases. Each result is further off, but on average nothing is "
    "lost."
)
HARDWARE = (
    "**On which GPU.** Hopper (sm_90) has no such conversion: there, stochastic rounding is software. PTX's "
    "`cvt.rs` needs sm_100a or sm_103a (Blackwell). It takes 8 random bits a value for e2m1, 16 for bf16, "
    "13 for fp16; for fp8 and fp6, two values share 16. Beyond the largest value it saturates, so a mean is "
    "kept only inside the format's range.\n\n**Nearest, at a tie.** Exactly half way, the code whose last "
    "bit is 0."
)
SOURCES = (
    "Sources: NVIDIA PTX ISA, instruction cvt.rs; IEEE P3109 interim report (StochasticA, B, C); Gupta et "
    "al., Deep Learning with Limited Numerical Precision, arXiv 1502.02551."
)

guard()
st.title("Can rounding noise help?")
controls = Controls(*ALL_CONTROLS)
st.markdown(IDEA)

controls.toolbar(st.sidebar)
controls.draw(SEED, st.sidebar)

SECTIONS[controls.draw(PART)].show(controls)

st.caption(SOURCES)
with st.expander("The exact rule: random bits, ties, limits, hardware"):
    rule = "Up where  floor(fraction · 2ᴺ) + R ≥ 2ᴺ,  R uniform in 0 … 2ᴺ - 1."
    moments = inspect.getdoc(stochastic.moments)
    told = [" ".join(part.split()) for part in inspect.getdoc(stochastic).split("\n\n")]
    st.code("\n\n".join([*told, rule, moments]), language=None, wrap_lines=True)
    st.markdown(HARDWARE)
