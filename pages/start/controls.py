"""The controls of the page "Start": the scales, and what the hand sets in the picture."""

from fp8core.experiments.pulled_number import ROWS, K, Scales
from fp8core.formats import FORMATS
from pages.kit.widgets import Choice, NumberStyle, Whole

PER_POWER = 4
"""Steps of the handle in a power of two."""
LOW, HIGH = -3, 23

SCALES = Choice(
    key="start_scales",
    label="Scales",
    options={
        Scales.NONE.value: "No scale",
        Scales.ONE.value: "One scale",
        Scales.ROWS.value: "A scale for each row",
    },
    default=Scales.ONE.value,
)
FORMAT = Choice(
    key="start_format",
    label="Format",
    options={name: f"{name}, {FORMATS[name].packed_bits} bits" for name in ("e4m3", "e5m2", "e2m1")},
    default="e4m3",
)
NUMBER = Whole(
    key="start_number",
    label="The gold number, row by row",
    low=0,
    high=ROWS * K - 1,
    default=12,
)
PULL = Whole(
    key="start_pull",
    label=f"Pull it up, in steps of a {PER_POWER}th of a power of two",
    low=LOW * PER_POWER,
    high=HIGH * PER_POWER,
    default=0,
    style=NumberStyle.SLIDER,
)
SUMMED = Whole(key="start_k", label="Numbers summed", low=0, high=K, default=K, style=NumberStyle.SLIDER)

CONTROLS = (SCALES, FORMAT, NUMBER, PULL, SUMMED)
