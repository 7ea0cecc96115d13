"""Can rounding noise help?

Spread out or not, each number is rounded. A coin can keep the mean right.
"""

from pages.kit.shell import open_page
from pages.stochastic_rounding import mean, picture, recipes, training
from pages.stochastic_rounding.controls import A_MATMUL, A_WEIGHT, ALL_CONTROLS, ROUNDED, SHOW

SECTIONS = {"picture": picture, "recipes": recipes, "mean": mean, "training": training}
MOVED = {(SHOW.key, name): (None, {SHOW.key: "training", ROUNDED.key: name}) for name in (A_WEIGHT, A_MATMUL)}
IDEA = (
    "Rounding **to nearest** gives the closest value, and makes the same error again every time. "
    "**Stochastic rounding** throws a weighted coin: a value a third of the way from one code to the next "
    "becomes the upper one in a third of the cases. Each result is further off, but on average nothing is "
    "lost."
)
RULE = r"""
- **Rule**: x lies between two values, a *fraction* of the way from the one toward zero, *low*, to the other,
  *high*. It becomes *high* where $\lfloor fraction \cdot 2^N \rfloor + R \ge 2^N$; $R$ is drawn
  uniformly from $0 \ldots 2^N - 1$. On a GPU this is one addition: $R$ is added to the $N$ bits below the
  last one kept, and a carry rounds up.
- **Bits below those N** are dropped, in PTX's `cvt.rs` as in IEEE P3109's variant A. That moves the mean
  toward zero by less than $2^{-N}$ of a step. Variants B and C round them instead, which takes most of it
  away.
- **Mean and variance** here are exact, over all $2^N$ values of $R$. With $p$ the share of them that round
  up: $E = low + p\,(high - low)$ and $Var = p\,(1 - p)\,(high - low)^2$.
"""
HARDWARE = (
    "**On which GPU.** Hopper (sm_90) has no such conversion: there, stochastic rounding is software. PTX's "
    "`cvt.rs` needs sm_100a or sm_103a (Blackwell). It takes 8 random bits per value for e2m1, 16 for bf16, "
    "13 for fp16; for fp8 and fp6, two values share 16. Beyond the largest value it saturates, so a mean is "
    "kept only inside the format's range.\n\n**Nearest, at a tie.** Exactly half way, the code whose last "
    "bit is 0."
)
SOURCES = (
    "Sources: NVIDIA PTX ISA, instruction cvt.rs; IEEE P3109 interim report (StochasticA, B, C); Gupta et "
    "al., Deep Learning with Limited Numerical Precision, arXiv 1502.02551."
)

view, controls = open_page("Can rounding noise help?", *ALL_CONTROLS, moved=MOVED)
with view.below:
    view.know.markdown(IDEA)
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
    view.know.markdown(f"{RULE}\n{HARDWARE}")
    view.know.caption(SOURCES)
