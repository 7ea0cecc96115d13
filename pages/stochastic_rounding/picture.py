"""Section "The mystery picture": one picture, rounded both ways, seen from near and from afar.

An uploaded file is not trusted: its header gives the size before anything is unpacked.
"""

import hashlib
import io
import re
import struct
import threading
import zlib
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageOps
from streamlit import get_option
from streamlit.runtime.uploaded_file_manager import UploadedFile

from fp8core.experiments.pictures import (
    Picture,
    blur,
    blurred_rms,
    levels,
    round_nearest,
    round_noisy,
    to_bytes,
    to_light,
)
from fp8core.formats import FORMATS, Format
from fp8core.stochastic import MAX_RANDOM_BITS
from kernels.paths import ASSETS
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.shared_controls import SEED
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room, stage
from pages.kit.widgets import Place
from pages.stochastic_rounding.charts.noise import blur_chart
from pages.stochastic_rounding.coins import draw_coins, throws
from pages.stochastic_rounding.controls import (
    BESIDE,
    BLUR,
    LARGEST_BLUR,
    LEVELS,
    LEVELS_OF_GRAY,
    NEAREST,
    ORIGINAL,
    PIXELS,
    SIDE,
    STROKES,
)
from pages.stochastic_rounding.wipe import Panel, draw_wipe, image_address, pixel_of

MAX_MEGABYTES = get_option("server.maxUploadSize") - 1  # an upload is larger than its file
MAX_BYTES = MAX_MEGABYTES * 10**6  # as the browser counts
MAX_PIXELS = 13_000_000
MIN_SIDE, MAX_ASPECT = 16, 8
_ROWS_AT_ONCE = 64
MYSTERY = ASSETS / "mystery.png"
RULE = (
    f"PNG or JPEG, up to {MAX_MEGABYTES} MB and {MAX_PIXELS // 10**6} million pixels, each side at least "
    f"{MIN_SIDE} pixels and at most {MAX_ASPECT} times the other. It is made gray (the luma of its bytes), "
    f"and transparent parts become white. A larger picture is reduced to {SIDE} pixels on its longer side; "
    "each is the mean light of the pixels that it covers. An animation gives its first frame."
)

_BYTE_LIGHT = to_light(np.arange(256)).astype(np.float32)
_WORD_LIGHT = to_light(np.arange(65536) / 257).astype(np.float32)
# Pillow raises these for a broken file: its readers of PNG and JPEG, the codecs below, its asserts. It
# documents no list.
_BROKEN = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, MemoryError, OSError),
    *(RuntimeError, SyntaxError, TypeError, ValueError, struct.error, zlib.error),
)
_TOO_MANY = f"This picture has too many pixels; at most {MAX_PIXELS // 10**6} million can be used."
# One file is unpacked at a time: thirty sessions do not need thirty times the memory.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class GrayPicture:
    """`light` float64[rows, columns], 0 black to 1 white; `digest` identifies the picture."""

    name: str
    digest: str
    light: NDArray[np.float64]


