"""The texts of the page "Start"."""

from fp8core.linear import Axis
from pages.kit.charts.words import short
from pages.kit.gemm.words import duration
from pages.kit.inert import plain
from pages.start.numbers import EIGHT, SIXTEEN, Tile
from pages.start.times import LayerTimes

INTRODUCTION = (
    "A neural network trains by multiplying large matrices. In FP8, the numbers that are multiplied have "
    f"{EIGHT.bits} bits instead of {SIXTEEN[0].bits}, and tensor cores multiply them faster. So few bits are "
    "enough only with the right **scales**."
)
NO_TIMES = "No time of a layer is recorded, and none was measured here yet."


def notice(tile: Tile) -> str:
    """What a scale does for the numbers, in two sentences."""
    size, beyond = tile.numbers.size, int(tile.is_beyond.sum())
    kept = f"With one scale, {'all ' * (not tile.zeros_scaled)}{size - tile.zeros_scaled} live."
    if tile.zeros_plain:
        return f"Without a scale, **{tile.zeros_plain} of {size} numbers become 0**. {kept}"
    if beyond:
        return f"Without a scale, **{beyond} of {size} numbers are too large**. {kept}"
    return f"**None of {size} numbers is lost** at this size. Make them smaller."


def about_numbers(tile: Tile) -> str:
    """How the numbers were made, and what a scale does with them."""
    return (
        f"The {tile.numbers.size} numbers are normally distributed, times a power of two. At first they are "
        "so small that none survives without a scale: gradients are often as small. All are divided by "
        f"one scale, here {short(tile.scale, 3)}. Then they are rounded. The scale turns the largest of them "
        f"into {short(EIGHT.max)}, the largest number of {EIGHT.name}. The matmul's result is multiplied by "
        "the scale."
    )


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
