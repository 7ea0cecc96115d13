"""The class on a projector: question, a square for each answer, a second vote, and the truth."""

import math
import re

import pytest

from pages.kit.lesson.facts import truth_of
from pages.kit.lesson.library import library
from tests.browser.handles import at_rest
from tests.browser.looks import TELEPHONE, in_the_end, settled

pytestmark = pytest.mark.browser

STEP = "scaling.2"
SCREEN = (1280, 720)
PICTURE, LINE = ".st-key-class_picture .columns", ".columns em"


def test_an_answer_falls_into_its_place_and_the_truth_lights_up_for_all(fresh_server, open_page, chromium):
    teacher = open_page(
        f"{fresh_server.url}/classroom?present=true&step={STEP}", width=SCREEN[0], height=SCREEN[1]
    )
    teacher.get_by_label("Token").fill(fresh_server.token)
    teacher.get_by_role("button", name="Open the teacher's view").click()
    teacher.get_by_text("have answered").wait_for()
    # A profile of its own: a browser is one student.
    student = chromium.new_context(viewport={"width": TELEPHONE, "height": 844}, has_touch=True).new_page()
    # The address of the code leads to Start; who follows goes on to the question at once.
    student.goto(fresh_server.url)
    student.get_by_role("link", name="Your class is at").wait_for()
    teacher.get_by_role("button", name="Follow me").click()
    student.wait_for_url(f"**lesson={STEP}")
    settled(student)
    answer(student)
    assert student.locator(LINE).count() == 0
    squares = teacher.locator(f"{PICTURE} i")
    assert in_the_end(teacher, squares.count, lambda count: count == 1) == 1
    teacher.locator("h1").scroll_into_view_if_needed()
    for seen in ("h1", ".st-key-class_count", PICTURE, ".step-picture", ".st-key-class_join img"):
        box = at_rest(teacher, teacher.locator(seen).first)
        assert 0 <= box["y"] <= box["y"] + box["height"] <= SCREEN[1], seen
    teacher.locator(".step-picture").hover()
    teacher.mouse.wheel(0, 300)
    code = teacher.locator(".st-key-class_join img")
    assert in_the_end(teacher, lambda: code.bounding_box()["y"], lambda y: y < 0) < 0, "it covers nothing"
    assert round(teacher.locator(".st-key-class_join img").bounding_box()["width"]) == 100
    teacher.get_by_role("button", name="Vote again").click()
    student.get_by_text("The class votes again.").wait_for()
    settled(student)
    answer(student)
    teacher.get_by_text("1 of 1 have answered, after talking.").wait_for()
    teacher.get_by_role("button", name="Reveal the truth").click()
    for page in (teacher, student):
        page.locator(LINE).first.wait_for(state="attached")
        style = page.locator(LINE).first.get_attribute("style")
        assert float(re.search(r"[\d.]+", style)[0]) == pytest.approx(place_of_truth(), abs=0.1)
    student.context.close()


def answer(student) -> None:
    student.locator(".st-key-lesson_panel").get_by_role("slider").focus()
    student.keyboard.press("End")
    student.get_by_role("button", name="Lock my answer").click()
    student.get_by_text("Your answer is in.").wait_for()


def place_of_truth() -> float:
    """Percent of the logarithmic axis."""
    step = library().place(STEP).step
    low, high = step.predict.low, step.predict.high
    return 100 * math.log(truth_of(step) / low) / math.log(high / low)
