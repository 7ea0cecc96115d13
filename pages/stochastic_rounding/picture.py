"""Section "The mystery picture": one picture, rounded both ways, seen from near and from afar."""

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from fp8core.experiments.pictures import Picture
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.view import here, stage
from pages.kit.widgets import reported
from pages.stochastic_rounding.charts.noise import blur_chart
from pages.stochastic_rounding.controls import BESIDE, BLUR, LEVELS, LEVELS_OF_GRAY, NEAREST, ORIGINAL, PIXELS
from pages.stochastic_rounding.data import (
    RoundedPicture,
    blurred_bytes,
    mystery,
    rounded_picture,
)
from pages.stochastic_rounding.upload import MAX_MEGABYTES, RULE, GrayPicture, decode

_STYLE = """<style>
.st-key-two_pictures img {{ image-rendering: pixelated; max-height: {high}px; object-fit: contain;
    border-radius: 2px; }}
</style>"""
_CAPTION = 40
_OWN, _PROBLEM, _UPLOAD = "_own_picture", "_own_picture_problem", "_own_picture_upload"


def show(controls: Controls) -> None:
    """Draw two pictures side by side, the error over the blur, and the upload for the reader's own."""
    beside = controls.draw(BESIDE, here().control)
    pixels = controls.draw(PIXELS)
    if pixels == LEVELS_OF_GRAY:
        controls.draw(LEVELS)
    sigma, levels = controls.draw(BLUR), controls.value(LEVELS)
    picture: GrayPicture = st.session_state.get(_OWN) or mystery()
    name = picture.digest, pixels, levels, controls.draw(SEED)
    rounded = rounded_picture(picture.digest, picture.light, *name[1:])
    draw_notice(_notice(picture.light, rounded, pixels))
    _pictures(name, beside, picture.light, rounded, sigma)
    st.markdown("**The error of both pictures, seen from afar**")
    draw_chart(
        blur_chart(rounded.nearest_rms, rounded.noisy_rms, sigma, INKS[theme()]),
        key="blur_chart",
        place=st,
        is_rigid=True,
        alt=f"rms error over the blur: from 0 to {BLUR.high} pixels it goes from "
        f"{short(rounded.nearest_rms[0], 2)} to {short(rounded.nearest_rms[-1], 2)} to nearest, and from "
        f"{short(rounded.noisy_rms[0], 2)} to {short(rounded.noisy_rms[-1], 2)} stochastically",
    )
    _own_picture(picture)


def _words_for_grid(pixels: str, levels: int) -> str:
    if pixels != LEVELS_OF_GRAY:
        return f"values of {pixels}"
    return "black or white" if levels == LEVELS.low else f"{levels} grays"


def _pictures(
    name: tuple[str, str, int, int], beside: str, light: Picture, rounded: RoundedPicture, sigma: int
) -> None:
    """Two pictures. The original has no grid, and only the last one has a seed: both are in `name`."""
    grid = _words_for_grid(*name[1:3])
    afar = "" if sigma == 0 else f", blurred by {sigma} px"
    first = {
        ORIGINAL: (name[:1], light, "the original"),
        NEAREST: (name[:3], rounded.nearest, f"to nearest: {grid}"),
    }[beside]
    place = stage().container(key="two_pictures", gap=None)
    place.html(_STYLE.format(high=room() - _CAPTION))
    row = place.container(horizontal=True)
    for its_name, drawn, title in (first, (name, rounded.noisy, f"stochastic: {grid}")):
        row.container(width="stretch").image(
            blurred_bytes(its_name, drawn, sigma),
            caption=f"{title}{afar}. Mean light {short(float(drawn.mean()), 3)}",
            alt=f"{title}{afar}",
            width="stretch",
        )


def _notice(light: Picture, rounded: RoundedPicture, pixels: str) -> str:
    loss = "dark gray turns black" if pixels == LEVELS_OF_GRAY else "shades are lost"
    return (
        f"To nearest, {loss}. With a coin for each pixel, the mean light stays: "
        f"**{short(float(rounded.noisy.mean()), 3)} of {short(float(light.mean()), 3)}.**"
    )


def _own_picture(picture: GrayPicture) -> None:
    own = _OWN in st.session_state
    problem = st.session_state.get(_PROBLEM)
    with here().more:
        st.markdown("**Your own picture**")
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
