"""The picture of Start follows the mouse, a finger and keys, and shows what the reference quantizer gives."""

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from fp8core.experiments.pulled_number import ROWS, K, Scales, pulled, recorded
from fp8core.linear import FPROP, WGRAD, Matmul
from fp8core.recipes import RECIPES
from pages.start.window import PER_POWER, PULL
from tests.browser.handles import at_rest, center, finger, lost_in, mouse
from tests.browser.looks import becomes, in_the_end, settled

pytestmark = pytest.mark.browser

HANDLE, ALONG = ".handle", ".along"
NUMBER = 12
NOTICE = ".st-key-view_notice"


def case(
    step: int,
    scales: Scales = Scales.ONE,
    index: int = NUMBER,
    recipe: str = "per_tensor_e4m3",
    matmul: Matmul = WGRAD,
):
    numbers, spec = recorded(matmul), RECIPES[recipe].spec(matmul)
    return pulled(numbers, index, np.array([2.0 ** (step / PER_POWER)]), spec, scales)


def step_of(page) -> int:
    """The handle's step, as a screen reader hears it."""
    return int(page.locator(HANDLE).get_attribute("aria-valuenow")) + PULL.low


def expected_lost(*args, **kwargs) -> list[int]:
    return np.flatnonzero(case(*args, **kwargs).is_lost).tolist()


def pull_of(url: str) -> list[str]:
    return parse_qs(urlsplit(url).query).get(PULL.key, [])


def words(value: float) -> str:
    """An error as the picture says it."""
    if value == 0:
        return "0: all is lost"
    percent = 100 * abs(value - 1)
    rounded = f"{percent:.1f}" if percent < 9.95 else f"{percent:.0f}"
    return f"{rounded}% too {'small' if value < 1 else 'large'}"


def errors(of) -> list[str]:
    """The errors of the whole sums, as the picture says them."""
    return [words(ratio) for ratio in (of.sums / of.exact)[0, :, -1]]


def test_a_number_pulled_with_the_mouse_takes_the_window_along_and_the_address_follows(server, open_page):
    page = open_page(server.url + "/")
    page.wait_for_selector(HANDLE)
    assert lost_in(page) == expected_lost(0) == []
    x, y = center(page, HANDLE)
    with mouse(page, (x, y), (x, y - 150)):
        halfway = step_of(page)
        assert lost_in(page) == expected_lost(halfway), "while the button is down"
        page.mouse.move(x, y - 265, steps=6)
    last = step_of(page)
    assert last > halfway > 0
    page.wait_for_url(lambda url: pull_of(url) == [str(last)])
    settled(page)
    final = case(last)
    assert lost_in(page) == expected_lost(last) != []
    assert f"{final.is_lost.sum()} of {ROWS * K} become 0" in page.locator(NOTICE).inner_text()
    assert page.locator("text.error").all_text_contents() == errors(final)


def test_keys_pull_and_sum_and_a_click_takes_another_number(server, open_page):
    page = open_page(server.url + "/?start_scales=rows&start_pull=80")
    page.wait_for_selector(HANDLE)
    page.locator(HANDLE).focus()
    page.keyboard.press("ArrowUp")
    page.wait_for_url(lambda url: pull_of(url) == ["81"])
    assert lost_in(page) == expected_lost(81, Scales.ROWS)
    page.locator(ALONG).focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: "start_k=1" in url)
    first = (case(81, Scales.ROWS).sums / case(81, Scales.ROWS).exact)[0, 0, 0]
    assert page.locator("text.error").first.text_content() == words(first)
    page.locator('rect.hit[data-index="3"]').click()
    page.wait_for_url(lambda url: "start_number=3" in url)
    settled(page)
    assert lost_in(page) == expected_lost(0, Scales.ROWS, index=3)


def test_another_recipe_and_matmul_have_their_own_numbers(server, open_page):
    page = open_page(server.url + "/?start_format=mxfp8&start_matmul=fprop&start_pull=60")
    page.wait_for_selector("circle.dot.lost")
    assert lost_in(page) == expected_lost(60, recipe="mxfp8", matmul=FPROP) != []
    assert page.locator("text.error").all_text_contents() == errors(case(60, recipe="mxfp8", matmul=FPROP))


