"""The control of the page "Start"."""

from pages.kit.widgets import NumberStyle, Whole

POWER = Whole(
    key="power",
    label="Make the numbers smaller or larger (× 2ⁿ)",
    low=-24,
    high=12,
    default=-12,
    style=NumberStyle.SLIDER,
)

CONTROLS = (POWER,)
