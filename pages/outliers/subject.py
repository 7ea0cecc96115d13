"""The subject of a picture: recipes, the operand's role and numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from fp8core.inputs import INPUT_NOTES, RECORDED, InputKind, kind_of
from fp8core.linear import LayerTensor
from fp8core.recipes.keys import recipe_of_key
from pages.kit.charts.words import percent_text
from pages.kit.computing.compute import Call, computed
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.shared_controls import OWN, SEED, keys_of
from pages.kit.view import draw_notice, here
from pages.kit.widgets import Place, Whole
from pages.outliers.controls import (
    DATA,
    EVERY,
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
from pages.outliers.data import ErrorMap, Matrix, Source, error_map, source_of
from pages.outliers.tensor_file import MAX_MEGABYTES, RULE, SUFFIXES, TensorFile, read_tensor

BF16 = "stays bf16 here, and the numbers are bf16 already: no error"
_WITH_FACTOR = (InputKind.OUTLIER_CHANNELS.value, InputKind.OUTLIER_TOKENS.value)
_ROUNDED = "All numbers are rounded to bf16 first."
_UPLOAD, _FILE, _PROBLEM, _PART = (
    f"_outliers_{name}" for name in ("upload", "file", "file_problem", "matrix")
)


@dataclass(frozen=True, kw_only=True)
class Subject:
    keys: tuple[str, ...]
    role: str
    source: Source

    @property
    def titles(self) -> dict[str, str]:
        return {key: recipe_of_key(key).title for key in self.keys}


def subject_of(controls: Controls, place: Place | None = None) -> Subject:
    numbers = _numbers(controls, place)
    return Subject(keys=recipes(controls), role=controls.draw(ROLE), source=numbers)


def recipes(controls: Controls) -> tuple[str, ...]:
    """Draw the choice of recipes; the key of the reader's own is its line."""
    keys, problem = keys_of(controls.draw(RECIPES_SHOWN), controls.value(OWN))
    if problem:
        st.warning(plain(problem))
    return keys or tuple(RECIPES_SHOWN.default)


def error_maps(controls: Controls, place: Place | None = None) -> tuple[Subject, dict[str, ErrorMap]] | None:
    """Draw the choice of the subject and return its maps by key, without recipes that stay bf16.

    None until the pool has them, and if every recipe stays bf16.
    """
    subject = subject_of(controls, place)
    calls = [Call(error_map, (key, subject.role, subject.source)) for key in subject.keys]
    answer = computed("outliers_measured", subject, calls, label="Quantizing")
    if answer is None:
        return None
    parts = zip(answer.arguments.keys, answer.parts, strict=True)
    if maps := {key: part for key, part in parts if part is not None}:
        return answer.arguments, maps
    draw_notice(f"Every chosen recipe {BF16}.")
    return None


def _numbers(controls: Controls, place: Place | None) -> Source:
    """Draw the choice of the numbers; `place` takes their kind, or the factor of outlier tokens."""
    has_factor, has_hand = controls.value(DATA) in _WITH_FACTOR, controls.value(DATA) == _WITH_FACTOR[0]
    kind = controls.draw(DATA, None if has_factor else place)
    factor = controls.draw(FACTOR, None if has_hand else place) if has_factor else FACTOR.default
    source = _source(controls, kind, factor, controls.draw(EVERY) if has_hand else EVERY.default)
    if source.matrix is None:
        tensor = f"{source.tensor.value}, " if InputKind(source.kind) in RECORDED else ""
        here().know.caption(f"{tensor}{INPUT_NOTES[InputKind(source.kind)].rule}. {_ROUNDED}")
    return source


def weights(controls: Controls) -> Source:
    source = _source(controls, controls.draw(DATA), FACTOR.default)
    if source.matrix is None:
        kind = InputKind(source.kind)
        rule = INPUT_NOTES[kind_of(kind, LayerTensor.W)].rule
        size = "" if kind in RECORDED else " Its size is that of its fan-in, and it has no outlier channels."
        here().know.caption(f"The weight that belongs to such inputs: {rule}.{size} {_ROUNDED}")
    return source


