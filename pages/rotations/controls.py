"""The controls of the page "Rotations"."""

import streamlit as st

from fp8core.experiments.outliers import OFFERED_RESTS, Rest
from fp8core.rotations import NVFP4_SIGNS, RotationKind
from fp8core.scales import SCALE_RULES, Fit
from pages.kit import address
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED, format_options, is_element
from pages.kit.view import here
from pages.kit.widgets import Choice, NumberStyle, Select, Whole

SIZES = tuple(16 << i for i in range(7))

SHOW = Choice(
    key="rotations_show",
    label="Show",
    options={"vector": "One vector", "error": "Error"},
    moved={"many": "vector", "bf16": "error"},
)
VECTORS, PRODUCT = "vectors", "product"
ERROR_OF = Choice(
    key="rotations_of",
    label="Error of",
    options={VECTORS: "Of vectors", PRODUCT: "Of a product"},
)
SIZE = Select(
    key="rotations_size",
    label="Size of the vector",
    options={str(size): f"{size:,} numbers" for size in SIZES},
    default=str(SIZES[0]),
    help="A Hadamard matrix exists for every power of two. NVFP4 training rotates runs of 16.",
)
REST = Select(
    key="rotations_rest",
    label="The other elements",
    options={rest.name.lower(): rest.value[0].upper() + rest.value[1:] for rest in OFFERED_RESTS},
    default=Rest.GAUSSIAN.name.lower(),
    help="The distribution of all elements but the outliers; variance 1 where they are not zero.",
)
COUNT = Whole(
    key="rotations_outliers",
    label="Outliers in each vector",
    low=1,
    high=8,
    default=1,
    style=NumberStyle.SLIDER,
    help="Each at a random place, with a random sign.",
)
MAGNITUDE = Whole(
    key="rotations_magnitude",
    label="Outlier's magnitude",
    low=1,
    high=128,
    default=16,
    style=NumberStyle.SLIDER,
    help="In standard deviations of the other elements.",
)

_ROTATIONS = {
    RotationKind.HADAMARD: "Hadamard",
    RotationKind.NVFP4_HADAMARD: "NVFP4 signs",
    RotationKind.SIGNED_HADAMARD: "Random signs",
    RotationKind.ORTHOGONAL: "Random rotation",
}
ROTATION = Choice(
    key="rotation",
    label="Rotation",
    options={kind.name.lower(): title for kind, title in _ROTATIONS.items()},
    default=RotationKind.SIGNED_HADAMARD.name.lower(),
    help="Hadamard: every entry ±1/√size, so that additions are enough. Random signs: Hadamard after the "
    "elements are multiplied by ±1, so that no fixed pattern in the data lines up with the matrix. NVFP4's "
    "sixteen signs are fixed. Random rotation: uniform over all.",
)

FORMAT = Select(key="rotations_format", label="Format", options=format_options(is_element), default="e2m1")
LINE, WHOLE_VECTOR = "16", "whole"
TILE = Choice(
    key="rotations_tile",
    label="One scale for",
    options={LINE: "16 elements", WHOLE_VECTOR: "the vector"},
)
_FITS = {
    Fit.NEAREST: "fp32: amax / largest value",
    Fit.FLOOR: "Power of two: floor",
    Fit.EVEN: "Power of two: even",
    Fit.CEIL: "Power of two: ceil",
    Fit.ROUND_UP: "Power of two: round up",
}
SCALE = Select(
    key="rotations_scale",
    label="Scale",
    options={name: _FITS[rule.fit] for name, rule in SCALE_RULES.items()},
    help="How the scale follows from amax, the largest |x| of the tile. E8M0 stores powers of two only.",
)

ALL_CONTROLS = (SHOW, ERROR_OF, SIZE, REST, COUNT, SEED, MAGNITUDE, ROTATION, FORMAT, TILE, SCALE)

_ONE_SCALE = {SIZE.key: "32", TILE.key: WHOLE_VECTOR}
# The case for a rotation: one scale for many elements, one of them an outlier.
OPENING = _ONE_SCALE | {MAGNITUDE.key: 32}
# Cases in which a rotation lowers the error or raises it; none of them sets the magnitude.
CASES = {
    "4 bits, one scale": _ONE_SCALE | {FORMAT.key: FORMAT.default},
    f"4 bits, a scale for {LINE}": _ONE_SCALE | {FORMAT.key: FORMAT.default, TILE.key: LINE},
    "8 bits": _ONE_SCALE | {FORMAT.key: "e4m3"},
}
_CASE = "_rotations_case"


def rotation_at(size: int) -> Choice:
    """The rotation's control at a size: NVFP4's signs have one size."""
    nvfp4 = RotationKind.NVFP4_HADAMARD.name.lower()
    fits = size == len(NVFP4_SIGNS)
    return ROTATION.narrow(
        options={key: title for key, title in ROTATION.options.items() if fits or key != nvfp4}
    )


def draw_setting(controls: Controls) -> None:
    for control in (SIZE, REST, COUNT, SEED, FORMAT, TILE, SCALE):
        if control is not TILE or controls.value(SIZE) != SIZE.default:
            controls.draw(control)


def draw_rotation(controls: Controls) -> str:
    return controls.draw(ROTATION, options=rotation_at(int(controls.value(SIZE))).options)


def draw_cases(controls: Controls) -> None:
    values = {key: st.session_state.get(key) for case in CASES.values() for key in case}
    titles = (title for title, case in CASES.items() if case.items() <= values.items())
    address.set_widget(_CASE, next(titles, None))

    def choose() -> None:
        if title := st.session_state.get(_CASE):
            controls.preset(**CASES[title])

    listener = address.unless_late(_CASE, choose)
    here().control.segmented_control("A case", list(CASES), key=_CASE, on_change=listener)
