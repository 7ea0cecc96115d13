"""The choices of the reader: recipes, the operand's role, the numbers. Each section asks for its own."""

from dataclasses import dataclass

import streamlit as st

from fp8core.costs import bits_per_element
from fp8core.inputs import INPUT_NOTES, RECORDED, InputKind, kind_of
from fp8core.linear import LayerTensor
from fp8core.recipes import Operand
from fp8core.recipes.keys import keys_of, recipe_of_key
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.shared_controls import OWN, SEED
from pages.kit.view import here
from pages.kit.widgets import Place
from pages.outliers.controls import DATA, FACTOR, RECIPES_SHOWN, ROLE, SIZE, UPLOAD
from pages.outliers.measures import given_tensor, operand_of_key
from pages.outliers.source import Source
from pages.outliers.upload import draw_upload
from pages.outliers.words import bits

_WITH_FACTOR = (InputKind.OUTLIER_CHANNELS.value, InputKind.OUTLIER_TOKENS.value)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The subject of a picture."""

    keys: tuple[str, ...]
    role: str
    source: Source

    @property
    def titles(self) -> dict[str, str]:
        """The recipes' titles by key."""
        return {key: recipe_of_key(key).title for key in self.keys}

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the tensor."""
        return self.source.shape

    def bits(self, key: str) -> float:
        """Bits an element under a recipe, scales included."""
        return bits_per_element(operand_of_key(key, self.role), self.shape)


def recipes(controls: Controls) -> tuple[str, ...]:
    """Draw the choice of recipes; the reader's own is given by its line."""
    chosen, told = keys_of(controls.draw(RECIPES_SHOWN), controls.value(OWN))
    if told:
        st.warning(plain(told))
    return chosen or tuple(RECIPES_SHOWN.default)


def role(controls: Controls) -> str:
    """Draw the choice of the operand."""
    return controls.draw(ROLE)


def seed(controls: Controls) -> int:
    """Draw the seed."""
    return controls.draw(SEED)


def source(controls: Controls, *, told: bool = True, place: Place | None = None) -> Source:
    """Draw the choice of the numbers, and say what they are.

    `place` takes the size of the outliers, or the kind of numbers where no outlier has a size to choose.
    """
    has_factor = place is not None and controls.value(DATA) in _WITH_FACTOR
    kind = controls.draw(DATA, None if has_factor else place)
    factor = controls.draw(FACTOR, place) if has_factor else FACTOR.default
    rows, columns = map(int, controls.draw(SIZE).split("x"))
    matrix = draw_upload(controls, (rows, columns)) if kind == UPLOAD else None
    own_seed = seed(controls)
    if matrix is not None:
        return Source(kind=kind, shape=matrix.shape, seed=own_seed, matrix=matrix)
    kind = DATA.default if kind == UPLOAD else kind
    tensor = given_tensor(kind, controls.value(ROLE))
    chosen = Source(kind=kind, shape=(rows, columns), seed=own_seed, tensor=tensor, factor=factor)
    if told:
        rule = INPUT_NOTES[InputKind(kind)].rule
        of = f"{tensor.value}, " if InputKind(kind) in RECORDED else ""
        here().know.caption(f"{of}{rule}. All numbers are rounded to bf16 first.")
    return chosen


def weights(controls: Controls) -> Source:
    """Draw the choice of the numbers for a section on weights, and say what they are."""
    chosen = source(controls, told=False)
    if chosen.matrix is None:
        kind = InputKind(chosen.kind)
        weight = INPUT_NOTES[kind_of(kind, LayerTensor.W)]
        size = "" if kind in RECORDED else " Its size is that of its fan-in, and it has no outlier channels."
        here().know.caption(
            f"The weight that belongs to such inputs: {weight.rule}.{size} "
            "All numbers are rounded to bf16 first."
        )
    return chosen


def price(operand: Operand | None, shape: tuple[int, int]) -> str:
    """Bits an element of an operand, scales included, as a bare number."""
    return bits(bits_per_element(operand, shape))
