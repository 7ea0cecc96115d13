"""The data of the page "Rotations", kept between runs; arguments are names and numbers only."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from fp8core.experiments.outliers import OutlierVectors, Rest, draw_outlier_vectors
from fp8core.experiments.rotation_error import (
    VectorError,
    carrier_error,
    product_errors,
    rotate_and_quantize,
    vector_error,
)
from fp8core.formats import FORMATS
from fp8core.linear import OPERANDS
from fp8core.recipes import RECIPES, OperandSpec
from fp8core.rotations import Rotation, RotationKind
from fp8core.scales import SCALE_RULES
from fp8core.tiles import WHOLE, TileShape
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED
from pages.sections.rotations.controls import (
    COUNT,
    FORMAT,
    LINE,
    MAGNITUDE,
    REST,
    ROTATION,
    SCALE,
    SIZE,
    TILE,
)

KEPT = 128
CARRIER = "bf16"
MAGNITUDES = tuple(float(m) for m in np.geomspace(MAGNITUDE.low, MAGNITUDE.high, 29))
_ELEMENTS = 8192
_FEWEST = 16
OCTAVES = 1.0
_MATMUL_ELEMENTS, _MATMUL_ROWS = 1 << 13, (16, 256)
Spec = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """All that the vectors, the rotation and the quantizer depend on, but the magnitude."""

    size: int
    rest: str
    outliers: int
    seed: int
    rotation: str
    format: str
    tile: str
    scale: str

    def spec(self, format_: str | None = None) -> OperandSpec:
        element = FORMATS[format_ or self.format]
        k = int(self.tile) if self.tile == LINE else WHOLE
        return OperandSpec(format=element, tile=TileShape(1, k), scale_rule=SCALE_RULES[self.scale])

    def turn(self) -> Rotation:
        return turn(self.rotation, self.size, self.seed)

    def vector(self) -> OutlierVectors:
        """One vector."""
        return draw_outlier_vectors(Rest[self.rest.upper()], (1, self.size), self.outliers, self.seed)

    def vectors(self, n: int, *, one_place: bool = False) -> OutlierVectors:
        """`n` vectors to average over, outliers spread over an octave around the magnitude."""
        return draw_outlier_vectors(
            Rest[self.rest.upper()],
            (n, self.size),
            self.outliers,
            self.seed,
            one_place=one_place,
            octaves=OCTAVES,
        )

    @property
    def many(self) -> int:
        """The number of vectors in an average."""
        return max(_FEWEST, _ELEMENTS // self.size)

    @property
    def matmul_rows(self) -> int:
        """The number of rows of A and of B; short rows need more of them."""
        fewest, most = _MATMUL_ROWS
        return min(max(_MATMUL_ELEMENTS // self.size, fewest), most)


def setting(controls: Controls) -> Setting:
    """The setting that the controls describe."""
    return Setting(
        size=int(controls.value(SIZE)),
        rest=controls.value(REST),
        outliers=controls.value(COUNT),
        seed=controls.value(SEED),
        rotation=controls.value(ROTATION),
        format=controls.value(FORMAT),
        tile=controls.value(TILE),
        scale=controls.value(SCALE),
    )


@st.cache_resource(max_entries=8, show_spinner=False)
def turn(kind: str, size: int, seed: int) -> Rotation:
    """A rotation that keeps its matrix: a large one takes a moment to draw."""
    return Rotation(RotationKind[kind.upper()], size, seed)


@dataclass(frozen=True, kw_only=True)
class Look:
    """One vector in numbers: largest |x| and how many of its codes are zero."""

    amax: float
    zeros: int


@st.cache_data(max_entries=KEPT, show_spinner=False)
def look(setting: Setting, magnitude: int) -> tuple[Look, Look]:
    """The first vector, before and after the rotation."""
    x = setting.vector().at(magnitude)
    looks = []
    for rotation in (None, setting.turn()):
        shown = x if rotation is None else rotation.apply(x)
        done = rotate_and_quantize(x, setting.spec(), rotation)
        looks.append(Look(amax=float(np.abs(shown).max()), zeros=round(done.zeros * setting.size)))
    return looks[0], looks[1]


@dataclass(frozen=True, kw_only=True)
class ErrorCurves:
    """The errors without and with rotation at each of MAGNITUDES."""

    without: tuple[VectorError, ...]
    rotated: tuple[VectorError, ...]


@st.cache_data(max_entries=KEPT, show_spinner=False)
def error_curves(setting: Setting) -> ErrorCurves:
    """The sweep over the magnitude, every point on the same vectors."""
    pairs = [errors(setting, magnitude) for magnitude in MAGNITUDES]
    return ErrorCurves(
        without=tuple(without for without, _ in pairs), rotated=tuple(rotated for _, rotated in pairs)
    )


def errors(setting: Setting, magnitude: float) -> tuple[VectorError, VectorError]:
    """The errors without and with the rotation, at one magnitude."""
    vectors, spec, rotation = setting.vectors(setting.many), setting.spec(), setting.turn()
    x = vectors.at(magnitude)
    return vector_error(x, vectors.is_outlier, spec), vector_error(x, vectors.is_outlier, spec, rotation)


@st.cache_data(max_entries=KEPT, show_spinner=False)
def parts(setting: Setting, magnitude: int) -> list[dict[str, float]]:
    """The parts of the error without and with the rotation, as shares of the signal's energy."""
    x = setting.vectors(setting.many).at(magnitude)
    rows = []
    for rotation in (None, setting.turn()):
        done = rotate_and_quantize(x, setting.spec(), rotation)
        rows.append(
            {
                "zeros": done.zeros,
                "deadzone": done.parts.deadzone,
                "grid": done.parts.grid,
                "saturation": done.parts.saturation,
                "total": done.parts.total,
            }
        )
    return rows


