"""The texts of the page "Start"."""

from fp8core.formats import FORMATS
from fp8core.linear import Axis
from pages.kit.gemm.words import duration
from pages.kit.inert import plain
from pages.start.times import LayerTimes

INTRODUCTION = (
    "A neural network trains by multiplying large matrices. In FP8, the numbers that are multiplied have "
    f"{FORMATS['e4m3'].bits} bits instead of {FORMATS['bf16'].bits}, and tensor cores multiply them faster. "
    "So few bits are enough only with the right **scales**."
)
NO_TIMES = "No time of a layer is recorded, and none was measured here yet."


def about_times(times: LayerTimes | None) -> str:
    """What was measured, on which GPU, and when."""
    if times is None:
        return NO_TIMES
    sizes = ", ".join(f"{times.layer.size(axis):,} {axis.value}" for axis in Axis)
    return plain(
        f"Times: {', '.join(times.matmuls)} of a layer with {sizes}. bf16 takes {duration(times.bf16_us)}. "
        f"FP8 takes {duration(times.fp8_us)}, and {duration(times.quantize_us)} of these are for quantizing. "
        f"Recipe: {times.recipe}. {times.where}, {times.when}."
    )
