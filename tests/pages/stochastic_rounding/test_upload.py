"""Contract: any file gives the right picture or one sentence; nothing is unpacked that the header forbids."""

import io
import random
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from fp8core.experiments.pictures import to_light
from pages.stochastic_rounding.picture import MAX_BYTES, SIDE, decode

RNG = np.random.default_rng(0)
GRAY = RNG.integers(0, 256, (150, 60), dtype=np.uint8)  # more rows than are made gray at once


def saved(image: Image.Image, kind: str = "PNG", **options) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def header_only_png(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds next to nothing."""
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = b"IDAT" + zlib.compress(b"\0" * 100)
    parts = [struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (chunk, body)]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def assert_light(data: bytes, light: np.ndarray, atol: float = 1e-6) -> None:
    picture = decode("x.png", data)
    assert picture.light.dtype == np.float64
    np.testing.assert_allclose(picture.light, light, atol=atol)


def test_gray_color_and_palette_pictures_give_their_light():
    gray = Image.fromarray(GRAY)
    assert_light(saved(gray), to_light(GRAY))
    assert_light(saved(gray.convert("RGB")), to_light(GRAY))
    assert_light(saved(gray.convert("RGB").quantize(256)), to_light(GRAY), atol=0.02)
    assert_light(saved(gray.point(lambda v: 255 * (v > 99)).convert("1")), to_light(255 * (GRAY > 99)))


def test_sixteen_bits_keep_their_shades():
    words = RNG.integers(0, 1 << 16, (40, 60), dtype=np.uint16)
    assert_light(saved(Image.fromarray(words)), to_light(words / 257))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white(mode):
    alpha = np.where(np.arange(60) < 30, 0, 255).astype(np.uint8)[None].repeat(150, axis=0)
    image = Image.fromarray(np.dstack([np.zeros((150, 60, 3), np.uint8), alpha]))
    if mode == "P":
        image = Image.fromarray((alpha == 255).astype(np.uint8)).convert("P")
        image.putpalette([255, 0, 0, 0, 0, 0])
        data = saved(image, transparency=0)
    else:
        data = saved(image.convert(mode))
    assert_light(data, np.where(alpha == 0, 1.0, 0.0))


def test_a_jpeg_is_turned_the_way_its_camera_was_held():
    exif = Image.Exif()
    exif[0x0112] = 6
    image = Image.fromarray(np.linspace(0, 255, 60, dtype=np.uint8)[None].repeat(40, axis=0))
    light = decode("x.jpg", saved(image, "JPEG", exif=exif, quality=95)).light
    assert light.shape == (60, 40)
    assert light[0].mean() < 0.01 < 0.9 < light[-1].mean()


def test_a_large_picture_comes_down_to_the_mean_light_of_what_each_pixel_covers():
    large = RNG.integers(0, 256, (2 * SIDE, 4 * SIDE), dtype=np.uint8)
    light = to_light(large).reshape(SIDE // 2, 4, SIDE, 4).mean(axis=(1, 3))
    assert_light(saved(Image.fromarray(large)), light, atol=1e-5)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "no PNG or JPEG"),
        (b"hello" * 100, "no PNG or JPEG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no PNG or JPEG"),
        (saved(Image.fromarray(GRAY), "GIF"), "no PNG or JPEG"),
        (saved(Image.fromarray(GRAY), "TIFF"), "no PNG or JPEG"),
        (saved(Image.fromarray(GRAY))[:300], "damaged"),
        (saved(Image.fromarray(GRAY), "JPEG")[:-300], "damaged"),
        (saved(Image.new("L", (1, 1))), "1 × 1 pixels; each side needs at least 16"),
        (saved(Image.new("L", (10_000, 1))), "10000 × 1 pixels; each side needs"),
        (saved(Image.new("L", (16 * 8 + 1, 16))), "129 × 16 pixels; each side needs"),
        (header_only_png(5000, 5000), "too many pixels; at most 13 million"),
        (header_only_png(60_000, 60_000), "too many pixels; at most 13 million"),
        (header_only_png(2**31 - 1, 2**31 - 1), "pixels; at most 13 million|no PNG"),
        (b"\0" * (MAX_BYTES + 1), "5,000,001 bytes; at most 5,000,000 "),
    ],
    ids=range(14),
)
def test_what_cannot_be_used_is_refused_with_one_sentence(data, sentence):
    with pytest.raises(ValueError, match=sentence) as refusal:
        decode("x.png", data)
    assert str(refusal.value).count(".") <= 2
    assert len(str(refusal.value)) < 140


def chunks(file: bytes) -> list[bytes]:
    """The chunks of a PNG, each with its length and checksum."""
    parts, at = [], 8
    while at < len(file):
        end = at + 12 + int.from_bytes(file[at : at + 4])
        parts.append(file[at:end])
        at = end
    return parts


def with_chunks(parts: list[bytes]) -> bytes:
    """A PNG of these chunks, whose checksums are made right."""
    bodies = [part[4:-4] for part in parts]
    chunks = [struct.pack(">I", len(b) - 4) + b + struct.pack(">I", zlib.crc32(b)) for b in bodies]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


COLORS = Image.fromarray(GRAY).convert("RGB")
PNGS = {
    "palette": saved(COLORS.quantize(16)),
    "transparent": saved(COLORS.quantize(256), transparency=0),
    "words": saved(Image.fromarray(RNG.integers(0, 1 << 16, (40, 60), dtype=np.uint16))),
    "animation": saved(COLORS, save_all=True, append_images=[COLORS.rotate(180)]),
}


def with_one_byte_changed(n: int, seed: int = 0) -> list[bytes]:
    """PNGs whose chunks say something else with a right checksum, and JPEGs."""
    draw, files = random.Random(seed), []
    for _ in range(n):
        parts = chunks(draw.choice(list(PNGS.values())))
        which = draw.randrange(len(parts) - 1)
        part = bytearray(parts[which])
        part[draw.randrange(8, min(len(part) - 4, 40))] = draw.choice([0, 1, 3, 16, 255])
        files.append(with_chunks([*parts[:which], bytes(part), *parts[which + 1 :]]))
        jpeg = bytearray(saved(Image.fromarray(GRAY), "JPEG"))
        jpeg[draw.randrange(2, 300)] = draw.choice([0, 1, 127, 255])
        files.append(bytes(jpeg))
    return files


def refusal(data: bytes) -> str:
    """The sentence that refuses a file; empty for a picture."""
    try:
        decode("x", data)
    except ValueError as sentence:
        return str(sentence)
    return ""


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_damaged_file_gives_a_picture_or_one_sentence():
    reasons = [refusal(data) for data in with_one_byte_changed(30)]
    assert [one for one in reasons if one and not one.startswith("This ")] == []
    assert sum(map(bool, reasons)) >= 15
