"""Facts of the page "Rotations" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping
from typing import Any

from pages.rotations.controls import ALL_CONTROLS, MAGNITUDE, OPENING
from pages.rotations.data import Look, Products, Setting, errors_at, look, products, setting

Settings = Mapping[str, Any]

__all__ = ["CONTROLS", "FACTS", "OPENING"]
CONTROLS = ALL_CONTROLS


def _setting(settings: Settings) -> Setting:
    return setting(lambda control: settings[control.key])


def _looks(settings: Settings) -> tuple[Look, Look]:
    return look(_setting(settings), settings[MAGNITUDE.key])


def error_ratio(settings: Settings) -> float:
    """The total error with the rotation over that without it, as energies."""
    without, rotated = errors_at(_setting(settings), settings[MAGNITUDE.key])
    return rotated.nmse / without.nmse


def rest_ratio(settings: Settings) -> float:
    """The error of the elements beside the outliers with the rotation over that without it, as energies."""
    without, rotated = errors_at(_setting(settings), settings[MAGNITUDE.key])
    return rotated.rest_nmse / without.rest_nmse


def _products(settings: Settings) -> Products:
    return products(_setting(settings), (float(settings[MAGNITUDE.key]),))


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "size": lambda settings: _setting(settings).size,
    "amax": lambda settings: _looks(settings)[0].amax,
    "rotated_amax": lambda settings: _looks(settings)[1].amax,
    "zeros_share": lambda settings: _looks(settings)[0].zeros / _setting(settings).size,
    "rotated_zeros_share": lambda settings: _looks(settings)[1].zeros / _setting(settings).size,
    "error_ratio": error_ratio,
    "error_gain": lambda settings: 1 / error_ratio(settings),
    "rest_ratio": rest_ratio,
    "product_moved": lambda settings: _products(settings).moved,
    "product_error": lambda settings: _products(settings).without[0],
    "rotated_product_error": lambda settings: _products(settings).rotated[0],
}
