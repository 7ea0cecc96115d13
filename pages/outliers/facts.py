"""Facts of the page "Outliers" for the lesson."""

import math
from functools import lru_cache

from fp8core.experiments.operand_error import Lines
from fp8core.experiments.read_back import read_back
from fp8core.experiments.rounded_checkpoint import CheckpointError, Reading
from fp8core.experiments.two_readers import Disagreement
from fp8core.formats import FORMATS
from fp8core.recipes import Operand, OperandSpec
from fp8core.recipes.keys import recipe_of_key
from fp8core.recipes.text import OWN_NAME
from fp8core.scales import SCALE_RULES
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.shared_controls import OWN, SEED
from pages.kit.widgets import Settings
from pages.outliers import controls, data
from pages.outliers.charts.spread import Spread
from pages.outliers.data import BARE_TILES, ErrorMap, Source, source_of
from pages.outliers.lost import outlier_energy, spread

CONTROLS = controls.ALL_CONTROLS
_FIRST, _LAST = 0, -1  # of the recipes on the page

_bare = lru_cache(maxsize=8)(data.bare_readers)
_readers = lru_cache(maxsize=8)(data.recipe_readers)
_checkpoint = lru_cache(maxsize=8)(data.checkpoint)


def _source(settings: Settings) -> Source:
    choices = controls.DATA, controls.ROLE, controls.SIZE, controls.FACTOR, controls.EVERY
    kind, role, size, factor, every = (settings[control.key] for control in choices)
    rows, columns = map(int, size.split("x"))
    return source_of(kind, role, (rows, columns), settings[SEED.key], factor, every)


def _key(settings: Settings, number: int) -> str:
    name = settings[controls.RECIPES_SHOWN.key][number]
    return settings[OWN.key] if name == OWN_NAME else name


@lru_cache(maxsize=32)
def _error_map(key: str, role: str, source: Source) -> ErrorMap:
    if (part := data.error_map(key, role, source)) is None:
        raise ValueError(f"{recipe_of_key(key).title} leaves {role} in bf16")
    return part


def _map_of(settings: Settings, number: int) -> ErrorMap:
    return _error_map(_key(settings, number), settings[controls.ROLE.key], _source(settings))


def _lines(settings: Settings, number: int) -> Lines:
    return getattr(_map_of(settings, number).error, settings[controls.LINES.key])


def _spread(settings: Settings, number: int) -> Spread:
    return spread("", mark_of(None), _map_of(settings, number), _lines(settings, number))


def sqnr_gain_db(settings: Settings) -> float:
    first, last = (_map_of(settings, number).error.sqnr_db for number in (_FIRST, _LAST))
    return last - first


def median_gain_db(settings: Settings) -> float:
    """The gain of the median line that is no outlier."""
    return 20 * math.log10(_spread(settings, _FIRST).median / _spread(settings, _LAST).median)


@lru_cache(maxsize=8)
def _int8_zeros(source: Source) -> float:
    spec = OperandSpec(format=FORMATS["mxint8"], tile=TileShape(WHOLE, WHOLE), scale_rule=SCALE_RULES["fp32"])
    result = read_back(source.numbers(), Operand(spec=spec, k_is_rows=False), source.seed)
    return float(result.dead.mean())


def _bare_of(settings: Settings, *, is_square: bool) -> list[Disagreement]:
    names = settings[controls.READERS_FORMAT.key], settings[controls.READERS_SCALE.key]
    parts = _bare(*names, _source(settings))
    return [one for tile, one in zip(BARE_TILES, parts, strict=True) if (tile.mn == tile.k) == is_square]


def bare_differ(settings: Settings) -> float:
    """The share of elements that differ between the readers, in the longest bare tiles."""
    longest = _bare_of(settings, is_square=False)[-1]
    return longest.differ / longest.elements


def readers_differ(settings: Settings) -> float:
    part = _readers(_key(settings, _FIRST), _source(settings))
    return part.differ / part.elements


def _reading(settings: Settings, reading: Reading | None = None) -> CheckpointError:
    reading = reading or Reading[settings[controls.READING.key].upper()]
    return next(one for one in _checkpoint(_source(settings)) if one.reading is reading)


FACTS = {
    "sqnr_gain_db": sqnr_gain_db,
    "sqnr_loss_db": lambda settings: -sqnr_gain_db(settings),
    "sqnr_db": lambda settings: _map_of(settings, _LAST).error.sqnr_db,
    "total_error": lambda settings: _spread(settings, _LAST).total,
    "worst_error": lambda settings: _spread(settings, _LAST).worst,
    "median_gain_db": median_gain_db,
    "energy_held": lambda settings: outlier_energy(_lines(settings, _LAST)),
    # The share of zeros outside the outlier channels, under the last recipe and under the first.
    "zeros_share": lambda settings: _map_of(settings, _LAST).zeros,
    "first_zeros_share": lambda settings: _map_of(settings, _FIRST).zeros,
    # The share of all elements that become zero in integers of eight bits, with one scale for the tensor.
    "int8_zeros_share": lambda settings: _int8_zeros(_source(settings)),
    "outlier_factor": lambda settings: settings[controls.FACTOR.key],
    "outlier_every": lambda settings: settings[controls.EVERY.key],
    "bare_differ": bare_differ,
    # The number of elements that differ between the readers in all square tiles together.
    "square_differ": lambda settings: sum(one.differ for one in _bare_of(settings, is_square=True)),
    "readers_differ": readers_differ,
    # The weight's error as the checkpoint is read, over that of the checkpoint as it was made.
    "checkpoint_growth": lambda settings: (
        _reading(settings).weight / _reading(settings, Reading.AS_MADE).weight
    ),
    "checkpoint_error": lambda settings: _reading(settings).weight,
    # The weight's error where it has scales of powers of two from the start.
    "direct_error": lambda settings: _reading(settings, Reading.FROM_START).weight,
}