def test_numbers_stay_in_front_of_windows_that_come_later(server, open_page):
    page = open_page(server.url + "/")
    page.wait_for_selector(HANDLE)
    page.get_by_role("radio", name="A scale for each row").click()
    page.locator("rect.win").nth(2).wait_for()
    settled(page)
    page.mouse.click(*center(page, 'rect.hit[data-index="20"]'))
    page.wait_for_url(lambda url: "start_number=20" in url)


def test_the_address_keeps_where_a_pause_stopped_the_sum_and_play_goes_on_to_all_of_k(server, open_page):
    page = open_page(server.url + "/?start_k=1")
    along, button = page.locator(ALONG), page.locator(".play")
    button.click()
    in_the_end(page, lambda: along.get_attribute("aria-valuenow"), lambda at: at != "1")
    button.click()
    at = along.get_attribute("aria-valuenow")
    assert 1 < int(at) < K
    page.wait_for_url(lambda url: f"start_k={at}" in url)
    button.click()
    page.wait_for_url(lambda url: "start_k" not in url)
    assert along.get_attribute("aria-valuenow") == str(K)
    assert button.get_attribute("aria-label").startswith("Play")


def test_a_finger_pulls_on_a_telephone_and_the_page_does_not_scroll(server, open_page):
    page = open_page(server.url + "/?start_format=e2m1", theme="dark", width=390, height=844, touch=True)
    page.wait_for_selector(HANDLE)
    x, y = center(page, HANDLE)
    with finger(page, *((x, y - way) for way in range(0, 61, 10))):
        pass
    settled(page)
    last = step_of(page)
    assert last > 8
    becomes(page, lambda: lost_in(page), expected_lost(last, recipe="mxfp4"))
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0


def test_the_words_of_a_window_at_the_top_stand_clear_of_the_handle_on_a_telephone(server, open_page):
    page = open_page(server.url + "/?start_scales=rows&start_pull=92", width=390, height=844)
    page.wait_for_selector(HANDLE)
    title, handle = (page.locator(one).bounding_box() for one in ("text.title", f"{HANDLE} .gold"))
    assert title["y"] >= handle["y"] + handle["height"] or title["x"] >= handle["x"] + handle["width"]


def assert_pulled(page, point, number, index: int, scales: Scales = Scales.ONE) -> None:
    """Pull at a point: its number keeps its place under the pointer, and takes others along as it should."""
    (x, y), up = number, 240
    with mouse(page, point, (x, point[1] - up)):
        at_rest(page, page.locator(HANDLE))  # the window follows within a few frames, and the handle with it
        assert center(page, HANDLE) == pytest.approx((x, y - up), abs=2)
    page.wait_for_url(lambda url: f"start_number={index}" in url and pull_of(url))
    settled(page)
    expected = expected_lost(step_of(page), scales, index=index)
    assert expected
    becomes(page, lambda: lost_in(page), expected)


def test_any_number_can_be_pulled_and_keeps_its_place_under_the_pointer(server, open_page):
    page = open_page(server.url + "/")
    page.wait_for_selector(HANDLE)
    x, y = center(page, "circle.dot >> nth=20")
    assert_pulled(page, (x, y + 8), (x, y), 20)


def test_a_hand_on_the_windows_edge_pulls_the_number_that_pins_it(server, open_page):
    page = open_page(server.url + "/?start_scales=rows")
    page.wait_for_selector(HANDLE)
    sizes = np.abs(recorded(WGRAD).a.astype(np.float64))[1]
    largest = K + int(sizes.argmax())
    left, right = (center(page, f"circle.dot >> nth={largest + side}") for side in (-1, 1))
    edge = page.locator("line.edge >> nth=1").bounding_box()
    x, y = (left[0] + right[0]) / 2, edge["y"] + edge["height"] / 2
    assert_pulled(page, (x + 0.6 * (right[0] - x), y), (x, y), largest, Scales.ROWS)
    page.get_by_role("radio", name="No scale").click()
    becomes(page, page.locator(".grip").count, 0)  # no number pins the window


def test_a_sum_that_is_near_0_on_the_way_has_no_percentage(server, open_page):
    page = open_page(server.url + "/?start_pull=88&start_k=4")
    page.wait_for_selector(HANDLE)
    assert abs(case(88).exact[0, 1, 3]) < 0.2 * abs(case(88).exact[0, 1, :4]).max()
    assert page.locator("text.error").nth(1).text_content() == "exact is near 0"
