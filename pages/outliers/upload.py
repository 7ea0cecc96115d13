"""The reader's own matrix: a file, which of its tensors, and which part of it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.uploads.tensor_file import MAX_MEGABYTES, RULE, SUFFIXES, TensorFile, read_tensor
from pages.kit.view import here
from pages.kit.widgets import reported
from pages.outliers.controls import FIRST_COLUMN, FIRST_ROW, MATRIX, TENSOR
from pages.outliers.source import Matrix

_FILE, _PROBLEM, _UPLOAD, _CUT = (
    *("_outliers_file", "_outliers_file_problem"),
    *("_outliers_upload", "_outliers_matrix"),
)
WAITING = "Upload a matrix under “More controls”, and it takes the place of these numbers."


@dataclass(frozen=True)
class _Part:
    """A part of a file: equal parts are cut once."""

    digest: str
    tensor: str
    leading: tuple[int, ...]
    corner: tuple[int, int]
    size: tuple[int, int]


def draw_upload(controls: Controls, size: tuple[int, int]) -> Matrix | None:
    """Draw the upload and the choice of a part of at most `size`; the matrix, or None until there is one."""
    side = here().more
    side.file_uploader(
        "A tensor", type=SUFFIXES, max_upload_size=MAX_MEGABYTES, key=_UPLOAD, on_change=_uploaded
    )
    if (problem := st.session_state.get(_PROBLEM)) is not None:
        side.error(plain(problem), icon=":material/error:")
    file: TensorFile | None = st.session_state.get(_FILE)
    matrix = None
    if file is None:
        st.info(WAITING)
    else:
        matrix = _matrix(file, _part(controls, file, size))
        for told in file.left_out:
            side.text(f"Left out: {told}.")
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
    """The part that is chosen, cut once; None where it cannot be used, and the reason on the page."""
    kept = st.session_state.get(_CUT)
    if kept is not None and kept[0] == part:
        return kept[1]
    try:
        cut = file.matrix(part.tensor, part.leading, corner=part.corner, size=part.size)
    except ValueError as problem:
        here().more.error(plain(str(problem)), icon=":material/error:")
        return None
    matrix = Matrix(digest=repr(part), shape=cut.shape, data=cut.tobytes())
    st.session_state[_CUT] = part, matrix
    return matrix


def _uploaded() -> None:
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
