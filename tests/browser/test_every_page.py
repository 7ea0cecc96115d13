"""Every section of every page can be read: axe finds nothing serious, nothing is wider than the page, and no
word of a chart is lost or faint. All of it comes from the server itself.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from pages.kit.widgets import Choice
from pages.sections.accumulation.controls import SHOW as ACCUMULATION
from pages.sections.benchmarks.controls import SHOW as BENCHMARKS
from pages.sections.design.controls import SHOW as DESIGN
from pages.sections.differences.controls import SHOW as DIFFERENCES
from pages.sections.formats.controls import SHOW as FORMATS
from pages.sections.fused.controls import SHOW as FUSED
from pages.sections.loss.controls import SHOW as LOSS
from pages.sections.outliers.controls import SHOW as OUTLIERS
from pages.sections.rotations.controls import SHOW as ROTATIONS
from pages.sections.scaling.controls import SHOW as SCALING
from pages.sections.stochastic.controls import PART as STOCHASTIC
from pages.sections.tiles.controls import SHOW as TILES
from pages.sections.why.controls import SHOW as WHY
from tests.browser.looks import STRUCK, TELEPHONE, THEMES, UNREADABLE, in_the_end, settled
from tests.sweeps import exhaustive, one_in

pytestmark = pytest.mark.browser

SECTIONS: dict[str, Choice | None] = {
    "": None,
    "tile_layouts": TILES,
    "compare_recipes": DIFFERENCES,
    "formats": FORMATS,
    "scaling": SCALING,
    "stochastic_rounding": STOCHASTIC,
    "rotations": ROTATIONS,
    "accumulation": ACCUMULATION,
    "outliers": OUTLIERS,
    "design": DESIGN,
    "live_gemm": None,
    "benchmarks": BENCHMARKS,
    "fused": FUSED,
    "loss": LOSS,
    "sanity_check": None,
    "glossary": None,
    "why_fp8": WHY,
    "lesson": None,
    "classroom": None,
}
"""A page's address, and the control of its sections."""
LOOKS = [(path, THEMES[place % len(THEMES)]) for place, path in enumerate(SECTIONS)]
OTHER_LOOKS = {path or "start": (path, next(one for one in THEMES if one != theme)) for path, theme in LOOKS}
WIDTHS = (1280, 800)
"""A laptop's screen and the narrowest that has the sidebar beside the page."""
DRAW_MS = 30_000
REDRAW_MS = 300
GRAVE = {"serious", "critical"}
# Browsers themselves let the keyboard scroll a long formula or table, which axe does not see.
OPTIONS = {"resultTypes": ["violations"], "rules": {"scrollable-region-focusable": {"enabled": False}}}
COLORS_ONLY = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}
UNDRAWN = """() => [...document.querySelectorAll('[data-testid="stVegaLiteChart"]')]
    .filter(place => !(place.querySelector('svg.marks')?.getBoundingClientRect().height > 60)).length"""
INKS = """() => [...document.querySelectorAll('svg g.mark-text text')]
    .filter(text => text.textContent.trim()).map(text => text.getAttribute('fill'))"""
SCROLLED = (
    "() => [...document.querySelectorAll('[data-testid=stVegaLiteChart]')]"
    ".filter(chart => chart.clientWidth > document.documentElement.clientWidth).map(chart => chart.innerText)"
)
"""The charts that are wider than the window."""
OVERHANG = (
    "() => {const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth}"
)


@dataclass(frozen=True)
class Opened:
    """A page in the browser, and the control of its sections."""

    page: Page
    sections: Choice | None
    server: str
    asked: list[str]
    """The addresses of all requests and websockets so far."""
    warned: list[str]
    """The warnings of Vega so far: of what it drops or changes in a chart."""

    def each_section(self, narrow: int) -> Iterator[str]:
        """Show one section after the other, as a reader does; those at odd places, or even ones, narrow."""
        options = self.sections.options if self.sections else {"": ""}
        for place, (value, label) in enumerate(options.items()):
            self.page.set_viewport_size({"width": WIDTHS[(place + narrow) % 2], "height": 900})
            if label:
                self._open(value, label)
            yield value

    def _open(self, value: str, label: str) -> None:
        button = self.page.get_by_role("radio", name=label, exact=True).first
        if button.get_attribute("aria-checked") != "true":
            button.click()
            self.page.wait_for_url(lambda url: self._shows(url, value))
            settled(self.page)

    def _shows(self, url: str, value: str) -> bool:
        named = f"{self.sections.key}={value}" in url
        return named or (value == self.sections.default and f"{self.sections.key}=" not in url)


@pytest.fixture(scope="module", params=LOOKS, ids=lambda look: look[0] or "start")
def opened(request, server, themed) -> Iterator[Opened]:
    """Each page, opened once."""
    path, theme = request.param
    page = themed(theme).new_page()
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    asked: list[str] = []
    warned: list[str] = []
    page.on("console", lambda said: warned.append(said.text) if said.text.startswith("WARN") else None)
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url.replace("ws", "http", 1)))
    page.goto(f"{server.url}/{path}")
    settled(page)
    page.locator('[data-testid="stVegaLiteChart"] svg').first.or_(page.locator("h1")).first.wait_for()
    yield Opened(page, SECTIONS[path], server.url, asked, warned)
    page.close()


def test_axe_finds_nothing_serious_and_headings_go_down_one_level_at_a_time(opened):
    opened.page.wait_for_timeout(300)
    assert in_the_end(opened.page, lambda: grave(opened.page, OPTIONS), lambda found: not found) == []


