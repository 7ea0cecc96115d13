"""The exact rules behind the pictures: the order of operations, rounding, and each case of the scale."""

import streamlit as st

from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from pages.kit.scale_rules import scale_rules

_QUANTIZED = """
**From x to a code**, in fp32, each step rounded as IEEE 754 does:

1. $amax = \\max |x|$ over the tile, and the $scale$ that follows from it (below).
2. $r = 1 / scale$, then $q = x \\cdot r$.
3. What is beyond $\\pm Q_{{max}}$, the largest value of the format, becomes that value (it saturates).
4. The code of $q$: rounded to the {rounding}.

NaN or infinity in a tile makes its scale NaN, and its codes NaN too. A format without NaN (E2M1) gets
codes of 0 there: times their scale they are NaN all the same.

**From amax to the scale**
"""


def exact_rules() -> None:
    """An expander with the order of operations, rounding, and each case of the scale's rule."""
    with st.expander("The exact rules: rounding, the smallest scale, NaN"):
        st.markdown(_QUANTIZED.format(rounding=" or to the ".join(_roundings())))
        st.markdown(scale_rules())


def _roundings() -> list[str]:
    specs = (recipe.spec(matmul) for recipe in RECIPES.values() for matmul in MATMULS.values())
    return sorted({spec.operand(side).rounding.value for spec in specs for side in Side})