def decode(name: str, data: bytes) -> GrayPicture:
    """The picture in a PNG or JPEG file, by RULE. Raises ValueError, a sentence for the reader."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"This file has {len(data):,} bytes; at most {MAX_BYTES:,} can be used.")
    with _ONE_AT_A_TIME:
        image = _open(data)
        try:
            light = _light(image)
        except (*_BROKEN, Image.DecompressionBombError) as error:
            raise ValueError("This picture is damaged: it could not be read to its end.") from error
    return GrayPicture(name=name, digest=hashlib.sha256(data).hexdigest(), light=light)


def _open(data: bytes) -> Image.Image:
    """The checked header; no pixel is unpacked yet."""
    try:
        image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG"))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ValueError(_TOO_MANY) from error
    except _BROKEN as error:
        raise ValueError("This is no PNG or JPEG picture, or its beginning is damaged.") from error
    width, height = image.size
    short, long = sorted((width, height))
    if width * height > MAX_PIXELS:
        raise ValueError(_TOO_MANY)
    if short < MIN_SIDE or long > MAX_ASPECT * short:
        raise ValueError(
            f"This picture has {width} × {height} pixels; each side needs at least {MIN_SIDE} and at most "
            f"{MAX_ASPECT} times the other."
        )
    return image


def _light(image: Image.Image) -> NDArray[np.float64]:
    image.load()
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):
        light = _WORD_LIGHT[np.clip(np.asarray(image), 0, _WORD_LIGHT.size - 1)]
    else:
        light = _byte_light(image)
    rows, columns = light.shape
    shrink = max(rows, columns) / SIDE
    if shrink > 1:
        size = max(1, round(columns / shrink)), max(1, round(rows / shrink))
        light = np.asarray(Image.fromarray(light).resize(size, Image.Resampling.BOX))
    return np.clip(light.astype(np.float64), 0.0, 1.0)


def _byte_light(image: Image.Image) -> NDArray[np.float32]:
    """float32[rows, columns], a few rows at a time: between them, other sessions have their turn."""
    columns, rows = image.size
    light = np.empty((rows, columns), np.float32)
    is_transparent = image.has_transparency_data
    for top in range(0, rows, _ROWS_AT_ONCE):
        bottom = min(top + _ROWS_AT_ONCE, rows)
        part = image.crop((0, top, columns, bottom)).convert("RGBA" if is_transparent else "RGB")
        if is_transparent:
            part = Image.alpha_composite(Image.new("RGBA", part.size, "white"), part)
        light[top:bottom] = _BYTE_LIGHT[np.asarray(part.convert("L"))]
    return light


@st.cache_resource(show_spinner=False)
def mystery() -> GrayPicture:
    return decode("The mystery picture", MYSTERY.read_bytes())


class Rounded(NamedTuple):
    """A rounded picture, and its rms error after each blur."""

    picture: Picture
    rms: tuple[float, ...]


def grid_of(pixels: str, count: int) -> Format:
    return levels(count) if pixels == LEVELS_OF_GRAY else FORMATS[pixels]


@st.cache_resource(max_entries=32, show_spinner=False)
def rounded(digest: str, _light: Picture, pixels: str, levels: int, seed: int | None = None) -> Rounded:
    """A picture on a grid of values, by the coins of a seed or to nearest; `digest` is its key."""
    grid = grid_of(pixels, levels)
    if seed is None:
        picture = round_nearest(_light, grid)
    else:
        coins = np.random.default_rng(seed).integers(0, 1 << MAX_RANDOM_BITS, _light.shape)
        picture = round_noisy(_light, grid, coins)
    # A blur is linear: the error of a blurred picture is the blurred error.
    return Rounded(picture, blurred_rms(picture - _light, range(LARGEST_BLUR + 1)))


@st.cache_resource(max_entries=64, show_spinner=False)
def blurred(name: tuple[str | int, ...], _picture: Picture, sigma: int) -> str:
    """The address of a blurred picture; `name` is its key."""
    return image_address(to_bytes(blur(_picture.astype(np.float32), sigma)))


_OWN, _PROBLEM, _UPLOAD = "_own_picture", "_own_picture_problem", "_own_picture_upload"


PAINT, BRUSH = 0.45, 9  # the light of the brush, dark enough to turn black to nearest, and its pixels across
_BRUSH_GRAY = f"rgb({to_bytes(np.full(3, PAINT)).tolist()})".replace("[", "").replace("]", "")


def painted(picture: GrayPicture, strokes: str) -> GrayPicture:
    """The picture under strokes of light, as `wipe.js` writes them."""
    lines = [re.findall("[0-9a-f]{4}", stroke) for stroke in strokes.split("-")]
    points = [[(int(point[2:], 16), int(point[:2], 16)) for point in line] for line in lines if line]
    if not points:
        return picture
    rows, columns = picture.light.shape
    mask = Image.new("1", (columns, rows))
    draw = ImageDraw.Draw(mask)
    for line in points:
        draw.line(line, fill=1, width=BRUSH)
        for x, y in line:
            draw.circle((x, y), BRUSH // 2, fill=1)
    light = np.where(np.asarray(mask), np.maximum(picture.light, PAINT), picture.light)
    return replace(picture, light=light, digest=f"{picture.digest} {strokes}")


def picture_here(controls: Controls) -> GrayPicture:
    """The reader's own picture or the mystery, under the reader's strokes."""
    return painted(st.session_state.get(_OWN) or mystery(), controls.value(STROKES))


def show(controls: Controls) -> None:
    beside = controls.draw(BESIDE, here().control)
    pixels = controls.draw(PIXELS)
    if pixels == LEVELS_OF_GRAY:
        controls.draw(LEVELS)
    sigma, levels = controls.draw(BLUR), controls.value(LEVELS)
    picture = picture_here(controls)
    name = picture.digest, pixels, levels, controls.draw(SEED)
    nearest = rounded(picture.digest, picture.light, pixels, levels)
    noisy = rounded(picture.digest, picture.light, *name[1:])
    loss = "dark gray turns black" if pixels == LEVELS_OF_GRAY else "shades are lost"
    draw_notice(
        f"To nearest, {loss}. With a coin for each pixel, the mean light stays: "
        f"**{short(float(noisy.picture.mean()), 3)} of {short(float(picture.light.mean()), 3)}.**"
    )
    # The original has no grid, and only the noisy one has a seed.
    first = {
        ORIGINAL: (name[:1], picture.light, "the original"),
        NEAREST: (name[:3], nearest.picture, "to nearest"),
    }[beside]
    row, at = stage().columns((56, 44), gap="large"), pixel_of(controls, picture.light.shape)
    _draw_both(controls, first, (name, noisy.picture, "stochastic"), sigma, at, row[0])
    coins = throws(float(picture.light[at]), grid_of(pixels, levels), (name[3], *at))
    draw_coins(controls, coins, room(), row[1])
    st.markdown("**The error of both pictures, seen from afar**")
    draw_chart(
        blur_chart(nearest.rms, noisy.rms, sigma, page_ink()),
        key="blur_chart",
        place=st,
        alt=f"rms error over the blur: from 0 to {BLUR.high} pixels it goes from "
        f"{short(nearest.rms[0], 2)} to {short(nearest.rms[-1], 2)} to nearest, and from "
        f"{short(noisy.rms[0], 2)} to {short(noisy.rms[-1], 2)} stochastically",
    )
    draw_upload(picture)


LIGHT_SHARE = 0.9  # a picture with a smaller share of the other's mean light has lost some
Version = tuple[tuple[str | int, ...], Picture, str]  # a picture's key, its light and its title


def _draw_both(
    controls: Controls, first: Version, second: Version, sigma: int, pixel: tuple[int, int], place: Place
) -> None:
    afar = f" Both are blurred by {sigma} px." if sigma else ""
    light = [short(float(picture.mean()), 3) for _, picture, _ in (first, second)]
    addresses = [blurred(key, picture, sigma) for key, picture, _ in (first, second)]
    panel = Panel(
        left=addresses[0],
        right=addresses[1],
        title=first[2].capitalize(),
        other=second[2].capitalize(),
        words=f"mean light {light[0]}",
        others=f"mean light {light[1]}",
        lost=float(first[1].mean()) < LIGHT_SHARE * float(second[1].mean()),
    )
    draw_wipe(
        controls,
        [panel],
        first[1].shape,
        pixel,
        (first[2], second[2]),
        place,
        height=room(),
        mark="The pixel whose coin falls. Space paints on it",
        brush={"color": _BRUSH_GRAY, "wide": BRUSH, "longest": STROKES.longest},
        alt=f"A picture: {first[2]} at the left, mean light {light[0]}; {second[2]} at the right, mean light "
        f"{light[1]}.{afar}",
    )


def draw_upload(picture: GrayPicture) -> None:
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
        if _OWN in st.session_state:
            rows, columns = picture.light.shape
            st.text(f"Shown: {picture.name}, as {columns} × {rows} pixels")
            st.button("Back to the mystery picture", on_click=_forget)
        st.caption(f"{RULE} It stays in this session: a link does not carry it.")


def _uploaded() -> None:
    """Take the new file. A file that cannot be used leaves the picture as it was, and a sentence says why.

    The browser also reports no file before each replacement: that changes nothing. The browser never sends a
    file that it refuses itself, so our sentence names its file: it may stand beside the browser's own.
    """
    st.session_state.pop(_PROBLEM, None)
    file = st.session_state.get(_UPLOAD)
    if not isinstance(file, UploadedFile):  # none, or a file that the server has forgotten
        return
    try:
        st.session_state[_OWN] = decode(file.name, file.getvalue())
    except ValueError as problem:
        st.session_state[_PROBLEM] = f"“{file.name}”: {problem} The picture shown is still the one before."


def _forget() -> None:
    st.session_state.pop(_OWN, None)
    st.session_state.pop(_PROBLEM, None)
