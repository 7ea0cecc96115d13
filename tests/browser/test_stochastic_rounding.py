"""A reader drags, points and uploads; the pictures answer."""

import io
import re

import numpy as np
import pytest
from PIL import Image

from pages.stochastic_rounding.picture import MAX_BYTES
from tests.browser.looks import listening

pytestmark = pytest.mark.browser

PICTURES = '[data-testid="stImage"] img, [data-testid="stImageContainer"] img'


def sources(page) -> list[str]:
    return [image.get_attribute("src") for image in page.locator(PICTURES).all()]


def png(gray: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(gray).save(file, "PNG")
    return file.getvalue()


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


def test_an_uploaded_picture_replaces_the_mystery_and_a_bad_one_is_explained(server, open_page):
    page = open_page(server.url + "/stochastic_rounding", fresh=True)
    page.get_by_text("More controls").click()
    field = page.locator('input[type="file"]')
    good = png(np.full((60, 90), 188, np.uint8))
    largest = good + bytes(MAX_BYTES - len(good))
    field.set_input_files({"name": "gray.png", "mimeType": "image/png", "buffer": largest})
    page.get_by_text("Shown: gray.png, as 90 × 60 pixels").wait_for()
    field.set_input_files({"name": "bad.png", "mimeType": "image/png", "buffer": b"no"})
    page.get_by_text("“bad.png”: This is no PNG or JPEG picture").wait_for()
    page.get_by_text("Shown: gray.png, as 90 × 60 pixels").wait_for()
    field.set_input_files({"name": "big.png", "mimeType": "image/png", "buffer": largest + b"0"})
    page.get_by_text(re.compile("must be 5.0MB or smaller")).wait_for()
    assert page.locator('[data-testid="stException"]').count() == 0
