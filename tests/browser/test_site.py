"""The site without a server is a small folder on a disk. Its pictures answer a hand as the pages do."""

import re

import pytest

from fp8core.experiments.pulled_number import Scales
from fp8core.linear import WGRAD, LayerShape
from fp8core.recipes import RECIPES
from pages.kit.shared_controls import INPUT, SEED
from pages.kit.site.__main__ import build
from pages.start import window
from pages.tile_layouts.facts import COLUMN, ROW
from pages.tile_layouts.matmul import cases, wrong_notice
from tests.browser.handles import pull
from tests.browser.looks import becomes

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

MOST_BYTES = 3_000_000
LIVE = "https://fp8.example.org/app"
NAMESPACES = re.compile(r"https?://www\.w3\.org/")
OWN = ("file:", "data:", "blob:")
WIDTHS = {"laptop": 1280, "telephone": 390}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The whole site, as `make site` writes it."""
    pytest.importorskip("vl_convert")
    folder = tmp_path_factory.mktemp("site")
    build(folder, LIVE)
    return folder


@pytest.fixture
def open_site(chromium, site):
    """A function that opens the site from the disk; nothing else may be asked for, and nothing may fail."""
    pages, faults = [], []

    def open_(width: int = WIDTHS["laptop"], **context):
        page = chromium.new_context(viewport={"width": width, "height": 844}, **context).new_page()
        pages.append(page)
        page.on("request", lambda one: one.url.startswith(OWN) or faults.append(one.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"file://{site}/index.html")
        return page

    yield open_
    for page in pages:
        page.context.close()
    assert faults == []


def test_the_site_is_small_and_names_no_foreign_host(site):
    files = list(site.iterdir())
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES
    for file in files:
        if file.suffix in (".html", ".css", ".js") and file.name != "vega.js":
            text = NAMESPACES.sub("", file.read_text(encoding="utf-8")).replace(LIVE, "")
            assert not re.findall("https?://[^ ]{0,40}", text), file.name


def test_every_picture_is_drawn_under_its_question(open_site):
    page = open_site()
    sections = page.locator("section:has(.picture)").all()
    assert len(sections) >= 12
    for section in sections:
        section.scroll_into_view_if_needed()
        section.locator("svg.marks, canvas.marks, .stage svg, img").first.wait_for()
        assert section.locator("h1, h2").inner_text().endswith("?")
        assert section.locator(".live").get_attribute("href").startswith(LIVE)


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_the_first_picture_says_what_the_page_says_of_a_pulled_number(open_site, width):
    page = open_site(width)
    handle, finding = page.locator("#start .handle"), page.locator("#start .finding")
    pull(page, handle, 0, -260)

    def said(recipe: str, scales: Scales) -> str:
        scene = window.Scene(WGRAD, recipe, scales, window.NUMBER.default)
        return window.notice(scene, int(handle.get_attribute("aria-valuenow"))).replace("**", "")

    told = said(window.RECIPE.default, Scales.ONE)
    assert "none" not in told
    becomes(page, finding.inner_text, told)
    page.get_by_role("radio", name="A scale for each row").click()
    page.get_by_role("radio", name=RECIPES["mxfp4"].title).click()
    told = said("mxfp4", Scales.ROWS)
    becomes(page, finding.inner_text, told)


def test_a_handle_in_a_chart_moves_it_and_its_finding_follows(open_site):
    page = open_site(color_scheme="dark")
    section = page.locator("#scaling")
    section.scroll_into_view_if_needed()
    handle = section.locator(".handle")
    handle.wait_for()
    before, words = handle.get_attribute("aria-valuetext"), section.locator(".finding").inner_text()
    pull(page, handle, 400, 0)
    assert handle.get_attribute("aria-valuetext") != before
    assert section.locator(".finding").inner_text() != words


def test_turned_tiles_say_what_the_page_says_and_coins_fall_without_a_server(open_site):
    page = open_site()
    tiles = page.locator("#tile_layouts-wgrad")
    tiles.scroll_into_view_if_needed()
    tiles.locator(".handle").press("Home")
    kind, seed = INPUT.default, SEED.default
    own, *_, last = cases(RECIPES["deepseek_v3"], WGRAD, kind, seed, LayerShape(4096, 4096, 14336))
    told = wrong_notice(last, own.spec, ROW.default, COLUMN.default).replace("**", "")
    finding = tiles.locator(".finding").inner_text
    becomes(page, finding, told)
    coins = page.locator("#stochastic_rounding")
    coins.scroll_into_view_if_needed()
    coins.locator(".play").click()
    coins.get_by_text("thrown 200 times").first.wait_for()
