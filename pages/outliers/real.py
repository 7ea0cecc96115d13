"""Question "Real tensors": how weights, activations and gradients of a training run look different."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import streamlit as st

from fp8core.experiments.tensor_shape import BIN, ENDS, ROW_ENDS, TensorShape, tensor_shape
from fp8core.inputs import INPUT_NOTES, RECORDED, InputKind
from fp8core.inputs.recorded import tensor
from fp8core.linear import OPERANDS, LayerTensor
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.outliers.charts.curves import shapes_chart
from pages.outliers.controls import REAL
from pages.outliers.words import percent, table

NAMES = {
    LayerTensor.X: "x, activations",
    LayerTensor.W: "w, weights",
    LayerTensor.DY: "dy, gradients",
}
LAW = "a Gaussian"
_SHAPE = (256, 256)
READING = (
    "**How they differ.** A *crest factor* far above a Gaussian's says that a few elements stand out: one "
    "scale for all must reach them, and the others get the lowest codes. The *kurtosis* counts the tail in "
    "between. The *octaves* say how much range a format needs before numbers become zero. *Rows* and "
    "*columns* tell where large numbers sit: in single tokens, which a scale for each row cures, or in "
    "single channels, which need scales along the row."
)


def show(controls: Controls) -> None:
    """Draw the choice of a recorded layer, what to notice, the distributions and their figures."""
    kind = InputKind(controls.draw(REAL))
    shapes = of_layer(kind)
    draw_notice(notice(shapes))
    compared = shapes | {LAW: gaussian()}
    draw_chart(
        shapes_chart({name: histogram(one) for name, one in compared.items()}, INKS[theme()]),
        key="outliers_real",
        alt="; ".join(f"{name}: crest factor {short(one.crest, 3)}" for name, one in compared.items()),
    )
    st.markdown(figures(compared))
    here().know.markdown(READING)
    here().know.caption(
        f"x, w and dy {INPUT_NOTES[kind].rule}. Here the whole crops are counted. Bins of {BIN:g} octaves; "
        f"elements that are 0 have none. Octaves: log2 of the {ENDS[1]:.0%} quantile of |v| over the "
        f"{ENDS[0]:.0%} one. Rows, columns: the rms of a large one over that of a small one "
        f"({ROW_ENDS[1]:.0%} and {ROW_ENDS[0]:.0%} quantile)."
    )


@lru_cache(maxsize=len(RECORDED))
def of_layer(kind: InputKind) -> dict[str, TensorShape]:
    """The shapes of the three tensors of a recorded layer."""
    return {NAMES[one]: tensor_shape(tensor(*RECORDED[kind], one)) for one in OPERANDS}


@lru_cache(maxsize=1)
def gaussian() -> TensorShape:
    """The shape of as many Gaussian numbers."""
    return tensor_shape(np.random.default_rng(0).standard_normal(_SHAPE))


def histogram(one: TensorShape) -> dict[float, float]:
    """The share in each bin, by the bin's middle."""
    return {at + BIN / 2: share for at, share in zip(one.bins, one.shares, strict=True)}


def notice(shapes: Mapping[str, TensorShape]) -> str:
    """The tensor with the largest crest factor."""
    out = max(shapes, key=lambda name: shapes[name].crest)
    return (
        f"The largest number of {out}, is **{short(shapes[out].crest, 3)} times the rms.** "
        f"A Gaussian's is {short(gaussian().crest, 2)} times."
    )


def figures(shapes: Mapping[str, TensorShape]) -> str:
    """A Markdown table of the figures."""
    rows = [
        (
            name,
            short(one.rms, 3),
            short(one.crest, 3),
            short(one.kurtosis, 3),
            f"{one.octaves:.1f}",
            percent(one.zeros),
            short(one.rows, 3),
            short(one.columns, 3),
        )
        for name, one in shapes.items()
    ]
    head = ("tensor", "rms", "crest factor", "kurtosis", "octaves", "zeros", "rows", "columns")
    return table(head, rows)
