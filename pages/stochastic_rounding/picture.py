"""Section "The mystery picture": one picture, rounded both ways, seen from near and from afar."""

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import streamlit as st
from PIL import Image, ImageDraw

from fp8core.experiments.pictures import (
    Levels,
    Picture,
    PixelGrid,
    blur,
    blurred_rms,
    round_nearest,
    round_noisy,
    to_bytes,
    to_light,
)
from fp8core.formats import FORMATS
from fp8core.stochastic import MAX_RANDOM_BITS
from kernels.paths import ASSETS
from pages.kit.chart import draw_chart, page_ink, room
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED
from pages.kit.view import draw_notice, here, stage
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
    STROKES,
)
from pages.stochastic_rounding.wipe import Panel, draw_wipe, image_address, pixel_of

MYSTERY = ASSETS / "mystery.png"
PAINT, BRUSH = 0.45, 9  # the light of the brush, dark enough to turn black to nearest, and its pixels across
_BRUSH_GRAY = f"rgb({', '.join([str(to_bytes(PAINT))] * 3)})"


@lru_cache(maxsize=32)
def painted(strokes: str) -> Picture:
    """The mystery picture under strokes of light, as `wipe.js` writes them."""
    light = to_light(np.asarray(Image.open(MYSTERY)))
    mask = Image.new("1", light.shape[::-1])
    draw = ImageDraw.Draw(mask)
    for stroke in strokes.split("-"):
        points = [(int(point[2:], 16), int(point[:2], 16)) for point in re.findall("[0-9a-f]{4}", stroke)]
        draw.line(points, fill=1, width=BRUSH)
        for x, y in points:
            draw.circle((x, y), BRUSH // 2, fill=1)
    return np.where(np.asarray(mask), np.maximum(light, PAINT), light)


class Rounded(NamedTuple):
    """A rounded picture, and its rms error after each blur."""

    picture: Picture
    rms: tuple[float, ...]


def grid_of(pixels: str, levels: int) -> PixelGrid:
    return Levels(levels) if pixels == LEVELS_OF_GRAY else FORMATS[pixels]


@st.cache_resource(max_entries=32, show_spinner=False)
def rounded(strokes: str, pixels: str, levels: int, seed: int | None = None) -> Rounded:
    """The picture on a grid of values, by the coins of a seed or to nearest."""
    light, grid = painted(strokes), grid_of(pixels, levels)
    if seed is None:
        picture = round_nearest(light, grid)
    else:
        coins = np.random.default_rng(seed).integers(0, 1 << MAX_RANDOM_BITS, light.shape)
        picture = round_noisy(light, grid, coins)
    # A blur is linear: the error of a blurred picture is the blurred error.
    return Rounded(picture, blurred_rms(picture - light, range(LARGEST_BLUR + 1)))


@st.cache_resource(max_entries=64, show_spinner=False)
def blurred(name: tuple[str | int, ...], _picture: Picture, sigma: int) -> str:
    """The address of a blurred picture; `name` is its key."""
    return image_address(to_bytes(blur(_picture.astype(np.float32), sigma)))


def show(controls: Controls) -> None:
    beside = controls.draw(BESIDE, here().control)
    pixels = controls.draw(PIXELS)
    if pixels == LEVELS_OF_GRAY:
        controls.draw(LEVELS)
    sigma, levels = controls.draw(BLUR), controls.value(LEVELS)
    name = controls.value(STROKES), pixels, levels, controls.draw(SEED)
    light, nearest, noisy = painted(name[0]), rounded(*name[:3]), rounded(*name)
    loss = "dark gray turns black" if pixels == LEVELS_OF_GRAY else "shades are lost"
    draw_notice(
        f"To nearest, {loss}. With a coin for each pixel, the mean light stays: "
        f"**{short(float(noisy.picture.mean()), 3)} of {short(float(light.mean()), 3)}.**"
    )
    # The original has no grid, and only the noisy one has a seed.
    first = {
        ORIGINAL: (name[:1], light, "the original"),
        NEAREST: (name[:3], nearest.picture, "to nearest"),
    }[beside]
    row, at = stage().columns((56, 44), gap="large"), pixel_of(controls)
    _draw_both(controls, first, (name, noisy.picture, "stochastic"), sigma, at, row[0])
    coins = throws(float(light[at]), grid_of(pixels, levels), (name[3], *at))
    draw_coins(controls, coins, room(), row[1])
    st.markdown("**The error of both pictures, seen from afar**")
    draw_chart(
        blur_chart(nearest.rms, noisy.rms, sigma, page_ink()),
        key="blur_chart",
        place=st,
        is_rigid=True,
        alt=f"rms error over the blur: from 0 to {BLUR.high} pixels it goes from "
        f"{short(nearest.rms[0], 2)} to {short(nearest.rms[-1], 2)} to nearest, and from "
        f"{short(noisy.rms[0], 2)} to {short(noisy.rms[-1], 2)} stochastically",
    )


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
        pixel,
        (first[2], second[2]),
        place,
        height=room(),
        mark="The pixel whose coin falls. Space paints on it",
        brush={"color": _BRUSH_GRAY, "wide": BRUSH, "longest": STROKES.longest},
        alt=f"A picture: {first[2]} at the left, mean light {light[0]}; {second[2]} at the right, mean light "
        f"{light[1]}.{afar}",
    )
