"""Facts of the page "Outliers" for the lesson, computed by what the page draws from."""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from fp8core.experiments.operand_error import Lines
from fp8core.experiments.read_back import read_back
from fp8core.experiments.rounded_checkpoint import CheckpointError, Reading
from fp8core.experiments.two_readers import Disagreement
from fp8core.formats import FORMATS
from fp8core.inputs import OUTLIER_EVERY
from fp8core.recipes import Operand, OperandSpec
from fp8core.recipes.keys import recipe_of_key
from fp8core.recipes.text import OWN_NAME
from fp8core.scales import SCALE_RULES
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.shared_controls import OWN, SEED
from pages.outliers.charts.spread import Spread
from pages.outliers.controls import (
    ALL_CONTROLS,
    DATA,
    LINES,
    READERS_FORMAT,
    READERS_SCALE,
    READING,
    RECIPES_SHOWN,
    ROLE,
    SIZE,
)
from pages.outliers.controls import FACTOR as FACTOR_OF
from pages.outliers.lines import spread
from pages.outliers.measures import (
    BARE_TILES,
    FACTOR,
    Measured,
    bare_readers,
    checkpoint,
    given_tensor,
    layer,
    measured,
    recipe_readers,
)
from pages.outliers.source import Source

Settings = Mapping[str, Any]

CONTROLS = ALL_CONTROLS
_FIRST, _LAST = 0, -1
"""The places of a recipe among those that are shown."""


def _source(settings: Settings) -> Source:
    rows, columns = map(int, settings[SIZE.key].split("x"))
    kind = settings[DATA.key]
    tensor = given_tensor(kind, settings[ROLE.key])
    return Source(
        kind=kind,
        shape=(rows, columns),
        seed=settings[SEED.key],
        tensor=tensor,
        factor=settings[FACTOR_OF.key],
    )


def _key(settings: Settings, place: int) -> str:
    """A recipe that is shown, as the measurements name it: your own goes by its line."""
    name = settings[RECIPES_SHOWN.key][place]
    return settings[OWN.key] if name == OWN_NAME else name


@lru_cache(maxsize=32)
def _kept(key: str, role: str, source: Source) -> Measured:
    found = measured(key, role, source)
    if found is None:
        raise ValueError(f"{recipe_of_key(key).title} leaves {role} in bf16")
    return found


def _measured(settings: Settings, place: int) -> Measured:
    return _kept(_key(settings, place), settings[ROLE.key], _source(settings))


def _lines(settings: Settings, place: int) -> Lines:
    return getattr(_measured(settings, place).error, settings[LINES.key])


def _spread(settings: Settings, place: int) -> Spread:
    """The errors of the channels or tokens that are no outliers."""
    part = _measured(settings, place)
    return spread("", mark_of(None), part, _lines(settings, place))


def _db(ratio: float) -> float:
    return 20 * math.log10(ratio)


def sqnr_gain_db(settings: Settings) -> float:
    """SQNR of the last recipe minus that of the first."""
    first, last = (_measured(settings, place).error.sqnr_db for place in (_FIRST, _LAST))
    return last - first


def median_gain_db(settings: Settings) -> float:
    """The gain of the median line that is no outlier, from the first recipe to the last."""
    return _db(_spread(settings, _FIRST).median / _spread(settings, _LAST).median)


def energy_held(settings: Settings) -> float:
    """The share of the energy that the outlier lines hold."""
    lines = _lines(settings, _LAST)
    return float(lines.energy[lines.outliers(FACTOR)].sum() / lines.energy.sum())


def zeros_share(settings: Settings) -> float:
    """The share of the elements outside the outlier channels that become zero under the last recipe."""
    return _measured(settings, _LAST).zeros


@lru_cache(maxsize=8)
def _int8_zeros(source: Source) -> float:
    spec = OperandSpec(format=FORMATS["mxint8"], tile=TileShape(WHOLE, WHOLE), scale_rule=SCALE_RULES["fp32"])
    read = read_back(source.numbers(), Operand(spec=spec, k_is_rows=False), source.seed)
    return float(read.dead.mean())


