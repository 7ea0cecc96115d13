"""Section "The mystery picture": one picture, rounded both ways, seen from near and from afar."""

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.runtime.uploaded_file_manager import UploadedFile

from fp8core.experiments.pictures import Picture
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.reported import reported
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.sections.stochastic.charts.blur import blur_chart
from pages.sections.stochastic.controls import BLUR, LEVELS, LEVELS_OF_GRAY, PIXELS
from pages.sections.stochastic.data import (
    RoundedPicture,
    blurred_bytes,
    mystery,
    pixel_grid,
    rounded_picture,
)
from pages.sections.stochastic.upload import MAX_MEGABYTES, RULE, SIDE, GrayPicture, decode

CONTROL = 340
_OWN, _PROBLEM, _UPLOAD = "_own_picture", "_own_picture_problem", "_own_picture_upload"


def show(controls: Controls) -> None:
    """Draw the controls, the three pictures, the error over the blur, and the upload for the reader's own."""
    pixels = controls.draw(PIXELS)
    place = st.container(horizontal=True, gap="medium")
    if pixels == LEVELS_OF_GRAY:
        controls.draw(LEVELS, place.container(width=CONTROL))
    sigma = controls.draw(BLUR, place.container(width=CONTROL))
    levels = controls.value(LEVELS)
    picture: GrayPicture = st.session_state.get(_OWN) or mystery()
    name = picture.digest, pixels, levels, controls.value(SEED)
    rounded = rounded_picture(picture.digest, picture.light, *name[1:])
    _pictures(name, picture.light, rounded, sigma)
    draw_notice(_notice(picture.light, rounded, pixels, levels, sigma))
    draw_chart(
        blur_chart(rounded.nearest_rms, rounded.noisy_rms, sigma, INKS[theme()]),
        key="blur_chart",
        alt=f"rms error over the blur: from 0 to {BLUR.high} pixels it goes from "
        f"{short(rounded.nearest_rms[0], 2)} to {short(rounded.nearest_rms[-1], 2)} to nearest, and from "
        f"{short(rounded.noisy_rms[0], 2)} to {short(rounded.noisy_rms[-1], 2)} stochastically",
    )
    _own_picture(picture)


def _words_for_grid(pixels: str, levels: int) -> str:
    if pixels != LEVELS_OF_GRAY:
        return f"values of {pixels}"
    return "black or white" if levels == LEVELS.low else f"{levels} grays"


def _pictures(name: tuple[str, str, int, int], light: Picture, rounded: RoundedPicture, sigma: int) -> None:
    """The three pictures. The original has no grid, and only the last one has a seed: both are in `name`."""
    grid = _words_for_grid(*name[1:3])
    afar = "" if sigma == 0 else f", blurred by {sigma} px"
    row = st.container(horizontal=True, gap="small")
    for its_name, drawn, title, told in (
        (name[:1], light, "original", "The original in shades of gray"),
        (name[:3], rounded.nearest, f"to nearest: {grid}", f"Each pixel rounded to the nearest of: {grid}"),
        (name, rounded.noisy, f"stochastic: {grid}", f"Each pixel rounded stochastically to: {grid}"),
    ):
        row.image(
            _enlarged(blurred_bytes(its_name, drawn, sigma)),
            caption=title + afar,
            alt=told + afar,
            width="content",
        )


def _enlarged(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A small picture with each pixel repeated, so that it can be seen."""
    times = max(1, SIDE // max(picture.shape))
    return picture.repeat(times, axis=0).repeat(times, axis=1)


def _notice(light: Picture, rounded: RoundedPicture, pixels: str, levels: int, sigma: int) -> str:
    values = pixel_grid(pixels, levels).values
    values = np.unique(np.abs(values[np.isfinite(values)]))
    used = np.unique(rounded.nearest).size
    nearest, noisy, seen = rounded.nearest_rms, rounded.noisy_rms, sigma or BLUR.high
    return (
        f"**Notice:** {_nearest_words(values.size, used)} Stochastic rounding takes the value above with a "
        "chance equal to how far the pixel is on the way to it. Pixel by pixel that is "
        f"{_compared(noisy[0], nearest[0])} (rms error {short(noisy[0], 2)}, nearest "
        f"{short(nearest[0], 2)}), but **the mean is kept**: the picture's mean light is "
        f"{short(float(light.mean()), 3)}, stochastic {short(float(rounded.noisy.mean()), 3)}, nearest "
        f"{short(float(rounded.nearest.mean()), 3)}. Blurred by {seen} pixels, as if seen from afar, the "
        f"errors are {short(noisy[seen], 2)} and {short(nearest[seen], 2)}."
    )


def _nearest_words(values: int, used: int) -> str:
    if values == LEVELS.low:
        return "To nearest, every pixel darker than half of white's light turns black, whatever it showed."
    return f"To nearest, all shades closest to one of the {values} values become it; {used} are in use."


def _compared(noisy: float, nearest: float) -> str:
    return "worse" if noisy > nearest else "no worse"


def _own_picture(picture: GrayPicture) -> None:
    own = _OWN in st.session_state
    problem = st.session_state.get(_PROBLEM)
    with st.expander("Your own picture", expanded=own or problem is not None):
        st.file_uploader(
            "A PNG or JPEG",
            type=["png", "jpg", "jpeg"],
            max_upload_size=MAX_MEGABYTES,
            key=_UPLOAD,
            on_change=_uploaded,
        )
        if problem is not None:
            st.error(plain(problem), icon=":material/error:")
        if own:
            rows, columns = picture.light.shape
            st.text(f"Shown: {picture.name}, as {columns} × {rows} pixels")
            st.button("Back to the mystery picture", on_click=_forget)
        st.caption(f"{RULE} It stays in this session: a link does not carry it.")


def _uploaded() -> None:
    """Take the new file. One that cannot be used leaves the picture as it was and says why.

    No file means nothing: the browser sends that before each replacement, too. The browser never sends a file
    that it refuses itself. So a problem names its file, because it may stand beside the browser's words on
    the next.
    """
    st.session_state.pop(_PROBLEM, None)
    file = reported(_UPLOAD)
    if not isinstance(file, UploadedFile):  # none, or one that the server has forgotten
        return
    try:
        st.session_state[_OWN] = decode(file.name, file.getvalue())
    except ValueError as problem:
        st.session_state[_PROBLEM] = f"“{file.name}”: {problem} The picture shown is still the one before."


def _forget() -> None:
    st.session_state.pop(_OWN, None)
    st.session_state.pop(_PROBLEM, None)
