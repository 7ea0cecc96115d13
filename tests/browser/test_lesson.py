"""A lesson beside the real page, on a laptop and on a telephone: read, predict, reveal, go on, come back."""

import pytest

from tests.browser.axe import grave
from tests.browser.looks import TELEPHONE, in_the_end, settled
from tests.sweeps import some_cases

pytestmark = pytest.mark.browser

PANEL = ".st-key-lesson_panel"
LOOKS = {"telephone": (TELEPHONE, "dark"), "laptop": (1280, "light")}


@pytest.mark.parametrize(("width", "theme"), some_cases(2, LOOKS))
def test_two_steps_are_predicted_by_keyboard_and_stay_so(server, open_page, width, theme):
    page = open_page(f"{server.url}/?lesson=scaling.1", width=width, theme=theme)
    page.wait_for_url("**/scaling?*scaling_input=gaussian*")
    settled(page)
    assert in_the_end(page, lambda: overlap(page, width), lambda found: not found) == {}
    assert page.locator(".st-key-story_pages").count() == 0
    page.locator(PANEL).get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("became zero", exact=False).wait_for()
    settled(page)
    assert "Right." in in_the_end(page, lambda: focused(page), lambda text: "Right." in text)
    page.get_by_role("button", name="Next").click()
    title = "Drag the scale"
    assert in_the_end(page, lambda: focused(page), lambda text: text == title) == title
    settled(page)
    page.locator(PANEL).get_by_role("slider").focus()
    page.keyboard.press("End")
    page.get_by_role("button", name="Lock my answer").click()
    page.get_by_text("too high by a factor of", exact=False).wait_for()
    page.locator(f"{PANEL} .guess").last.wait_for()
    way = page.get_by_role("button", name="Next").bounding_box()
    assert way["y"] + way["height"] <= page.viewport_size["height"], "the way on is in sight"
    page.reload()
    page.get_by_text("too high by a factor of", exact=False).wait_for()
    settled(page)
    assert in_the_end(page, lambda: overlap(page, width), lambda found: not found) == {}
    assert in_the_end(page, lambda: grave(page, {}), lambda found: not found) == []


def test_on_a_telephone_the_question_and_the_picture_come_first_and_a_link_leads_to_the_answer(
    server, open_page
):
    page = open_page(f"{server.url}/scaling?lesson=scaling.4", width=390, height=844)
    panel, chart = page.locator(PANEL), page.locator(".st-key-view_stage svg.marks")
    chart.wait_for()
    question = page.locator(".st-key-lesson_first").get_by_text("Now amax grows", exact=False).bounding_box()
    assert question["y"] + question["height"] <= chart.bounding_box()["y"] <= 844 / 2
    page.get_by_role("link", name="Answer").click()
    assert in_the_end(page, lambda: panel.bounding_box()["y"], lambda top: top < 100) < 100
    page.get_by_role("link", name="To the picture").click()
    assert in_the_end(page, lambda: page.locator("h1").bounding_box()["y"], lambda top: top >= 0) >= 0


def focused(page) -> str:
    """The words of what the keyboard is at."""
    return page.evaluate("document.activeElement === document.body ? '' : document.activeElement.textContent")


def overlap(page, width: int) -> dict[str, float]:
    """The pixels by which the panel covers the page, is beyond an edge, or makes the page too wide."""
    panel, main = page.locator(PANEL).bounding_box(), page.get_by_test_id("stMain").bounding_box()
    beside = panel["x"] + panel["width"] - main["x"]
    below = main["y"] + main["height"] - panel["y"]
    found = {"page": below if width == TELEPHONE else beside, "left edge": -panel["x"]}
    found["right edge"] = panel["x"] + panel["width"] - width
    for name in ("stMain", "stAppViewContainer"):
        found[name] = page.get_by_test_id(name).evaluate("box => box.scrollWidth - box.clientWidth")
    return {name: pixels for name, pixels in found.items() if pixels > 0}


def test_a_chapter_prints_whole_and_without_controls(server, open_page):
    page = open_page(f"{server.url}/lesson?chapter=scaling&print=true", theme="dark")
    last = page.get_by_text("?lesson=scaling.5")
    last.wait_for()
    page.emulate_media(media="print")
    for gone in ("stSidebar", "stHeader", "stToolbar", "stSelectbox"):
        page.get_by_test_id(gone).first.wait_for(state="hidden")  # the style sheet may come late
    main = page.get_by_test_id("stMain")
    assert main.evaluate("box => getComputedStyle(box).overflowY") == "visible", (
        "nothing waits below a scrollbar"
    )
    assert last.evaluate("text => getComputedStyle(text).color") == "rgb(0, 0, 0)", "dark pages print too"