@dataclass(frozen=True, kw_only=True)
class Products:
    """A Bᵀ: its largest entry, its change when both sides rotate in float64, and its quantized errors."""

    largest: float
    moved: float
    without: tuple[float, ...]
    rotated: tuple[float, ...]


@st.cache_data(max_entries=KEPT, show_spinner=False)
def products(setting: Setting, magnitudes: tuple[float, ...]) -> Products:
    """The errors at each magnitude, and the float64 part at the first magnitude.

    A has outlier channels, as activations have. B is from unit Gaussians, as weights are.
    """
    rows, rotation, spec = setting.matmul_rows, setting.turn(), setting.spec()
    channels = setting.vectors(rows, one_place=True)
    many_a = [channels.at(magnitude) for magnitude in magnitudes]
    b = draw_outlier_vectors(Rest.GAUSSIAN, (rows, setting.size), 0, setting.seed + 1).at(0)
    truth = many_a[0].astype(np.float64) @ b.astype(np.float64).T
    return Products(
        largest=float(np.abs(truth).max()),
        moved=float(np.abs(rotation.apply(many_a[0]) @ rotation.apply(b).T - truth).max()),
        without=product_errors(many_a, b, spec),
        rotated=product_errors(many_a, b, spec, rotation),
    )


def compared(chosen: str) -> tuple[str, ...]:
    """The formats whose errors stand side by side: those that recipes use, and the chosen one."""
    copies = (copy for recipe in RECIPES.values() for t in OPERANDS for copy in recipe.quantized_copies(t))
    used = {copy.spec.format.name for copy in copies} | {chosen}
    return tuple(name for name in FORMAT.options if name in used)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The error of a format for three inputs: not rotated, rotated in fp32, rotated and rounded to bf16."""

    format: str
    plain: float
    rotated: float
    carried: float


@st.cache_data(max_entries=KEPT, show_spinner=False)
def costs(setting: Setting, magnitude: int) -> tuple[float, tuple[Cost, ...]]:
    """bf16's own error on the rotated numbers, and each format's error by the three paths."""
    vectors, rotation, carrier = setting.vectors(setting.many), setting.turn(), FORMATS[CARRIER]
    x = vectors.at(magnitude)

    def nmse(spec: OperandSpec, *way: object) -> float:
        return vector_error(x, vectors.is_outlier, spec, *way).nmse

    rows = []
    for name in compared(setting.format):
        spec = setting.spec(name)
        rows.append(
            Cost(
                format=name,
                plain=nmse(spec),
                rotated=nmse(spec, rotation),
                carried=nmse(spec, rotation, carrier),
            )
        )
    return carrier_error(x, rotation, carrier), tuple(rows)
