"""Where do outliers go?

An outlier spoils its tile, however small that is. A rotation spreads it out.
"""

from fp8core.experiments.outliers import REAL_RESTS, Rest
from fp8core.inputs.recorded import source_of_seed
from pages.kit.shared_controls import SEED
from pages.kit.shell import open_page
from pages.rotations import error, vectors
from pages.rotations.controls import ALL_CONTROLS, ERROR_OF, OPENING, PRODUCT, REST, SHOW, draw_setting

SECTIONS = {"vector": vectors, "error": error}
INTRODUCTION = (
    "The largest element of a tile sets the scale for all elements of the tile. So one **outlier** pushes "
    "all others toward zero, where a format of few bits has few values. A **rotation** replaces every "
    "element by a weighted sum of all of them. It shares the outlier out, and it loses nothing: rotating "
    "back undoes it."
)
RULES = r"""
- **Vectors**: $x = rest + magnitude \cdot outliers$. The rest has variance 1 where it is not zero, and is 0
  at the outliers; the outliers are ±1, or spread around ±1. So the magnitude counts standard deviations of
  the rest.
- **Errors** are taken after rotating back, on the original elements. A rotation keeps lengths, so the total
  error is as large in either frame; what changes is which elements carry it.
- **Hadamard**: $y = x H / \sqrt{d}$ with Sylvester's $H$, $H_{2d} = \begin{pmatrix}H_d & H_d\\ H_d & -H_d
  \end{pmatrix}$: all entries ±1, computed by $\log_2 d$ stages of additions and subtractions, the division
  last. **With signs**: $x$ times ±1 first. NVFP4's sixteen signs are fixed; the others come from the seed.
- **Random rotation**: uniform over all orthogonal matrices: a product of reflections, one for each element,
  each along a Gaussian vector.
- **Quantized**: vectors are rotated in float64, rounded to fp32, then quantized to nearest, ties to even; the
  error is rotated back in float64. The tie at half the smallest value goes to the even code, zero. NVFP4's
  own E4M3 scale is not modeled here.
- **Averages** are over seeded random vectors: another seed moves them by some percent.
"""
SOURCES = (
    "Sources: NVFP4's random Hadamard transform: NVIDIA, Pretraining Large Language Models with NVFP4, "
    "arXiv 2509.25149. Rotated inference: Ashkboos et al., QuaRot, arXiv 2404.00456; Liu et al., SpinQuant, "
    "arXiv 2405.16406. Uniform random rotations: Stewart, SIAM J. Numer. Anal. 17 (1980). All figures "
    "are computed on this page with the numpy reference."
)

view, controls = open_page(
    "Where do outliers go?",
    *ALL_CONTROLS,
    opening=OPENING,
    moved={(SHOW.key, "matmul"): (None, {SHOW.key: "error", ERROR_OF.key: PRODUCT})},
)
with view.below:
    view.know.markdown(INTRODUCTION)
    section = controls.draw(SHOW, view.sections)
    draw_setting(controls)
    SECTIONS[section].show(controls)
    if Rest[controls.value(REST).upper()] in REAL_RESTS:
        view.know.caption(source_of_seed(controls.value(SEED)))
    view.know.markdown(RULES)
    view.know.caption(SOURCES)