def _source(controls: Controls, kind: str, factor: float, every: int = EVERY.default) -> Source:
    rows, columns = map(int, controls.draw(SIZE).split("x"))
    matrix = _uploaded_matrix(controls, (rows, columns)) if kind == UPLOAD else None
    seed = controls.draw(SEED)
    if matrix is not None:
        return Source(kind=kind, shape=matrix.shape, seed=seed, matrix=matrix)
    kind = DATA.default if kind == UPLOAD else kind
    return source_of(kind, controls.value(ROLE), (rows, columns), seed, factor, every)


def _uploaded_matrix(controls: Controls, size: tuple[int, int]) -> Matrix | None:
    side = here().more
    side.file_uploader(
        "A tensor", type=SUFFIXES, max_upload_size=MAX_MEGABYTES, key=_UPLOAD, on_change=_take_file
    )
    if (problem := st.session_state.get(_PROBLEM)) is not None:
        side.error(plain(problem), icon=":material/error:")
    file: TensorFile | None = st.session_state.get(_FILE)
    if file is None:
        st.info("Upload a matrix under “More controls”, and it takes the place of these numbers.")
    matrix = None if file is None else _part(controls, file, size)
    for reason in file.refusals if file else ():
        side.text(f"Left out: {reason}.")
    side.caption(f"{RULE} It stays in this session: a link does not carry it.")
    return matrix


def _part(controls: Controls, file: TensorFile, size: tuple[int, int]) -> Matrix | None:
    """Draw the choice of a matrix and its corner; None, with the reason on the page, for a bad part."""
    here().more.text(f"From {file.name}")
    names = {str(at): f"{at + 1}. {tensor.words}" for at, tensor in enumerate(file.tensors)}
    at = int(controls.draw(TENSOR, options=names))
    tensor = file.tensors[at]

    def first(control: Whole, last: int) -> int:
        return controls.draw(control, high=last) if last > 0 else 0

    number = first(MATRIX, tensor.dims[0] - 1)
    sides = zip((FIRST_ROW, FIRST_COLUMN), tensor.dims[1:], size, strict=True)
    corner = tuple(first(control, length - 1) if length > most else 0 for control, length, most in sides)
    key = file.digest, at, number, corner, size
    if (before := st.session_state.get(_PART)) and before[0] == key:
        return before[1]
    try:
        numbers = tensor.matrix(number, corner=corner, size=size)
    except ValueError as problem:
        here().more.error(plain(str(problem)), icon=":material/error:")
        return None
    matrix = Matrix(digest=repr(key), shape=numbers.shape, data=numbers.tobytes())
    st.session_state[_PART] = key, matrix
    return matrix


def _take_file() -> None:
    """Take the new file; a bad one leaves the file before in its place, with the reason.

    The browser sends no file before each replacement, so none means nothing.
    """
    st.session_state.pop(_PROBLEM, None)
    file = st.session_state.get(_UPLOAD)
    if not isinstance(file, UploadedFile):  # none, or one that the server has forgotten
        return
    try:
        st.session_state[_FILE] = read_tensor(file.name, file.getvalue())
    except ValueError as problem:
        st.session_state[_PROBLEM] = f"“{file.name}”: {problem}"


def percent(share: float, digits: int = 2) -> str:
    """A percentage, such as ``2.6%`` or ``< 0.001%``."""
    if 0 < abs(share) < 1e-5:
        return "< 0.001%"
    return percent_text(share, digits)


def db(value: float) -> str:
    return "no error" if math.isinf(value) else f"{value:.1f}\N{NO-BREAK SPACE}dB".replace("-", "−")


def draw_bf16(titles: Sequence[str]) -> None:
    if titles:
        st.markdown(f"{', '.join(f'**{title}**' for title in titles)}: {BF16}.")