def int8_zeros_share(settings: Settings) -> float:
    """The share of the elements that become zero in integers of eight bits, with one scale for the tensor."""
    return _int8_zeros(_source(settings))


def first_zeros_share(settings: Settings) -> float:
    """The share of those that become zero under the first recipe."""
    return _measured(settings, _FIRST).zeros


@lru_cache(maxsize=8)
def _bare(format_name: str, scale_name: str, source: Source) -> tuple[Disagreement, ...]:
    return bare_readers(format_name, scale_name, source)


def _bare_of(settings: Settings) -> dict[bool, list[Disagreement]]:
    """How far the readers of bare tiles disagree: in long tiles (False) and in square ones (True)."""
    found = _bare(settings[READERS_FORMAT.key], settings[READERS_SCALE.key], _source(settings))
    pairs = list(zip(BARE_TILES, found, strict=True))
    return {square: [one for tile, one in pairs if (tile.mn == tile.k) == square] for square in (False, True)}


def bare_differ(settings: Settings) -> float:
    """The share of the weight's elements that differ between its readers, in the longest bare tiles."""
    longest = _bare_of(settings)[False][-1]
    return longest.differ / longest.elements


def square_differ(settings: Settings) -> int:
    """The number of elements that differ between the readers in all square tiles together."""
    return sum(one.differ for one in _bare_of(settings)[True])


_readers = lru_cache(maxsize=8)(recipe_readers)


def readers_differ(settings: Settings) -> float:
    """The share of the weight's elements that differ between its readers under the first recipe."""
    found = _readers(_key(settings, _FIRST), _source(settings))
    return found.differ / found.elements


@lru_cache(maxsize=8)
def _checkpoint(source: Source) -> tuple[CheckpointError, ...]:
    return checkpoint(source)


def _reading(settings: Settings, reading: Reading) -> CheckpointError:
    return next(one for one in _checkpoint(_source(settings)) if one.reading is reading)


def checkpoint_growth(settings: Settings) -> float:
    """The weight's error as the checkpoint is read, over that of the checkpoint as it was made."""
    now = _reading(settings, Reading[settings[READING.key].upper()])
    return now.weight / _reading(settings, Reading.AS_MADE).weight


def checkpoint_error(settings: Settings) -> float:
    """The weight's error as the checkpoint is read."""
    return _reading(settings, Reading[settings[READING.key].upper()]).weight


def direct_error(settings: Settings) -> float:
    """The weight's error where it has scales of powers of two from the start."""
    return _reading(settings, Reading.FROM_START).weight


@lru_cache(maxsize=16)
def _layer(key: str, role: str, source: Source) -> Mapping[str, float]:
    return {name: error.rel_err for name, error in layer(key, role, source).items()}


def _result(name: str, place: int) -> Callable[[Settings], float]:
    """The relative error of the result of a matmul under one of the recipes."""
    return lambda settings: _layer(_key(settings, place), settings[ROLE.key], _source(settings))[name]


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "sqnr_gain_db": sqnr_gain_db,
    "sqnr_loss_db": lambda settings: -sqnr_gain_db(settings),
    "sqnr_db": lambda settings: _measured(settings, _LAST).error.sqnr_db,
    "first_sqnr_db": lambda settings: _measured(settings, _FIRST).error.sqnr_db,
    "total_error": lambda settings: _spread(settings, _LAST).total,
    "median_error": lambda settings: _spread(settings, _LAST).median,
    "worst_error": lambda settings: _spread(settings, _LAST).worst,
    "median_gain_db": median_gain_db,
    "energy_held": energy_held,
    "zeros_share": zeros_share,
    "first_zeros_share": first_zeros_share,
    "int8_zeros_share": int8_zeros_share,
    "outlier_factor": lambda settings: settings[FACTOR_OF.key],
    "outlier_every": lambda _: OUTLIER_EVERY,
    "bare_differ": bare_differ,
    "square_differ": square_differ,
    "readers_differ": readers_differ,
    "checkpoint_growth": checkpoint_growth,
    "checkpoint_error": checkpoint_error,
    "direct_error": direct_error,
    "y_error": _result("fprop", _LAST),
    "dx_error": _result("dgrad", _LAST),
    "dw_error": _result("wgrad", _LAST),
}
