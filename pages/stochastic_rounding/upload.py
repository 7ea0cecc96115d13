"""A picture from an uploaded file, or one sentence on why not. Nothing in the file is trusted.

A file is at most MAX_BYTES long and MAX_PIXELS large. Its header tells the size before anything is unpacked.
One file is unpacked at a time, so that a full room does not need a full room's memory.
"""

import hashlib
import io
import struct
import threading
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image
from streamlit import get_option

from fp8core.experiments.pictures import to_light

_AROUND_FILE_MEGABYTES = 1
MAX_MEGABYTES = get_option("server.maxUploadSize") - _AROUND_FILE_MEGABYTES
MAX_BYTES = MAX_MEGABYTES * 10**6  # the browser counts so, too
MAX_PIXELS = 13_000_000
MIN_SIDE = 16
MAX_ASPECT = 8
SIDE = 224
_ROWS_AT_ONCE = 64

RULE = (
    f"PNG or JPEG, up to {MAX_MEGABYTES} MB and {MAX_PIXELS // 10**6} million pixels, each side at least "
    f"{MIN_SIDE} pixels and at most {MAX_ASPECT} times the other. It is made gray (the luma of its bytes), "
    f"and transparent parts become white. A larger picture is reduced to {SIDE} pixels on its longer side; "
    "each is the mean light of the pixels that it covers. An animation gives its first frame."
)

_BYTE_LIGHT = to_light(np.arange(256)).astype(np.float32)
_WORD_LIGHT = to_light(np.arange(65536) / 257).astype(np.float32)
# What Pillow raises where a file is not what it says. It lists no types; these are those that its readers of
# PNG and JPEG, the codecs below them and the library's own checks (assert) raise.
_BROKEN = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, MemoryError, OSError),
    *(RuntimeError, SyntaxError, TypeError, ValueError, struct.error, zlib.error),
)
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class GrayPicture:
    """`light` float64[rows, columns], 0 black to 1 white; `digest` tells pictures apart."""

    name: str
    digest: str
    light: NDArray[np.float64]


def decode(name: str, data: bytes) -> GrayPicture:
    """The picture in a PNG or JPEG file, by RULE. Raises ValueError with a sentence for the reader."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"This file has {len(data):,} bytes; at most {MAX_BYTES:,} can be used.")
    with _one_at_a_time:
        image = _open(data)
        try:
            light = _light(image)
        except (*_BROKEN, Image.DecompressionBombError) as error:
            raise ValueError("This picture is damaged: it could not be read to its end.") from error
    return GrayPicture(name=name, digest=hashlib.sha256(data).hexdigest(), light=light)


def _open(data: bytes) -> Image.Image:
    """The file's header, checked; its pixels are not unpacked yet."""
    try:
        image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG"))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ValueError(
            f"This picture has far too many pixels; at most {MAX_PIXELS // 10**6} million can be used."
        ) from error
    except _BROKEN as error:
        raise ValueError("This is no PNG or JPEG picture, or its beginning is damaged.") from error
    width, height = image.size
    short, long = sorted((width, height))
    if width * height > MAX_PIXELS:
        raise ValueError(
            f"This picture has {width} × {height} pixels; at most {MAX_PIXELS // 10**6} million can be used."
        )
    if short < MIN_SIDE or long > MAX_ASPECT * short:
        raise ValueError(
            f"This picture has {width} × {height} pixels; each side needs at least {MIN_SIDE} and at most "
            f"{MAX_ASPECT} times the other."
        )
    return image


def _light(image: Image.Image) -> NDArray[np.float64]:
    """float64[rows, columns] of the first frame."""
    image.load()
    turn = _TURNS.get(image.getexif().get(ExifTags.Base.Orientation))
    if turn is not None:
        image = image.transpose(turn)
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
    """float32[rows, columns], a few rows at a time: meanwhile the other sessions come to their turn."""
    columns, rows = image.size
    light = np.empty((rows, columns), np.float32)
    is_transparent = image.has_transparency_data
    for top in range(0, rows, _ROWS_AT_ONCE):
        bottom = min(top + _ROWS_AT_ONCE, rows)
        part = image.crop((0, top, columns, bottom))
        light[top:bottom] = _BYTE_LIGHT[np.asarray(_on_white(part, is_transparent).convert("L"))]
    return light


def _on_white(image: Image.Image, is_transparent: bool) -> Image.Image:
    if not is_transparent:
        return image.convert("RGB") if image.mode == "P" else image
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
