"""One pixel of the picture, rounded by a coin again and again."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fp8core.experiments.pictures import round_nearest, round_noisy
from fp8core.formats import Format
from fp8core.stochastic import MAX_RANDOM_BITS, neighbors
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.stage.stage import Stage, floats
from pages.kit.widgets import Place
from pages.stochastic_rounding.controls import MOST_THROWS, THROWS

_COINS = Stage("coins", Path(__file__).parent / "stage" / "coins.js")
_GRAYS = {0.0: "black", 1.0: "white"}


@dataclass(frozen=True, kw_only=True)
class Throws:
    """A pixel's light `x`, the two values around it, and the results of its coins.

    `is_up` bool[MOST_THROWS]: the result is `high`. `means` and `deviations` float64[MOST_THROWS]: the mean
    after each throw, and its standard deviation.
    """

    x: float
    low: float
    high: float
    nearest: float
    is_up: NDArray[np.bool_]
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]


@lru_cache(maxsize=64)
def throws(x: float, grid: Format, seed: tuple[int, ...]) -> Throws:
    pixel = np.array([x])
    around = neighbors(grid, pixel * grid.max)
    low, high, up = float(around.low[0]), float(around.high[0]), float(around.fraction[0])
    coins = np.random.default_rng(seed).integers(0, 1 << MAX_RANDOM_BITS, MOST_THROWS)
    results = round_noisy(np.full(MOST_THROWS, x), grid, coins)
    count = np.arange(1, MOST_THROWS + 1)
    return Throws(
        x=x,
        low=low / grid.max,
        high=high / grid.max,
        nearest=float(round_nearest(pixel, grid)[0]),
        is_up=results > low / grid.max,
        means=np.cumsum(results) / count,
        deviations=(high - low) / grid.max * np.sqrt(up * (1 - up) / count),
    )


def draw_coins(controls: Controls, coins: Throws, height: int, place: Place) -> None:
    def take(move: dict[str, object]) -> None:
        if THROWS.accepts(move.get("thrown")):
            controls.preset(**{THROWS.key: move["thrown"]})

    light = short(coins.x, 2)
    with place:
        _COINS.mount(
            {
                "height": height,
                "at": {"thrown": controls.draw(THROWS)},
                **{name: getattr(coins, name) for name in ("x", "low", "high", "nearest")},
                "ups": "".join("1" if up else "0" for up in coins.is_up),
                "means": floats(coins.means),
                "deviations": floats(coins.deviations),
                "names": {
                    "x": f"One pixel of light {light}",
                    "value": light,
                    "low": _gray(coins.low),
                    "high": _gray(coins.high),
                    "nearest": f"to nearest: always {short(coins.nearest, 2)}",
                },
            },
            key="hand_coins",
            on_change=take,
        )


def _gray(light: float) -> str:
    return f"{short(light, 2)}, {_GRAYS[light]}" if light in _GRAYS else short(light, 2)
