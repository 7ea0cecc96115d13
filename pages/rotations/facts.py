"""Facts of the page "Rotations" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping
from typing import Any

from pages.rotations import controls
from pages.rotations.cases import mean_errors
from pages.rotations.controls import (
    ALL_CONTROLS,
    COUNT,
    FORMAT,
    MAGNITUDE,
    REST,
    ROTATION,
    SCALE,
    SEED,
    SIZE,
    TILE,
    rotation_at,
)
from pages.rotations.data import Look, Products, Setting, errors, look, products

Settings = Mapping[str, Any]

CONTROLS = ALL_CONTROLS
OPENING = controls.OPENING


def _setting(settings: Settings) -> Setting:
    size = int(settings[SIZE.key])
    return Setting(
        size=size,
        rest=settings[REST.key],
        outliers=settings[COUNT.key],
        seed=settings[SEED.key],
        rotation=rotation_at(size).fit(settings[ROTATION.key]),
        format=settings[FORMAT.key],
        tile=settings[TILE.key],
        scale=settings[SCALE.key],
    )


def _looks(settings: Settings) -> tuple[Look, Look]:
    """The vector of the picture, before and after the rotation."""
    return look(_setting(settings), settings[MAGNITUDE.key])


def size(settings: Settings) -> int:
    """The number of entries of the vector."""
    return _setting(settings).size


def zeros_share(settings: Settings) -> float:
    """The share of the entries that become zero without the rotation."""
    return _looks(settings)[0].zeros / size(settings)


def rotated_zeros_share(settings: Settings) -> float:
    """The share of the entries that become zero with the rotation."""
    return _looks(settings)[1].zeros / size(settings)


def _errors(settings: Settings) -> tuple[float, float]:
    return mean_errors(_setting(settings), settings[MAGNITUDE.key])


def error_ratio(settings: Settings) -> float:
    """The total error with the rotation over that without it, as energies."""
    without, rotated = _errors(settings)
    return rotated / without


def rest_ratio(settings: Settings) -> float:
    """The error of the elements beside the outliers with the rotation over that without it, as energies."""
    without, rotated = errors(_setting(settings), float(settings[MAGNITUDE.key]))
    return rotated.rest_nmse / without.rest_nmse


def error_gain(settings: Settings) -> float:
    """The total error without the rotation over that with it, as energies."""
    return 1 / error_ratio(settings)


def _products(settings: Settings) -> Products:
    return products(_setting(settings), (float(settings[MAGNITUDE.key]),))


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "size": size,
    "magnitude": lambda settings: settings[MAGNITUDE.key],
    "amax": lambda settings: _looks(settings)[0].amax,
    "rotated_amax": lambda settings: _looks(settings)[1].amax,
    "zeros_share": zeros_share,
    "rotated_zeros_share": rotated_zeros_share,
    "error_ratio": error_ratio,
    "rest_ratio": rest_ratio,
    "error_gain": error_gain,
    "product_moved": lambda settings: _products(settings).moved,
    "product_error": lambda settings: _products(settings).without[0],
    "rotated_product_error": lambda settings: _products(settings).rotated[0],
}
