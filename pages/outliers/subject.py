"""The subject of a picture: recipes, the operand's role, and numbers, drawn ones or the reader's matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from fp8core.costs import bits_per_element
from fp8core.inputs import INPUT_NOTES, RECORDED, InputKind, kind_of
from fp8core.linear import LayerTensor
from fp8core.recipes import Operand
from fp8core.recipes.keys import keys_of, recipe_of_key
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import OWN, SEED
from pages.kit.view import here
from pages.kit.widgets import Place, reported
from pages.outliers.controls import (
    DATA,
    FACTOR,
    FIRST_COLUMN,
    FIRST_ROW,
    MATRIX,
    RECIPES_SHOWN,
    ROLE,
    SIZE,
    TENSOR,
    UPLOAD,
)
from pages.outliers.data import Matrix, Measured, Source, measured, source_of
from pages.outliers.tensor_file import MAX_MEGABYTES, RULE, SUFFIXES, TensorFile, read_tensor
from pages.outliers.words import BF16, bits

_WITH_FACTOR = (InputKind.OUTLIER_CHANNELS.value, InputKind.OUTLIER_TOKENS.value)
_FILE, _PROBLEM, _UPLOAD, _CUT = (
    *("_outliers_file", "_outliers_file_problem"),
    *("_outliers_upload", "_outliers_matrix"),
)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Recipes by key, the role in which they quantize, and the numbers."""

    keys: tuple[str, ...]
    role: str
    source: Source

    @property
    def titles(self) -> dict[str, str]:
        """The recipes' titles by key."""
        return {key: recipe_of_key(key).title for key in self.keys}


def subject_of(controls: Controls, place: Place | None = None) -> Subject:
    """Draw the choice of all three; `place` is that of the numbers' one control."""
    numbers = source(controls, place)
    return Subject(keys=recipes(controls), role=controls.draw(ROLE), source=numbers)


def recipes(controls: Controls) -> tuple[str, ...]:
    """Draw the choice of recipes; the reader's own is given by its line."""
    keys, problem = keys_of(controls.draw(RECIPES_SHOWN), controls.value(OWN))
    if problem:
        st.warning(plain(problem))
    return keys or tuple(RECIPES_SHOWN.default)


def quantized(
    controls: Controls, place: Place | None = None
) -> tuple[Subject, dict[str, Measured | None]] | None:
    """Draw the choice of the subject and quantize it: each recipe's part by key, None where it stays bf16.

    None where there is nothing to draw yet, or every recipe leaves the operand in bf16.
    """
    wanted = subject_of(controls, place)
    calls = [Call(measured, (key, wanted.role, wanted.source)) for key in wanted.keys]
    shown = computed("outliers_measured", wanted, calls, doing="Quantizing")
    if shown is None:
        return None
    if not any(shown.parts):
        draw_notice(f"Every chosen recipe {BF16}.")
        return None
    return shown.asked, dict(zip(shown.asked.keys, shown.parts, strict=True))


def source(controls: Controls, place: Place | None = None) -> Source:
    """Draw the choice of the numbers, and explain them.

    `place` takes the size of the outliers, or the kind of numbers where no outlier has a size to choose.
    """
    has_factor = controls.value(DATA) in _WITH_FACTOR
    kind = controls.draw(DATA, None if has_factor else place)
    factor = controls.draw(FACTOR, place) if has_factor else FACTOR.default
    numbers = _source(controls, kind, factor)
    if numbers.matrix is None:
        rule = INPUT_NOTES[InputKind(numbers.kind)].rule
        of = f"{numbers.tensor.value}, " if InputKind(numbers.kind) in RECORDED else ""
        here().know.caption(f"{of}{rule}. All numbers are rounded to bf16 first.")
    return numbers


def weights(controls: Controls) -> Source:
    """Draw the choice of the numbers for a section on weights, and explain them."""
    numbers = _source(controls, controls.draw(DATA), FACTOR.default)
    if numbers.matrix is None:
        kind = InputKind(numbers.kind)
        rule = INPUT_NOTES[kind_of(kind, LayerTensor.W)].rule
        size = "" if kind in RECORDED else " Its size is that of its fan-in, and it has no outlier channels."
        here().know.caption(
            f"The weight that belongs to such inputs: {rule}.{size} All numbers are rounded to bf16 first."
        )
    return numbers


