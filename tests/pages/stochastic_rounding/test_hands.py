"""Parts of the pictures that a hand moves: the coins of a pixel, and a picture in the tiles of recipes."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from fp8core.experiments.pictures import levels, round_nearest
from fp8core.formats import FORMATS
from pages.kit.charts.ink import LIGHT
from pages.stochastic_rounding.coins import throws
from pages.stochastic_rounding.controls import FOUR_BITS
from pages.stochastic_rounding.picture import BRUSH, PAINT, mystery, painted
from pages.stochastic_rounding.recipes import TILES, operand_of, quantized, scale_map, tensor_of
from pages.stochastic_rounding.wipe import image_address


def decoded(address: str) -> np.ndarray:
    """The pixels of an address of a picture."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.split(",")[1]))))


def test_an_address_holds_the_pixels_of_its_picture():
    gray = np.random.default_rng(0).integers(0, 256, (20, 30), np.uint8)
    assert np.array_equal(decoded(image_address(gray)), gray)


@pytest.mark.parametrize("grid", [levels(2), levels(5), FORMATS["e2m1"]], ids=["two", "five", "e2m1"])
def test_coins_fall_on_the_values_around_the_pixel_and_their_mean_is_the_pixel(grid):
    coins = throws(0.3, grid, (0, 1, 2))
    assert coins.low < 0.3 < coins.high
    assert coins.nearest in (coins.low, coins.high)
    results = np.where(coins.is_up, coins.high, coins.low)
    assert np.allclose(coins.means * np.arange(1, results.size + 1), np.cumsum(results))
    assert abs(coins.means[-1] - 0.3) < 4 * coins.deviations[-1]


def test_a_pixel_on_a_value_stays_there():
    coins = throws(1.0, levels(2), (0,))
    assert (coins.low, coins.high, coins.nearest) == (1, 1, 1)
    assert not coins.is_up.any()
    assert not coins.deviations.any()


@pytest.mark.parametrize(("recipe", "wide"), [("deepseek_v3", 128), ("mxfp8", 32)])
def test_a_bright_spot_changes_no_pixel_outside_its_tiles(recipe, wide):
    light, operand = mystery().light, operand_of(recipe, FOUR_BITS)
    without, (tensor, is_spot) = (
        quantized(*tensor_of(light, (0, 0), 0), operand),
        tensor_of(light, (99, 99), 16),
    )
    with_spot = quantized(tensor, is_spot, operand)
    rows, columns = np.nonzero(is_spot)
    near = np.zeros(light.shape, bool)
    for row, column in zip(rows, columns, strict=True):
        near[row, column // wide * wide : (column // wide + 1) * wide] = True
    differs = with_spot.light != without.light
    assert not (differs & ~near).any()
    assert (differs & near & ~is_spot).any()


def test_smaller_tiles_lose_less_to_a_bright_spot():
    tensor, is_spot = tensor_of(mystery().light, (99, 99), 16)
    black = [quantized(tensor, is_spot, operand_of(recipe, FOUR_BITS)).black for recipe in TILES]
    assert black == sorted(black, reverse=True)
    assert black[0] > 0.9 > 0.01 > black[-1]


def test_a_map_of_scales_has_a_step_of_the_ramp_for_a_power_of_two():
    scales = np.array([[8.0, 4.0, 2.0**-20]], np.float32)
    pixels = decoded(scale_map(scales, LIGHT.ramp))[0]
    assert [f"#{bytes(color).hex()}" for color in pixels] == [LIGHT.ramp[-1], LIGHT.ramp[-2], LIGHT.ramp[0]]


def test_a_stroke_is_a_line_of_light_that_nearest_turns_black():
    before, after = mystery().light, painted(mystery(), "1020-c810c8d0").light
    is_new = before != after
    assert (after[is_new] == PAINT).all()
    assert round_nearest(after[is_new], levels(2)).max() == 0
    rows, columns = np.nonzero(is_new[180:])
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (
        *(20 - BRUSH // 2, 20 + BRUSH // 2),
        *(16 - BRUSH // 2, 208 + BRUSH // 2),
    )


@pytest.mark.parametrize("strokes", ["", "-", "zz", "10-2", "１２３４", "fffe"])
def test_what_is_no_stroke_on_the_picture_changes_no_pixel(strokes):
    assert np.array_equal(painted(mystery(), strokes).light, mystery().light)
