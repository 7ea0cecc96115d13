"""The control of the page "Start"."""

from pages.kit.widgets import NumberStyle, Whole

POWER = Whole(
    key="power",
    label="Size of the numbers in 2 and 3: times 2 to the power of",
    low=-24,
    high=12,
    default=-12,
    style=NumberStyle.SLIDER,
    help="The numbers are normally distributed, and then multiplied by this power of two. Gradients are "
    "often as small as at the start of this page.",
)

CONTROLS = (POWER,)
