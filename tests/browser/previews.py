"""Draw the card of each page for a pasted link: `python -m tests.browser.previews [PAGE …]`.

A card has the page's Notice as its headline and the page's picture, both as the page opens. Cards and
findings go to `assets/previews`.
"""

import base64
import io
import json
import shutil
import sys
from html import escape
from pathlib import Path

import streamlit
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from pages.kit.server.heads import FINDINGS, HEIGHT, PREVIEWS, START, WIDTH
from pages.kit.story import APP_NAME, question
from tests.browser.conftest import BROWSERS, FLAGS
from tests.browser.looks import UNMARKED, settled
from tests.serving import serving

COLORS = 200
OPENING = {START: "start_pull=88"}
"""The state of a page whose picture says little before a hand has moved it."""
OF_THIS_MACHINE = {"classroom": False, "sanity_check": True}
"""Pages whose Notice is about this machine: the question is their headline. True where the picture stays."""
PICTURE, PAGE = ".st-key-view_stage", '[data-testid="stMainBlockContainer"]'
LONG = 90
"""Letters from which on a headline is smaller."""
CARD = """<style>
@font-face {{ font-family: Sans; font-weight: 200 900; src: url(data:font/woff2;base64,{font}) }}
body {{ margin: 0; width: 1200px; height: 630px; box-sizing: border-box; padding: 36px 56px 24px;
  display: flex; flex-direction: column; gap: 18px; font-family: Sans; color: #14181f; background: #fff; }}
h1 {{ font-size: {size}px; line-height: 1.15; font-weight: 650; margin: 0; text-wrap: balance; }}
div {{ flex: 1; min-height: 0; background: url(data:image/png;base64,{picture}) left center / contain
  no-repeat; }}
p {{ margin: 0; font-size: 24px; color: #525c6a; display: flex; justify-content: space-between; }}
</style><h1>{finding}</h1><div></div><p><span>{question}</span><b>{site}</b></p>"""


def font() -> bytes:
    """The typeface of the app."""
    (file,) = Path(streamlit.__file__).parent.glob("static/static/media/SourceSansVF-Upright*.woff2")
    return file.read_bytes()


def card(browser: Browser, page: Page, name: str) -> str:
    """Draw a page's card and return its finding."""
    asked = question(f"pages/{name}.py")
    notice = page.locator(".st-key-view_notice p")
    is_own = name in OF_THIS_MACHINE or not notice.count()
    finding = asked if is_own else notice.first.inner_text()
    clip = page.locator(PICTURE if page.locator(PICTURE).count() else PAGE).bounding_box()
    shot = page.screenshot(
        style=UNMARKED, clip=clip | {"height": min(clip["height"], page.viewport_size["height"] - clip["y"])}
    )
    blank = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    blank.set_content(
        CARD.format(
            font=base64.b64encode(font()).decode(),
            size=42 if len(finding) > LONG else 50,
            finding=escape(finding),
            picture=base64.b64encode(shot).decode() if OF_THIS_MACHINE.get(name, True) else "",
            question=escape(asked) if finding != asked else "",
            site=APP_NAME,
        )
    )
    blank.evaluate("document.fonts.ready")
    drawn = Image.open(io.BytesIO(blank.screenshot())).convert("RGB")
    drawn.quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        PREVIEWS / f"{name}.png", optimize=True
    )
    blank.close()
    return finding


def main(names: list[str]) -> None:
    """Draw the cards of these pages, or of all."""
    every = sorted(path.stem for path in Path("pages").glob("*.py"))
    known = json.loads(FINDINGS.read_text(encoding="utf-8")) if FINDINGS.exists() else {}
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with serving() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        tab = browser.new_page(viewport={"width": 1280, "height": 720})
        for name in names or every:
            tab.goto(f"{server.url}/{'' if name == START else name}?present=true&{OPENING.get(name, '')}")
            settled(tab)
            tab.wait_for_timeout(2500)
            known[name] = card(browser, tab, name)
        browser.close()
    text = json.dumps({name: known[name] for name in every if name in known}, indent=1, ensure_ascii=False)
    FINDINGS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
