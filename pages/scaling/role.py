"""The choice among the three tensors of a recorded layer."""

from fp8core.inputs import RECORDED
from pages.kit.controls import Controls
from pages.scaling.controls import ROLE

_OF_LAYERS = {kind.value for kind in RECORDED}


def draw_role(controls: Controls, kind: str) -> str:
    """Draw the choice where the numbers are a recorded layer's, and return the tensor that it names."""
    return controls.draw(ROLE) if kind in _OF_LAYERS else controls.value(ROLE)
