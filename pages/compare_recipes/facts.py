"""Facts of the page "Compare recipes" for lessons: each is computed as the page computes it."""

from collections.abc import Callable, Mapping

from fp8core.experiments.error_curves import BAND_K, EXTENTS, Draws
from fp8core.recipes.keys import keys_of
from pages.compare_recipes.charts.scene import Differences, small_error
from pages.compare_recipes.charts.table import scale_count
from pages.compare_recipes.controls import (
    ALL_CONTROLS,
    COMPARED,
    FORMAT,
    INPUT,
    OWN,
    SEED,
    WHICH,
    shown_recipes,
)
from pages.compare_recipes.data import differences
from pages.compare_recipes.sizes import LINE, SQUARE, size_curve
from pages.kit.widgets import Value

CONTROLS = ALL_CONTROLS
_SHORT, _LONG = EXTENTS[0], BAND_K


def _shown(values: Mapping[str, Value]) -> list[Differences]:
    keys, _ = keys_of(shown_recipes(values[WHICH.key], values[COMPARED.key]), values[OWN.key])
    shown = keys or tuple(COMPARED.default)
    return [differences(key, values[INPUT.key], values[SEED.key]) for key in shown]


def _most(values: Mapping[str, Value]) -> Differences:
    return max(_shown(values), key=lambda one: one.kept)


def _least(values: Mapping[str, Value]) -> Differences:
    return min(_shown(values), key=lambda one: one.kept)


def _scale_values(values: Mapping[str, Value], pick: Callable[..., int]) -> int:
    return pick(scale_count(one.rule) for one in _shown(values) if one.rule is not None)


def _small(values: Mapping[str, Value], rule: str, tile: str, extent: int) -> Draws:
    asked = values[FORMAT.key], values[INPUT.key], values[SEED.key]
    return size_curve(rule, tile, *asked, (extent,)).small[0]


def _error(rule: str, tile: str, extent: int) -> Callable[[Mapping[str, Value]], float]:
    return lambda values: small_error(_small(values, rule, tile, extent))[0]


def _bits(rule: str, extent: int) -> Callable[[Mapping[str, Value]], float]:
    return lambda values: _small(values, rule, LINE, extent).bits


FACTS: dict[str, Callable[[Mapping[str, Value]], float | int | str]] = {
    "recipes": lambda values: len(_shown(values)),
    "most_copies": lambda values: _most(values).kept,
    "most_copies_recipe": lambda values: _most(values).recipe.title,
    "least_copies": lambda values: _least(values).kept,
    "least_copies_recipe": lambda values: _least(values).recipe.title,
    "fewest_scale_values": lambda values: _scale_values(values, min),
    "most_scale_values": lambda values: _scale_values(values, max),
    "shortest": lambda values: _SHORT,
    "longest": lambda values: _LONG,
    "error_shortest": _error("fp32", LINE, _SHORT),
    "error_longest": _error("fp32", LINE, _LONG),
    "error_shortest_power": _error("e8m0_round_up", LINE, _SHORT),
    "error_shortest_square": _error("fp32", SQUARE, _SHORT),
    "bits_shortest": _bits("fp32", _SHORT),
    "bits_shortest_power": _bits("e8m0_round_up", _SHORT),
    "bits_longest": _bits("fp32", _LONG),
}
"""Facts by name. `error_…` is that of the smaller half of the elements, in the shortest or longest tiles."""
