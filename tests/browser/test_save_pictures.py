"""A page's picture is saved as it is on the screen, by the browser alone: a chart, a stage, and a card."""

import io
import re
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageColor

from pages.kit.charts.ink import DARK, LIGHT
from tests.browser.looks import THEMES, settled
from tests.sweeps import each, some_cases

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = ".st-key-view_stage svg.marks"
CARD = (1200, 630)
HEADLINE = 200
"""Pixels from above in which a card has its finding."""


def saved(page, kind: str) -> tuple[str, bytes]:
    """The name and the bytes of the file that a click on the page's own picture brings."""
    with page.expect_download() as coming:
        page.get_by_role("button", name=f"Save as {kind}: ").first.click()
    return coming.value.suggested_filename, coming.value.path().read_bytes()


def in_words(page) -> str:
    """The page's finding as the name of a file."""
    words = page.locator(".st-key-view_notice p").inner_text()
    whole = re.match(r".{0,60}(?=\s|$)", words)[0]
    return re.sub("[^a-z0-9]+", "-", whole.lower()).strip("-")


def colors(image: Image.Image) -> set[tuple[int, int, int]]:
    return {color for _, color in image.convert("RGB").getcolors(image.width * image.height)}


def test_svg_and_png_hold_the_picture_on_its_dark_ground(server, open_page):
    page = open_page(f"{server.url}/formats?number=0x38", theme="dark")
    page.locator(DRAWN).first.wait_for()
    settled(page)
    boxes = [one.bounding_box() for one in page.locator(DRAWN).all()]
    words = [word for word in page.locator(f"{DRAWN} text").all_text_contents() if word.strip()]
    page.get_by_role("button", name="Share").click()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    name, svg = saved(page, "SVG")
    assert name == f"{in_words(page)}.svg"
    drawn = ElementTree.fromstring(svg)
    assert drawn.tag == f"{SVG}svg"
    width, height = float(drawn.get("width")), float(drawn.get("height"))
    assert width >= max(box["width"] for box in boxes)
    assert height >= sum(box["height"] for box in boxes)
    assert drawn[0].tag == f"{SVG}rect"
    assert drawn[0].get("fill") == f"rgb{ImageColor.getrgb(DARK.page)}"
    texts = list(drawn.iter(f"{SVG}text"))
    assert [(text.text or "").strip() for text in texts if (text.text or "").strip()] == words
    assert all("Source" in text.get("font-family") for text in texts)

    name, png = saved(page, "PNG")
    assert name == f"{in_words(page)}.png"
    image = Image.open(io.BytesIO(png))
    assert image.size == (round(2 * width), round(2 * height))
    assert image.getpixel((0, 0)) == (*ImageColor.getrgb(DARK.page), 255)
    assert all(url.startswith((server.url, "blob:", "data:")) for url in asked)


@pytest.mark.parametrize("theme", some_cases(2, each(THEMES)))
def test_a_card_has_the_finding_and_the_stage_in_its_colors(server, open_page, theme):
    ink = {"light": LIGHT, "dark": DARK}[theme]
    page = open_page(f"{server.url}/?start_pull=88", theme=theme)
    page.locator(".stage circle").first.wait_for()
    page.get_by_role("button", name="Share").click()
    name, png = saved(page, "Card")
    assert name == f"{in_words(page)}-card.png"
    image = Image.open(io.BytesIO(png))
    assert image.size == CARD
    headline, below = image.crop((0, 0, CARD[0], HEADLINE)), image.crop((0, HEADLINE, *CARD))
    meant = {
        name: ImageColor.getrgb(getattr(ink, name))
        for name in ("page", "text", "win", "scale", "lost", "gold")
    }
    assert {meant["page"], meant["text"]} <= colors(headline)
    assert [name for name, color in meant.items() if color not in colors(below)] == []
