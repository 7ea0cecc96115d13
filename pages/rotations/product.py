"""Section "Error", of a product: both sides rotate and the product stays; its quantization error falls."""

from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.rotations.charts.curves import Curve, curves, data_sets
from pages.rotations.data import MAGNITUDES, Setting, products

SWEPT = MAGNITUDES[::2]
WORDS = 55
"""Pixels of the words around the panel."""


PRODUCT = "product"


TITLES = ((PRODUCT, "Relative error of the quantized product, ‖D̂ − ABᵀ‖ / ‖ABᵀ‖"),)


def picture(curve: Curve, magnitude: int, theme: str) -> Filled:
    """The panel, and a line at the reader's magnitude."""
    chart = curves((SWEPT[0], SWEPT[-1]), TITLES, ((PRODUCT, None),), INKS[theme])
    return chart.filled(data_sets(SWEPT, {PRODUCT: curve}, magnitude))


def show(chosen: Setting, magnitude: int) -> None:
    """Draw the error of the product once both operands are quantized."""
    swept = products(chosen, SWEPT)
    now = products(chosen, (float(magnitude),))
    without, rotated = now.without[0], now.rotated[0]
    draw_notice(
        f"Rotate both operands: in {chosen.format} the product's error is **{rotated:.2%}**, "
        f"not {without:.2%}. Nobody has to rotate back."
    )
    draw_chart(
        picture(Curve(swept.without, swept.rotated), magnitude, theme()),
        key="rotations_product",
        taken=WORDS,
        alt=f"Relative error of the product in {chosen.format} over the outlier's magnitude. At {magnitude}: "
        f"{without:.3g} as it is, {rotated:.3g} rotated.",
    )
    here().know.latex(r"(A R)(B R)^\mathsf{T} = A\, R R^\mathsf{T} B^\mathsf{T} = A B^\mathsf{T}")
    here().know.markdown(
        "Rotate both operands along the contracted dim, and the product stays the same: the two rotations "
        f"cancel. In float64 it changes by at most {now.moved:.1e}; its largest entry is {now.largest:.3g}. "
        "Like activations, A has its outliers in the same channels of every row. Like weights, B has none."
    )
    here().know.caption(
        f"A and B have {chosen.matmul_rows} rows each; outliers spread over an octave around the magnitude. "
        "Products and sums are in float64: only quantization shows. Dotted: the magnitude chosen."
    )
