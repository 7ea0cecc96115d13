"""A reader drags and points; the pictures answer."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from fp8core.experiments.pictures import levels, to_bytes
from pages.stochastic_rounding.coins import throws
from pages.stochastic_rounding.controls import COLUMN, ELEMENTS, ROW, SPOT, STROKES, THROWS
from pages.stochastic_rounding.controls import WIPE as WIPE_CONTROL
from pages.stochastic_rounding.picture import mystery, painted, rounded
from pages.stochastic_rounding.recipes import TILES, operand_of, quantized, tensor_of
from tests.browser.handles import center, finger, mouse, value_in
from tests.browser.looks import becomes, in_the_end, listening, settled

pytestmark = pytest.mark.browser

WIPE, COINS = ".st-key-hand_wipe", ".st-key-hand_coins"
HANDLE, SPOT_HANDLE = f"{WIPE} .handle.across", f"{WIPE} .handle.both"


def shown(page, name: str, place: int = 0) -> np.ndarray:
    """The pixels of the picture on the screen that is the left or right version."""
    source = page.locator(f"{WIPE} img.{name}").nth(place).get_attribute("src")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(source.split(",")[1]))))


def share(page) -> int:
    """The percent of the picture left of the line, as a screen reader hears it."""
    return int(page.locator(HANDLE).get_attribute("aria-valuenow"))


def click_on_picture(page, across: float, down: float) -> None:
    """Click on the first picture, at shares of its width and height. Its right version may lie above."""
    box = page.locator(f"{WIPE} img.left").first.bounding_box()
    page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])


def test_a_finger_takes_the_spot_that_lies_beside_the_line(server, open_page):
    page = open_page(f"{server.url}/stochastic_rounding?part=recipes", width=390, height=844, touch=True)
    page.wait_for_selector(SPOT_HANDLE)
    settled(page)
    spot, line = page.locator(SPOT_HANDLE), share(page)
    (x, y), before = center(page, spot), spot.get_attribute("aria-valuetext")
    with finger(page, (x, y), (x + 10, y + 20), (x + 20, y + 40)):
        pass
    now = in_the_end(page, lambda: spot.get_attribute("aria-valuetext"), lambda words: words != before)
    assert now != before
    assert share(page) == line


def test_pointing_at_the_mean_tells_its_numbers_without_asking_the_server(server, open_page):
    page = open_page(server.url + "/stochastic_rounding?part=mean")
    chart = page.locator('[data-testid="stVegaLiteChart"]').first
    chart.locator("canvas, svg").first.wait_for()
    chart.scroll_into_view_if_needed()
    listening(page)
    page.evaluate(
        """() => { window.runs = 0; new MutationObserver(() => window.runs++).observe(
            document.querySelector('[data-testid="stApp"]'),
            {attributes: true, attributeFilter: ['data-test-script-state']}); }"""
    )
    box = chart.bounding_box()
    for step in range(10):
        page.mouse.move(box["x"] + box["width"] * (0.4 + 0.02 * step), box["y"] + box["height"] / 2)
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    told = tooltip.inner_text()
    assert all(words in told for words in ("nearest", "chance to go up", "stochastic, mean"))
    assert page.evaluate("window.runs") == 0


def test_the_line_follows_the_mouse_and_keys_and_both_pictures_are_those_of_the_reference(server, open_page):
    page = open_page(server.url + "/stochastic_rounding")
    page.wait_for_selector(HANDLE)
    light, grid = mystery().light, ("levels", 2)
    assert np.array_equal(shown(page, "left"), to_bytes(rounded("", light, *grid).picture))
    assert np.array_equal(shown(page, "right"), to_bytes(rounded("", light, *grid, 0).picture))
    before, (x, y) = share(page), center(page, HANDLE)
    wide = page.locator(f"{WIPE} img.left").bounding_box()["width"]
    with mouse(page, (x, y), (x + wide / 4, y)):
        during = share(page)
        assert during == pytest.approx(before + 25, abs=1), "while the button is down"
        clip = page.locator(f"{WIPE} img.right").evaluate("image => image.style.clipPath")
        assert clip == f"inset(0px 0px 0px {during}%)"
    page.wait_for_url(lambda url: value_in(url, WIPE_CONTROL.key) == str(during))
    page.locator(HANDLE).focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(lambda url: value_in(url, WIPE_CONTROL.key) == str(during - 1))


def test_a_click_takes_a_pixel_and_its_coins_fall_until_the_mean_stands(server, open_page):
    page = open_page(server.url + "/stochastic_rounding")
    page.wait_for_selector(f"{COINS} circle.coin")
    click_on_picture(page, 0.6, 0.1)
    page.wait_for_url(lambda url: value_in(url, ROW.key) is not None)
    settled(page)
    pixel = int(value_in(page.url, ROW.key)), int(value_in(page.url, COLUMN.key))
    thrown = throws(float(mystery().light[pixel]), levels(2), (0, *pixel))
    figure = page.locator(f"{COINS} .figure")
    becomes(page, figure.text_content, f"{thrown.means[99]:.3f}")
    page.locator(f"{COINS} button.play").click()
    page.wait_for_url(lambda url: value_in(url, THROWS.key) == "200")
    assert figure.text_content() == f"{thrown.means[199]:.3f}"
    assert page.locator(f"{COINS} circle.coin").count() == 200
    assert page.locator(f"{COINS} circle.up").count() == int(thrown.is_up[:200].sum())


def test_a_click_puts_the_bright_spot_elsewhere_and_four_recipes_quantize_the_picture(server, open_page):
    page = open_page(server.url + "/stochastic_rounding?part=recipes")
    page.wait_for_selector(HANDLE)
    click_on_picture(page, 0.2, 0.2)
    page.wait_for_url(lambda url: value_in(url, ROW.key) is not None)
    settled(page)
    pixel = int(value_in(page.url, ROW.key)), int(value_in(page.url, COLUMN.key))
    tensor, is_spot = tensor_of(mystery().light, pixel, SPOT.default)
    for place, recipe in enumerate(TILES):
        expected = to_bytes(quantized(tensor, is_spot, operand_of(recipe, ELEMENTS.default)).light)
        is_shown = lambda: np.array_equal(shown(page, "right", place), expected)  # noqa: B023, E731
        assert in_the_end(page, is_shown, bool), recipe


def test_a_stroke_is_rounded_like_the_rest_and_can_be_wiped_away(server, open_page):
    page = open_page(server.url + "/stochastic_rounding")
    page.wait_for_selector(HANDLE)
    box = page.locator(f"{WIPE} img.left").bounding_box()
    ends = ((0.5, 0.9), (0.9, 0.2))
    with mouse(page, *((box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in ends)):
        assert page.locator(f"{WIPE} path.fresh").count() == 1, "while the button is down"
    page.wait_for_url(lambda url: value_in(url, STROKES.key) is not None)
    strokes = value_in(page.url, STROKES.key)
    assert value_in(page.url, ROW.key) is None, "a stroke takes no pixel"
    picture = painted(mystery(), strokes)
    assert picture.light.mean() > mystery().light.mean()
    for name, seed in (("left", ()), ("right", (0,))):
        expected = to_bytes(rounded(picture.digest, picture.light, "levels", 2, *seed).picture)
        assert in_the_end(page, lambda: np.array_equal(shown(page, name), expected), bool), name  # noqa: B023
    in_the_end(page, page.locator(f"{WIPE} path.fresh").count, lambda count: count == 0)
    page.locator(SPOT_HANDLE).focus()
    page.keyboard.press("Space")
    page.wait_for_url(lambda url: (value_in(url, STROKES.key) or "").startswith(f"{strokes}-"))
    page.get_by_role("button", name="Wipe clean").click()
    page.wait_for_url(lambda url: value_in(url, STROKES.key) is None)


def test_the_bright_spot_follows_a_finger_and_keys(server, open_page):
    page = open_page(
        f"{server.url}/stochastic_rounding?part=recipes&wipe=90", width=390, height=844, touch=True
    )
    x, y = center(page, SPOT_HANDLE)
    pixel = page.locator(f"{WIPE} img.left").first.bounding_box()["width"] / mystery().light.shape[1]
    with finger(page, *((x + part * 40 * pixel, y - part * 60 * pixel) for part in (0, 0.5, 1))):
        page.wait_for_url(lambda url: value_in(url, ROW.key) is not None)
    place = lambda: [int(value_in(page.url, one.key)) for one in (ROW, COLUMN)]  # noqa: E731
    assert place() == pytest.approx([ROW.default - 60, COLUMN.default + 40], abs=1)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0
    row, column = place()
    settled(page)
    page.locator(SPOT_HANDLE).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(lambda url: value_in(url, COLUMN.key) == str(column - 1))
    assert place() == [row - 1, column - 1]
