"""Section "In a matmul": both sides rotate and the product stays; its quantization error does not."""

import streamlit as st

from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.sections.rotations.charts.curves import Curve, curves, data_sets
from pages.sections.rotations.controls import MAGNITUDE, draw_rotation
from pages.sections.rotations.data import MAGNITUDES, products, setting

SWEPT = MAGNITUDES[::2]


PRODUCT = "product"


TITLES = ((PRODUCT, "Relative error of the quantized product, ‖D̂ − ABᵀ‖ / ‖ABᵀ‖"),)


def picture(curve: Curve, magnitude: int, theme: str) -> Filled:
    """The panel, and a line at the reader's magnitude."""
    chart = curves((SWEPT[0], SWEPT[-1]), TITLES, ((PRODUCT, None),), INKS[theme])
    return chart.filled(data_sets(SWEPT, {PRODUCT: curve}, magnitude))


def show(controls: Controls) -> None:
    """Draw the identity, its check in float64, and the error once both operands are quantized."""
    draw_rotation(controls)
    magnitude = controls.draw(MAGNITUDE)
    chosen = setting(controls)
    swept = products(chosen, SWEPT)
    curve = Curve(swept.without, swept.rotated)
    here = products(chosen, (float(magnitude),))
    st.latex(r"(A R)(B R)^\mathsf{T} = A\, R R^\mathsf{T} B^\mathsf{T} = A B^\mathsf{T}")
    st.markdown(
        "Rotate both operands along the contracted dim, and the product stays the same. Nobody has to rotate "
        "back: the two rotations cancel. Like activations, A has its outliers in the same channels of every "
        "row. Like weights, B has none."
    )
    without, rotated = here.without[0], here.rotated[0]
    change = rotated / without - 1 if without else 0.0
    draw_notice(
        f"**Notice:** in float64, rotating both operands changes the product by at most {here.moved:.1e}; "
        f"its largest entry is {here.largest:.3g}. That is rounding only. With both operands in "
        f"{chosen.format}, the error of the product is {without:.2%} without the rotation and {rotated:.2%} "
        f"with it: {abs(change):.0%} {'more' if change > 0 else 'less'}."
    )
    draw_chart(
        picture(curve, magnitude, theme()),
        key="rotations_product",
        alt=f"Relative error of the product in {chosen.format} over the outlier's magnitude. At {magnitude}: "
        f"{without:.3g} as it is, {rotated:.3g} rotated.",
    )
    st.caption(
        f"A and B have {chosen.matmul_rows} rows each; outliers spread over an octave around the magnitude. "
        "Products and sums are in float64: only quantization shows. Dotted: the magnitude chosen above."
    )
