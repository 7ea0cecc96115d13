"""Facts of the page "Compare recipes" for lessons: each is computed as the page computes it."""

from collections.abc import Callable, Mapping

from fp8core.experiments.error_curves import BAND_K, EXTENTS, Draws
from pages.compare_recipes.charts.scene import LINE, size_curve, small_error
from pages.compare_recipes.controls import ALL_CONTROLS, FORMAT, INPUT, SEED
from pages.kit.widgets import Value

CONTROLS = ALL_CONTROLS
_SHORT, _LONG = EXTENTS[0], BAND_K
Settings = Mapping[str, Value]


def _small(settings: Settings, extent: int) -> Draws:
    """The smaller half of the elements, in tiles of one line with fp32 scales."""
    chosen = settings[FORMAT.key], settings[INPUT.key], settings[SEED.key]
    return size_curve("fp32", LINE, *chosen, (extent,)).small[0]


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "shortest": lambda settings: _SHORT,
    "longest": lambda settings: _LONG,
    "error_shortest": lambda settings: small_error(_small(settings, _SHORT))[0],
    "error_longest": lambda settings: small_error(_small(settings, _LONG))[0],
    "bits_shortest": lambda settings: _small(settings, _SHORT).bits,
    "bits_longest": lambda settings: _small(settings, _LONG).bits,
}
