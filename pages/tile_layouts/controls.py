"""The controls of the page "Tile layouts", and the clicks on its charts."""

from collections.abc import Mapping

import streamlit as st

from fp8core.linear import LayerShape, Side
from fp8core.tiles import WHOLE, Extent
from pages.kit.controls import Controls
from pages.kit.recipes import RECIPE_CONTROLS, by_family, family_title
from pages.kit.shared_controls import INPUT, MATMUL, SEED
from pages.kit.widgets import Choice, ChoiceStyle, Whole, selected

LARGEST_DIM = 1 << 17
ALL = "all"

SHOW = Choice(
    key="show",
    label="Show",
    options={
        "picture": "One matmul",
        "overview": "Every recipe",
        "copies": "Copies",
        "rule": "The rule",
    },
    default="picture",
    moved={"counts": "copies"},
)
EACH = "each"
FAMILY = Choice(
    key="family",
    label="Recipes",
    options={EACH: "One of each family"}
    | {family.name.lower(): family_title(family.value) for family in by_family()},
    default=EACH,
    style=ChoiceStyle.SELECT,
    help="The recipes whose pictures stand side by side.",
)

SIDE = Choice(key="side", label="Tile of", options={side.value: side.value for side in Side}, default="A")
ROW = Whole(key="row", label="Tile row", low=0, high=LARGEST_DIM, default=5)
COLUMN = Whole(key="column", label="Tile column", low=0, high=LARGEST_DIM, default=0)
OUTPUT_M = Whole(key="d_row", label="Row m of D", low=0, high=LARGEST_DIM, default=5)
OUTPUT_N = Whole(key="d_column", label="Column n of D", low=0, high=LARGEST_DIM, default=0)

TOKENS = Whole(key="tokens", label="tokens", low=1, high=LARGEST_DIM, default=4096)
IN = Whole(key="in", label="in", low=1, high=LARGEST_DIM, default=4096)
OUT = Whole(key="out", label="out", low=1, high=LARGEST_DIM, default=14336)


LARGEST_EXTENT = 1 << 7
_SIZES = [str(1 << power) for power in range(8)]
EXTENTS = {size: size for size in (*_SIZES, ALL)}
A_MN = Choice(key="a_m", label="A: along m", options=EXTENTS, default="1", style=ChoiceStyle.SELECT)
A_K = Choice(
    key="a_k",
    label="A: along k",
    options={size: f"A: {size} along k" for size in EXTENTS},
    default="128",
    style=ChoiceStyle.SELECT,
)
B_MN = Choice(key="b_n", label="B: along n", options=EXTENTS, default="128", style=ChoiceStyle.SELECT)
B_K = Choice(key="b_k", label="B: along k", options=EXTENTS, default="128", style=ChoiceStyle.SELECT)
SUMMED = Choice(
    key="summed",
    label="Tensor core sums",
    options={
        **{size: f"Sums {size} products" for size in _SIZES[4:]},
        ALL: "Sums all of K",
    },
    default="128",
    style=ChoiceStyle.SELECT,
    help="How many products along k are added before a scale can be applied.",
)

ALL_CONTROLS = (
    SHOW,
    *RECIPE_CONTROLS,
    MATMUL,
    FAMILY,
    INPUT,
    SEED,
    SIDE,
    ROW,
    COLUMN,
    OUTPUT_M,
    OUTPUT_N,
    TOKENS,
    IN,
    OUT,
    A_MN,
    A_K,
    B_MN,
    B_K,
    SUMMED,
)


def extent_of(text: str) -> Extent:
    """The extent of a choice."""
    return WHOLE if text == ALL else int(text)


def text_of(extent: Extent) -> str:
    """The choice for an extent."""
    return ALL if extent is WHOLE else str(extent)


def layer_of(controls: Controls) -> LayerShape:
    """The layer's true sizes, from the controls."""
    return LayerShape(controls.value(TOKENS), controls.value(IN), controls.value(OUT))


HARDWARE_SOURCES = (
    "Sources: NVIDIA PTX ISA, wgmma (K-major fp8 operands) and tcgen05.mma (block_scale); NVIDIA CUTLASS, "
    "Blackwell functionality (layouts)."
)

_BEFORE = "_clicks_{key}"


def clicked(key: str, parameter: str) -> dict[str, object] | None:
    """The fields of the mark that was just clicked in the chart `key`; for its `on_select`.

    Its selection keeps all clicked marks, so that a second click on a mark changes it, too.
    """
    now = selected(key, parameter) or []
    before = st.session_state.get(_BEFORE.format(key=key), [])
    changed = [mark for mark in now if mark not in before] or [mark for mark in before if mark not in now]
    return changed[-1] if changed else None


def remember(key: str, parameter: str, drawn: Mapping[str, object]) -> None:
    """Note the selection of the chart as it is drawn; a chart drawn anew has none."""
    marks = drawn.get("selection", {}).get(parameter)
    st.session_state[_BEFORE.format(key=key)] = list(marks or [])
