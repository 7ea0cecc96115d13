"""Numbers of the page "Rotations", cached, and its facts for the lesson."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fp8core.errors import ErrorParts
from fp8core.experiments.outliers import Rest, draw_outlier_vectors
from fp8core.experiments.rotation_error import Frame, Quantized, VectorError, product_errors
from fp8core.formats import FORMATS
from fp8core.recipes import OperandSpec
from fp8core.rotations import Rotation, RotationKind
from fp8core.scales import SCALE_RULES
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.words import short
from pages.kit.shared_controls import SEED
from pages.kit.widgets import Control, Settings
from pages.rotations.controls import (
    ALL_CONTROLS,
    COUNT,
    FORMAT,
    LINE,
    MAGNITUDE,
    OPENING,
    REST,
    ROTATION,
    SCALE,
    SIZE,
    TILE,
    rotation_at,
)

__all__ = ["CONTROLS", "FACTS", "OPENING"]
CONTROLS = ALL_CONTROLS
RESULTS = 128  # results in the cache of each computation: a few numbers each
# Rotations and sets of vectors in a cache: the largest takes about 4 MB.
FEW = 4
MAGNITUDES = tuple(float(m) for m in np.geomspace(MAGNITUDE.low, MAGNITUDE.high, 29))
OCTAVES = 1.0
_ELEMENTS, _FEWEST, _MOST_ROWS = 8192, 16, 256
_NEGLIGIBLE = 1e-12  # shares of the energy below this are fp32's own rounding: the format has lost nothing


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The vectors, the rotation and the quantizer, without the magnitude."""

    size: int
    rest: str
    outliers: int
    seed: int
    rotation: str
    format: str
    tile: str
    scale: str

    def spec(self) -> OperandSpec:
        k = int(self.tile) if self.tile == LINE else WHOLE
        element, rule = FORMATS[self.format], SCALE_RULES[self.scale]
        return OperandSpec(format=element, tile=TileShape(1, k), scale_rule=rule)

    def one(self) -> tuple[Frame, Frame]:
        vector = draw_outlier_vectors(Rest[self.rest.upper()], (1, self.size), self.outliers, self.seed)
        return Frame(vector), Frame(vector, _turn(self.rotation, self.size, self.seed))

    def frames(self, n: int, *, one_place: bool = False) -> tuple[Frame, Frame]:
        return _frames(self.rest, self.size, self.outliers, self.seed, self.rotation, n, one_place=one_place)

    @property
    def many(self) -> int:
        return max(_FEWEST, _ELEMENTS // self.size)

    @property
    def matmul_rows(self) -> int:
        return min(max(_ELEMENTS // self.size, _FEWEST), _MOST_ROWS)


def setting_of(value: Callable[[Control[Any]], Any]) -> Setting:
    size = int(value(SIZE))
    return Setting(
        size=size,
        rest=value(REST),
        outliers=value(COUNT),
        seed=value(SEED),
        rotation=rotation_at(size).fit(value(ROTATION)),
        format=value(FORMAT),
        tile=value(TILE),
        scale=value(SCALE),
    )


@lru_cache(maxsize=FEW)
def _frames(
    rest: str, size: int, outliers: int, seed: int, rotation: str, n: int, *, one_place: bool = False
) -> tuple[Frame, Frame]:
    vectors = draw_outlier_vectors(
        Rest[rest.upper()], (n, size), outliers, seed, one_place=one_place, octaves=OCTAVES
    )
    return Frame(vectors), Frame(vectors, _turn(rotation, size, seed))


@lru_cache(maxsize=FEW)
def _turn(kind: str, size: int, seed: int) -> Rotation:
    """A rotation, which keeps its matrix: a large one takes a moment to draw."""
    return Rotation(RotationKind[kind.upper()], size, seed)


@lru_cache(maxsize=RESULTS)
def errors(setting: Setting, magnitudes: tuple[float, ...]) -> tuple[tuple[VectorError, ...], ...]:
    spec = setting.spec()
    return tuple(frame.errors(magnitudes, spec) for frame in setting.frames(setting.many))


def errors_at(setting: Setting, magnitude: float) -> tuple[VectorError, VectorError]:
    (without,), (rotated,) = errors(setting, (float(magnitude),))
    return without, rotated


@lru_cache(maxsize=RESULTS)
def parts(setting: Setting, magnitude: int) -> tuple[ErrorParts, ErrorParts]:
    spec = setting.spec()
    without, rotated = (
        frame.quantized(magnitude, spec).parts(spec.format) for frame in setting.frames(setting.many)
    )
    return without, rotated


@dataclass(frozen=True, kw_only=True)
class Products:
    """A Bᵀ: its largest entry, its `drift` where both sides rotate, its quantized errors."""

    largest: float
    drift: float
    without: tuple[float, ...]
    rotated: tuple[float, ...]


@lru_cache(maxsize=RESULTS)
def products(setting: Setting, magnitudes: tuple[float, ...]) -> Products:
    """The errors at each magnitude, and the float64 part at the first one.

    A has outlier channels, as activations have. B is unit Gaussian, as weights are.
    """
    rows, spec = setting.matmul_rows, setting.spec()
    a, turned_a = setting.frames(rows, one_place=True)
    weights = draw_outlier_vectors(Rest.GAUSSIAN, (rows, setting.size), 0, setting.seed + 1)
    b, turned_b = Frame(weights), Frame(weights, turned_a.rotation)
    truth, rotated_product = (
        left.exact(magnitudes[0]) @ right.exact(0.0).T for left, right in ((a, b), (turned_a, turned_b))
    )
    return Products(
        largest=float(np.abs(truth).max()),
        drift=float(np.abs(rotated_product - truth).max()),
        without=product_errors(a, b, magnitudes, spec),
        rotated=product_errors(turned_a, turned_b, magnitudes, spec),
    )


def of_format(error: float) -> float:
    """The error without fp32's own rounding."""
    return 0.0 if error < _NEGLIGIBLE else error


def change(without: float, rotated: float) -> str:
    without, rotated = of_format(without), of_format(rotated)
    if not (without or rotated):
        return "zero both ways"
    if rotated <= without:
        return f"{short(without / rotated, 3)} times smaller" if rotated else "zero"
    return f"{short(rotated / without, 3)} times larger" if without else "no longer zero"


def _of(settings: Settings) -> Setting:
    return setting_of(lambda control: settings[control.key])


def _ratio(settings: Settings, error: str) -> float:
    without, rotated = errors_at(_of(settings), settings[MAGNITUDE.key])
    return getattr(rotated, error) / getattr(without, error)


def _vector(settings: Settings, *, is_rotated: bool = False) -> Quantized:
    setting = _of(settings)
    return setting.one()[is_rotated].quantized(settings[MAGNITUDE.key], setting.spec())


def _products(settings: Settings) -> Products:
    return products(_of(settings), (float(settings[MAGNITUDE.key]),))


FACTS = {
    "size": lambda settings: _of(settings).size,
    "amax": lambda settings: np.abs(_vector(settings).numbers).max(),
    "rotated_amax": lambda settings: np.abs(_vector(settings, is_rotated=True).numbers).max(),
    "zeros_share": lambda settings: _vector(settings).zeros,
    "rotated_zeros_share": lambda settings: _vector(settings, is_rotated=True).zeros,
    "error_ratio": lambda settings: _ratio(settings, "nmse"),
    "error_gain": lambda settings: 1 / _ratio(settings, "nmse"),
    # The error of the elements beside the outliers.
    "rest_ratio": lambda settings: _ratio(settings, "rest_nmse"),
    "product_moved": lambda settings: _products(settings).drift,
    "product_error": lambda settings: _products(settings).without[0],
    "rotated_product_error": lambda settings: _products(settings).rotated[0],
}