@pytest.mark.parametrize(("path", "theme"), one_in(4, OTHER_LOOKS))
def test_words_stand_out_in_the_other_theme_as_well(server, open_page, path, theme):
    page = open_page(f"{server.url}/{path}", theme=theme)
    assert in_the_end(page, lambda: grave(page, COLORS_ONLY), lambda found: not found) == []


def grave(page: Page, options: dict) -> list[tuple[str, str, str]]:
    """What axe finds: the rule, the place and the reason."""
    return [
        (rule["id"], node["html"][:120], node["failureSummary"][:300])
        for rule in Axe().run(page, options=options).response["violations"]
        if rule["impact"] in GRAVE or rule["id"] == "heading-order"
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("narrow", [0, pytest.param(1, marks=exhaustive)], ids=["odd", "even"])
def test_every_section_fits_the_page_and_its_words_can_be_read(opened, narrow):
    """Every other section is opened on the narrow screen, and drawn at its width: no chart is resized."""
    page = opened.page
    for place, section in enumerate(opened.each_section(narrow)):
        page.wait_for_timeout(REDRAW_MS)
        page.wait_for_function(f"({UNDRAWN})() === 0", timeout=DRAW_MS)
        assert overhang(page) <= 0, (section, place)
        assert unreadable(page) == [], (section, place)
        assert page.locator('[data-testid="stException"]').count() == 0
        assert opened.warned == [], (section, place)
        if opened.sections is TILES:  # the one page whose charts have words on the page's own ground only
            ground = page.evaluate("() => getComputedStyle(document.querySelector('.stApp')).backgroundColor")
            inks = {ink: contrast(ink, ground) for ink in set(page.evaluate(INKS))}
            assert {ink: stands_out for ink, stands_out in inks.items() if stands_out < 4.5} == {}, section


def test_no_page_asks_anything_of_any_other_machine(opened):
    """Every section has been shown by now. The network is cut, so one that needed it would lack something."""
    own = (opened.server, "data:", "blob:")
    assert any("/_stcore/stream" in url for url in opened.asked)
    assert [url for url in opened.asked if not url.startswith(own)] == []
    opened.page.evaluate("fetch('http://elsewhere.example/').catch(() => 0)")
    assert [url for url in opened.asked if not url.startswith(own)] == ["http://elsewhere.example/"]


@pytest.mark.parametrize(
    "path",
    [
        "tile_layouts",
        "accumulation?sum_show=curves",
        "benchmarks?bench_show=ratios",
        "scaling?scaling=delayed",
        "design?design_from=nvfp4",
        "rotations?rotations_size=16&rotations_rest=zero&rotations_outliers=8",
    ],
)
def test_no_word_of_a_chart_is_cut_or_tiny_or_under_another_on_a_telephone(server, open_page, path):
    page = open_page(f"{server.url}/{path}", width=TELEPHONE)
    page.locator('[data-testid="stVegaLiteChart"] svg.marks').first.wait_for()
    page.wait_for_timeout(500)
    assert page.locator("svg.marks text").count() > 10
    assert unreadable(page) == []
    assert overhang(page) <= 0


def test_no_label_of_an_axis_lies_on_a_mark_on_a_telephone(server, open_page):
    page = open_page(f"{server.url}/compare_recipes?differ_show=size", width=TELEPHONE)
    page.locator('[data-testid="stVegaLiteChart"] svg.marks').first.wait_for(timeout=DRAW_MS)
    page.wait_for_timeout(REDRAW_MS)
    assert page.locator("svg.marks text", has_text="%").count() > 2
    assert page.evaluate(STRUCK) == []


@pytest.mark.parametrize(
    "path", ["compare_recipes?differ_show=size", "formats?formats=run", "why_fp8?why_show=history"]
)
def test_vega_drops_nothing_of_a_chart_that_is_computed(server, open_page, path):
    page, warned = open_page("about:blank", wait=False), []
    page.on("console", lambda said: warned.append(said.text) if said.text.startswith("WARN") else None)
    page.goto(f"{server.url}/{path}")
    page.locator('[data-testid="stVegaLiteChart"] svg.marks').first.wait_for(timeout=DRAW_MS)
    settled(page)
    assert warned == []


@pytest.mark.parametrize("path", ["fused", "benchmarks"])
def test_bars_are_seen_on_a_telephone_without_scrolling_to_them(server, open_page, path):
    page = open_page(f"{server.url}/{path}", width=TELEPHONE)
    page.locator('[data-testid="stVegaLiteChart"] svg.marks').last.wait_for()
    assert unreadable(page) == []
    assert page.evaluate(SCROLLED) == []


def unreadable(page) -> list[str]:
    """The words that cannot be read once all is drawn."""
    return in_the_end(page, lambda: page.evaluate(UNREADABLE), lambda found: not found)


def overhang(page) -> float:
    """Pixels that the page is wider than its window once all is drawn."""
    return in_the_end(page, lambda: page.evaluate(OVERHANG), lambda pixels: pixels <= 0)


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    """Relative luminance of `#rrggbb` or `rgb(r, g, b)`."""
    if color.startswith("#"):
        parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    else:
        parts = [int(part) for part in re.findall(r"\d+", color)[:3]]
    linear = [p / 255 / 12.92 if p <= 10 else math.pow((p / 255 + 0.055) / 1.055, 2.4) for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
