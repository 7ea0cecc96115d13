"""The controls that sections of the page "Scaling" share, and the numbers that they choose."""

import numpy as np
from numpy.typing import NDArray

from fp8core.inputs import RECORDED, InputKind, draw, stretch
from fp8core.linear import OPERANDS, LayerTensor
from pages.kit.charts.words import percent_text
from pages.kit.controls import Controls
from pages.kit.widgets import Choice

KEPT, BYTES = 64, "4MB"
"""Results kept of each computation: how many, and their size."""

SHOW = Choice(
    key="scaling",
    label="Show",
    options={"window": "One scale", "rules": "The scale's own format", "delayed": "Now or delayed"},
    default="window",
)
ROLE = Choice(
    key="scaling_tensor",
    label="Which tensor",
    options={tensor.value: tensor.value for tensor in OPERANDS},
    default=LayerTensor.DY.value,
    help="A recorded layer has three: activations x, weights w and gradients dy.",
)


def draw_role(controls: Controls, kind: str) -> str:
    """Draw the choice where the numbers are a recorded layer's, and return the tensor that it names."""
    is_recorded = kind in {recorded.value for recorded in RECORDED}
    return controls.draw(ROLE) if is_recorded else controls.value(ROLE)


def numbers(kind: str, tensor: str, shape: tuple[int, int], seed: int) -> NDArray[np.float32]:
    """float32[rows, columns] of a law, or elements of a recorded tensor as they lie in memory."""
    if InputKind(kind) in RECORDED:
        return stretch(InputKind(kind), LayerTensor(tensor), shape[0] * shape[1], seed).reshape(shape)
    return draw(InputKind(kind), shape, seed)


def percent(share: float) -> str:
    """A percentage, such as ``12.3%``. A share above 0 never reads as 0, nor one below 1 as all."""
    if 0 < share < 5e-5:
        return "under 0.01%"
    if 1 - 5e-4 < share < 1:
        return "over 99.9%"
    return percent_text(share)
