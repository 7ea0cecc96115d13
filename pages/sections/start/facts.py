"""Facts of the page "Start" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping

from pages.kit.widgets import Value
from pages.sections.start.controls import CONTROLS, POWER
from pages.sections.start.numbers import COUNT, EIGHT, SHOWN, Tile, tile
from pages.sections.start.times import LayerTimes, layer_times

__all__ = ["CONTROLS", "FACTS"]

Settings = Mapping[str, Value]


def _tile(settings: Settings) -> Tile:
    return tile(int(settings[POWER.key]))


def _times() -> LayerTimes:
    found = layer_times()
    if found is None:
        raise ValueError("no time of a layer is recorded, and none was measured here")
    return found


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "numbers": lambda settings: COUNT,
    "largest": lambda settings: EIGHT.max,
    "zeros": lambda settings: _tile(settings).zeros_plain,
    "zeros_share": lambda settings: _tile(settings).zeros_plain / COUNT,
    "zeros_scaled": lambda settings: _tile(settings).zeros_scaled,
    "beyond": lambda settings: int(_tile(settings).is_beyond.sum()),
    "number": lambda settings: float(_tile(settings).numbers[SHOWN]),
    "scale": lambda settings: _tile(settings).scale,
    "bf16_us": lambda settings: _times().bf16_us,
    "fp8_us": lambda settings: _times().fp8_us,
    "times_faster": lambda settings: _times().times_faster,
}
