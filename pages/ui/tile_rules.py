"""The exact rules behind the pictures, in the words of the code that follows them."""

import inspect

import streamlit as st

from fp8core import quantize, scales
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from fp8core.rounding import Overflow


def exact_rules() -> None:
    """An expander with the order of operations, rounding, and each case of the scale's rule."""
    with st.expander("The exact rules: rounding, the smallest scale, NaN"):
        st.code(inspect.getdoc(quantize), language=None, wrap_lines=True)
        st.markdown(
            f"encode rounds to the {' or to the '.join(_roundings())}; clamp makes what is beyond ±Qmax, the "
            f"largest number of the format, {Overflow.SATURATE.value}."
        )
        st.markdown(inspect.getdoc(scales).replace("2**", "2^"))


def _roundings() -> list[str]:
    specs = (recipe.spec(matmul) for recipe in RECIPES.values() for matmul in MATMULS.values())
    return sorted({spec.operand(side).rounding.value for spec in specs for side in Side})
