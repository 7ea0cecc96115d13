"""Section "Through the recipes": a picture with a bright spot is a tensor, in four kinds of tiles."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from fp8core.experiments.pictures import Picture, to_bytes
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.quantize import quantized_values
from fp8core.recipes import RECIPES, Operand
from pages.kit.charts.ink import LIGHT, Ink
from pages.kit.charts.words import percent_text
from pages.kit.controls import Controls
from pages.kit.view import draw_notice, here, page_ink, room
from pages.stochastic_rounding.controls import ELEMENTS, FOUR_BITS, SPOT
from pages.stochastic_rounding.picture import draw_upload, picture_here
from pages.stochastic_rounding.wipe import Panel, draw_wipe, image_address, pixel_of

# Recipes, and the tile of x in their Fprop.
TILES = {
    "per_tensor": "One scale for all",
    "deepseek_v3": "A scale for 1 × 128",
    "mxfp8": "For 1 × 32",
    "nvfp4": "NVFP4, for 1 × 16",
}
# Pixels from the middle of the bright spot to its edge.
RADIUS = 4
NUMBERS = (
    "**The picture as a tensor.** A number is a pixel's light: 0 is black, 1 is white, and there are no "
    f"signs. The bright spot is a disk, {2 * RADIUS + 1} pixels wide, of one light. The screen shows it as "
    "white. A row of the picture is a row of x. K runs along it, and so do the tiles. The reference "
    "quantizer rounds to nearest, and each tile has a scale by its recipe's rule. Under “All in four bits” "
    "the first three recipes store e2m1 in place of e4m3, to show the tiles alone. No layer's x looks like a "
    "picture: neighbors are alike here.\n\n"
    "**Turned black**: pixels outside the spot whose light is above 0 and whose code is 0. **SQNR**, in dB, "
    "leaves the spot out, too: its own numbers would hide what the others lose."
)


@dataclass(frozen=True, kw_only=True)
class Quantized:
    """A picture out of the reference quantizer.

    `scales` float32[rows, columns]: the scale of each pixel. `black`, the share that turned black, and
    `sqnr_db` leave the spot out.
    """

    light: Picture
    scales: NDArray[np.float32]
    black: float
    sqnr_db: float


def tensor_of(light: Picture, pixel: tuple[int, int], times: int) -> tuple[NDArray[np.float32], NDArray]:
    """float32[rows, columns]: a picture with a spot around `pixel`, and the spot's mask."""
    rows, columns = np.indices(light.shape)
    is_spot = np.hypot(rows - pixel[0], columns - pixel[1]) <= RADIUS + 0.5
    is_spot &= times > 0
    return np.where(is_spot, times, light).astype(np.float32), is_spot


def operand_of(recipe: str, elements: str) -> Operand:
    operand = RECIPES[recipe].operand(MATMULS["fprop"], Side.A)
    if elements != FOUR_BITS:
        return operand
    return replace(operand, spec=replace(operand.spec, format=FORMATS["e2m1"]))


def quantized(tensor: NDArray[np.float32], is_spot: NDArray, operand: Operand) -> Quantized:
    values, scales = quantized_values(tensor, operand)
    x, rest = tensor[~is_spot].astype(np.float64), values[~is_spot]
    noise = float(np.sum((rest - x) ** 2))
    return Quantized(
        light=np.clip(values, 0, 1),
        scales=operand.grid(tensor.shape).expand(scales),
        black=float(np.mean((x > 0) & (rest == 0))),
        sqnr_db=10 * np.log10(float(np.sum(x**2)) / noise) if noise else np.inf,
    )


@st.cache_resource(max_entries=32, show_spinner=False)
def notice_and_panels(
    digest: str, _light: Picture, pixel: tuple[int, int], times: int, elements: str, ink: Ink
) -> tuple[str, list[Panel]]:
    """The Notice, and a picture with a spot out of each recipe; `digest` is the picture's key."""
    tensor, is_spot = tensor_of(_light, pixel, times)
    by_recipe = {recipe: quantized(tensor, is_spot, operand_of(recipe, elements)) for recipe in TILES}
    original = image_address(to_bytes(tensor))
    return notice(by_recipe, times), [
        Panel(
            left=original,
            right=image_address(to_bytes(one.light)),
            title=TILES[recipe],
            words=f"{percent_text(one.black, 2)} turned black",
            others=f"{one.sqnr_db:.0f} dB",
            lost=one.black > 0.005,
            below=scale_map(one.scales, ink.ramp),
            under="Its scales: dark is large" if ink is LIGHT else "Its scales: light is large",
        )
        for recipe, one in by_recipe.items()
    ]


def scale_map(scales: NDArray[np.float32], ramp: Sequence[str]) -> str:
    """The address of a picture of scales: a step of the ramp is a power of two."""
    powers = np.floor(np.log2(np.maximum(scales, np.finfo(np.float32).tiny)))
    steps = np.clip(powers - powers.max() + len(ramp) - 1, 0, None).astype(int)
    colors = np.array([list(bytes.fromhex(color[1:])) for color in ramp], np.uint8)
    return image_address(colors[steps])


def show(controls: Controls) -> None:
    elements = controls.draw(ELEMENTS, here().control)
    times, picture = controls.draw(SPOT), picture_here(controls)
    shape = picture.light.shape
    pixel = pixel_of(controls, shape)
    words, panels = notice_and_panels(picture.digest, picture.light, pixel, times, elements, page_ink())
    draw_notice(words)
    draw_wipe(
        controls,
        panels,
        shape,
        pixel,
        ("the original", "quantized"),
        height=room(),
        mark="The bright spot" if times else "",
        hint="Left: the original. Pull the bright spot elsewhere.",
        alt="A picture out of four recipes. "
        + "; ".join(f"{panel.title}: {panel.words}, SQNR {panel.others}" for panel in panels),
    )
    here().know.markdown(NUMBERS)
    draw_upload(picture)


def notice(by_recipe: dict[str, Quantized], times: int) -> str:
    one, small = by_recipe["per_tensor"].black, by_recipe["nvfp4"].black
    if not times:
        return f"Without a bright spot, one scale turns **{percent_text(one, 2)} of the picture black.**"
    return (
        f"One bright spot, one scale: **{percent_text(one, 2)} of the picture turns black.** "
        f"With a scale for each 16 pixels, {percent_text(small, 2)} does."
    )