def _source(controls: Controls, kind: str, factor: float) -> Source:
    """The reader's matrix, once there is one; else numbers of a kind."""
    rows, columns = map(int, controls.draw(SIZE).split("x"))
    matrix = _uploaded_matrix(controls, (rows, columns)) if kind == UPLOAD else None
    seed = controls.draw(SEED)
    if matrix is not None:
        return Source(kind=kind, shape=matrix.shape, seed=seed, matrix=matrix)
    kind = DATA.default if kind == UPLOAD else kind
    return source_of(kind, controls.value(ROLE), (rows, columns), seed, factor)


def price(operand: Operand | None, shape: tuple[int, int]) -> str:
    """Bits an element of an operand, scales included, as a bare number."""
    return bits(bits_per_element(operand, shape))


@dataclass(frozen=True)
class _Part:
    """A part of a file: equal parts are cut once."""

    digest: str
    tensor: str
    leading: tuple[int, ...]
    corner: tuple[int, int]
    size: tuple[int, int]


def _uploaded_matrix(controls: Controls, size: tuple[int, int]) -> Matrix | None:
    """Draw the upload and the choice of a part of at most `size`; None until there is a matrix."""
    side = here().more
    side.file_uploader(
        "A tensor", type=SUFFIXES, max_upload_size=MAX_MEGABYTES, key=_UPLOAD, on_change=_take_file
    )
    if (problem := st.session_state.get(_PROBLEM)) is not None:
        side.error(plain(problem), icon=":material/error:")
    file: TensorFile | None = st.session_state.get(_FILE)
    matrix = None
    if file is None:
        st.info("Upload a matrix under “More controls”, and it takes the place of these numbers.")
    else:
        matrix = _matrix(file, _part(controls, file, size))
        for reason in file.left_out:
            side.text(f"Left out: {reason}.")
    side.caption(f"{RULE} It stays in this session: a link does not carry it.")
    return matrix


def _part(controls: Controls, file: TensorFile, size: tuple[int, int]) -> _Part:
    """Draw the choice of the tensor, of one matrix of it, and of the corner where the part begins."""
    here().more.text(f"From {file.name}")
    names = {str(at): f"{at + 1}. {tensor.words}" for at, tensor in enumerate(file.tensors)}
    tensor = file.tensors[int(controls.draw(TENSOR, options=names))]
    matrices = prod(tensor.leading)
    number = controls.draw(MATRIX, high=matrices - 1) if matrices > 1 else 0
    leading = tuple(int(at) for at in np.unravel_index(number, tensor.leading)) if tensor.leading else ()
    corner = (
        _first(controls.draw, FIRST_ROW, tensor.rows, size[0]),
        _first(controls.draw, FIRST_COLUMN, tensor.columns, size[1]),
    )
    return _Part(digest=file.digest, tensor=tensor.name, leading=leading, corner=corner, size=size)


def _first(draw: Callable[..., int], control: object, length: int, wanted: int) -> int:
    """The first line of a part: there is a choice where the tensor is longer than the part."""
    return draw(control, high=length - 1) if length > wanted else 0


def _matrix(file: TensorFile, part: _Part) -> Matrix | None:
    """The part, cut once; None where it cannot be used, and the reason on the page."""
    before = st.session_state.get(_CUT)
    if before is not None and before[0] == part:
        return before[1]
    try:
        cut = file.matrix(part.tensor, part.leading, corner=part.corner, size=part.size)
    except ValueError as problem:
        here().more.error(plain(str(problem)), icon=":material/error:")
        return None
    matrix = Matrix(digest=repr(part), shape=cut.shape, data=cut.tobytes())
    st.session_state[_CUT] = part, matrix
    return matrix


def _take_file() -> None:
    """Take the new file. One that cannot be used leaves the file before as it was and says why.

    No file means nothing: the browser sends that before each replacement, too.
    """
    st.session_state.pop(_PROBLEM, None)
    file = reported(_UPLOAD)
    if not isinstance(file, UploadedFile):  # none, or one that the server has forgotten
        return
    try:
        st.session_state[_FILE] = read_tensor(file.name, file.getvalue())
    except ValueError as problem:
        st.session_state[_PROBLEM] = f"“{file.name}”: {problem}"
