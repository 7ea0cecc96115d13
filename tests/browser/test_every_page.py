"""Every section of every page can be read: axe finds nothing serious, nothing is wider than the page, and no
word of a chart is lost or faint. All of it comes from the server itself.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page

from pages.accumulation.controls import SHOW as ACCUMULATION
from pages.benchmarks.controls import SHOW as BENCHMARKS
from pages.compare_recipes.controls import SHOW as DIFFERENCES
from pages.design.controls import SHOW as DESIGN
from pages.formats.controls import SHOW as FORMATS
from pages.fused.controls import SHOW as FUSED
from pages.kit.widgets import Choice
from pages.loss.controls import SHOW as LOSS
from pages.outliers.controls import SHOW as OUTLIERS
from pages.rotations.controls import SHOW as ROTATIONS
from pages.scaling.controls import SHOW as SCALING
from pages.stochastic_rounding.controls import SHOW as STOCHASTIC
from pages.tile_layouts.controls import SHOW as TILES
from pages.why_fp8.controls import SHOW as WHY
from tests.browser.axe import grave
from tests.browser.looks import DRAW_MS, STRUCK, TELEPHONE, THEMES, UNREADABLE, in_the_end, settled
from tests.browser.visits import Tab, drawn, tabs
from tests.sweeps import exhaustive, some_cases

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
# Browsers themselves let the keyboard scroll a long formula or table, which axe does not see.
OPTIONS = {"rules": {"scrollable-region-focusable": {"enabled": False}}}
COLORS_ONLY = {"runOnly": ["color-contrast"]}
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

    tab: Tab
    sections: Choice | None

    @property
    def page(self) -> Page:
        return self.tab.page

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


@pytest.fixture(scope="module")
def tab(server, themed) -> Iterator[Callable[..., Tab]]:
    """The tab of a theme and a width, in which one page is shown after the other."""
    with tabs(themed, server.url) as of_look:
        yield of_look


@pytest.fixture(scope="module", params=LOOKS, ids=lambda look: look[0] or "start")
def opened(request, tab) -> Opened:
    """Each page, opened once."""
    path, theme = request.param
    own = tab(theme=theme)
    own.visit(path)
    return Opened(own, SECTIONS[path])


def test_axe_finds_nothing_serious_and_headings_go_down_one_level_at_a_time(opened):
    assert in_the_end(opened.page, lambda: grave(opened.page, OPTIONS), lambda found: not found) == []


@pytest.mark.parametrize(("path", "theme"), some_cases(4, OTHER_LOOKS))
def test_words_stand_out_in_the_other_theme_as_well(tab, path, theme):
    page = tab(theme=theme).visit(path)
    assert in_the_end(page, lambda: grave(page, COLORS_ONLY), lambda found: not found) == []


@pytest.mark.parametrize("narrow", [0, pytest.param(1, marks=exhaustive)], ids=["odd", "even"])
def test_every_section_fits_the_page_and_its_words_can_be_read(opened, narrow):
    """Every other section is opened on the narrow screen, and drawn at its width: no chart is resized."""
    page = opened.page
    for place, section in enumerate(opened.each_section(narrow)):
        drawn(page)
        assert overhang(page) <= 0, (section, place)
        assert unreadable(page) == [], (section, place)
        assert page.locator('[data-testid="stException"]').count() == 0
        assert opened.tab.warned == [], (section, place)
        if opened.sections is TILES:  # the one page whose charts have words on the page's own ground only
            ground = page.evaluate("() => getComputedStyle(document.querySelector('.stApp')).backgroundColor")
            inks = {ink: contrast(ink, ground) for ink in set(page.evaluate(INKS))}
            assert {ink: stands_out for ink, stands_out in inks.items() if stands_out < 4.5} == {}, section


def test_no_page_asks_anything_of_any_other_machine(opened):
    """Every section has been shown by now. The network is cut, so one that needed it would lack something."""
    tab = opened.tab
    own = (tab.server, "data:", "blob:")
    assert any("/_stcore/stream" in url for url in tab.sockets)
    assert [url for url in (*tab.sockets, *tab.asked) if not url.startswith(own)] == []
    tab.page.evaluate("fetch('http://elsewhere.example/').catch(() => 0)")
    assert [url for url in tab.asked if not url.startswith(own)] == ["http://elsewhere.example/"]


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
def test_no_word_of_a_chart_is_cut_or_tiny_or_under_another_on_a_telephone(tab, path):
    page = tab(width=TELEPHONE).visit(path)
    page.locator('[data-testid="stVegaLiteChart"] svg.marks').first.wait_for()
    assert page.locator("svg.marks text").count() > 10
    assert unreadable(page) == []
    assert overhang(page) <= 0


def test_no_label_of_an_axis_lies_on_a_mark_on_a_telephone(tab):
    page = tab(width=TELEPHONE).visit("compare_recipes?differ_show=size")
    page.locator('[data-testid="stVegaLiteChart"] svg.marks').first.wait_for(timeout=DRAW_MS)
    drawn(page)
    assert page.locator("svg.marks text", has_text="%").count() > 2
    assert page.evaluate(STRUCK) == []


@pytest.mark.parametrize(
    "path", ["compare_recipes?differ_show=size", "formats?formats=run", "why_fp8?why_show=history"]
)
def test_vega_drops_nothing_of_a_chart_that_is_computed(tab, path):
    of_page = tab()
    page = of_page.visit(path)
    page.locator('[data-testid="stVegaLiteChart"] svg.marks').first.wait_for(timeout=DRAW_MS)
    settled(page)
    drawn(page)
    assert of_page.warned == []


@pytest.mark.parametrize("path", ["fused", "benchmarks"])
def test_bars_are_seen_on_a_telephone_without_scrolling_to_them(tab, path):
    page = tab(width=TELEPHONE).visit(path)
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
