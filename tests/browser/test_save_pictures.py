"""A chart is saved as it is on the screen, by the browser alone."""

import struct
import zlib
from xml.etree import ElementTree

import pytest

from tests.browser.looks import settled

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def saved(page, kind: str) -> bytes:
    """The file that a click brings."""
    with page.expect_download() as coming:
        page.get_by_role("button", name=f"Save as {kind}: The bits").click()
    assert coming.value.suggested_filename.endswith(f".{kind.lower()}")
    return coming.value.path().read_bytes()


def chunks(png: bytes) -> dict[bytes, bytes]:
    """What a PNG holds, by the names of its parts; parts of one name are one."""
    found: dict[bytes, bytes] = {}
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        name = png[at + 4 : at + 8]
        found[name] = found.get(name, b"") + png[at + 8 : at + 8 + length]
        at += length + 12
    return found


def test_svg_and_png_hold_the_picture_on_its_dark_ground(server, open_page):
    page = open_page(f"{server.url}/formats?number=0x38", theme="dark", fresh=True)
    svg = page.locator('[data-testid="stVegaLiteChart"] svg').first
    svg.wait_for()
    settled(page)
    box = svg.bounding_box()
    words = [word for word in svg.locator("text").all_text_contents() if word.strip()]
    ground = page.evaluate("() => getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    page.get_by_role("button", name="Share").click()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    drawn = ElementTree.fromstring(saved(page, "SVG"))
    assert drawn.tag == f"{SVG}svg"
    assert (float(drawn.get("width")), float(drawn.get("height"))) == (box["width"], box["height"])
    assert drawn[0].tag == f"{SVG}rect"
    assert drawn[0].get("fill") == ground
    texts = drawn.iter(f"{SVG}text")
    assert [(text.text or "").strip() for text in texts if (text.text or "").strip()] == words
    assert all("Source" in text.get("font-family") for text in drawn.iter(f"{SVG}text"))

    png = saved(page, "PNG")
    assert png.startswith(SIGNATURE)
    parts = chunks(png)
    width, height, depth, color = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    assert (width, height) == (round(2 * box["width"]), round(2 * box["height"]))
    assert (depth, color) == (8, 6)
    first_row = zlib.decompress(parts[b"IDAT"])[1:]
    assert f"rgb({', '.join(map(str, first_row[:3]))})" == ground
    assert first_row[3] == 255
    assert all(url.startswith((server.url, "blob:", "data:")) for url in asked)
