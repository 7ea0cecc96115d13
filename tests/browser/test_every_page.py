"""Every section of every page has its picture on the first screen and can be read: axe finds nothing serious,
nothing is wider than the page, no word of a chart is lost or faint. All of it comes from the server itself.
"""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page

from tests.browser.anatomy import LAPTOP, SHIFT_LIMIT, anatomy, change
from tests.browser.axe import grave
from tests.browser.looks import DRAW_MS, STRUCK, TELEPHONE, THEMES, UNREADABLE, in_the_end
from tests.browser.views import PAGES, View, views
from tests.browser.visits import Tab, drawn, tabs
from tests.contrast import contrast
from tests.sweeps import exhaustive, some_cases

pytestmark = pytest.mark.browser

LOOKS = {page: THEMES[place % len(THEMES)] for place, page in enumerate(PAGES)}
OTHER_LOOKS = {page: (page, next(one for one in THEMES if one != theme)) for page, theme in LOOKS.items()}
NARROW = 800
"""The narrowest screen that has the sidebar beside the page."""
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


ON_A_TELEPHONE = {
    "tile_layouts?show=overview": False,
    "accumulation?sum_show=curves": False,
    "benchmarks?bench_show=ratios": True,
    "scaling?scaling=delayed": False,
    "design?design_from=nvfp4": False,
    "rotations?rotations_size=16&rotations_rest=zero&rotations_outliers=8": False,
    "compare_recipes?differ_show=size": False,
    "fused": True,
}
"""Charts with many words; True for one that is seen without scrolling to its bars."""


@pytest.fixture(scope="module")
def tab(server, themed) -> Iterator[Callable[..., Tab]]:
    """The tab of a theme, in which one page is shown after the other."""
    with tabs(themed, server.url) as of_look:
        yield of_look


@pytest.fixture(scope="module", params=some_cases(9, {page: (page,) for page in LOOKS}))
def opened(request, tab) -> tuple[Tab, list[View]]:
    """Each page, opened once in one theme, and its views."""
    own = tab(theme=LOOKS[request.param], width=LAPTOP.width)
    own.visit(View(request.param).path)
    return own, views(request.param)


def test_axe_finds_nothing_serious_and_headings_go_down_one_level_at_a_time(opened):
    page = opened[0].page
    assert in_the_end(page, lambda: grave(page, OPTIONS), lambda found: not found) == []


@pytest.mark.parametrize(("path", "theme"), some_cases(12, OTHER_LOOKS))
def test_words_stand_out_in_the_other_theme_as_well(tab, path, theme):
    page = tab(theme=theme).visit(View(path).path)
    assert in_the_end(page, lambda: grave(page, COLORS_ONLY), lambda found: not found) == []


@pytest.mark.parametrize("narrow", [0, pytest.param(1, marks=exhaustive)], ids=["odd", "even"])
def test_every_section_has_its_picture_near_the_top_in_its_place_and_words_that_can_be_read(opened, narrow):
    """Every other section is opened on the narrow screen, and drawn at its width: no chart is resized."""
    tab, sections = opened
    page = tab.page
    for width, group in ((LAPTOP.width, sections[narrow::2]), (NARROW, sections[1 - narrow :: 2])):
        page.set_viewport_size({"width": width, "height": LAPTOP.height})
        drawn(page)
        for view, before in zip(group, [*group[:1], *group], strict=False):
            shift = change(page, view)
            if shift > SHIFT_LIMIT:  # a busy machine draws late
                change(page, before)
                shift = min(shift, change(page, view))
            assert overhang(page) <= 0, view
            assert unreadable(page) == [], view
            assert page.locator('[data-testid="stException"]').count() == 0
            assert tab.warned == [], view
            if width == LAPTOP.width:
                assert shift <= SHIFT_LIMIT, view
                assert anatomy(page).holds(LAPTOP), (view, anatomy(page))
            if view.page == "tile_layouts":  # the one page whose words stand on the page's own ground only
                assert {ink: seen for ink, seen in _contrasts(page).items() if seen < 4.5} == {}, view


def _contrasts(page: Page) -> dict[str, float]:
    """How far each color of the charts' words stands out from the page."""
    ground = page.evaluate("() => getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    return {ink: contrast(ink, ground) for ink in set(page.evaluate(INKS))}


def test_no_page_asks_anything_of_any_other_machine(opened):
    """Every section has been shown by now. The network is cut, so one that needed it would lack something."""
    tab, _ = opened
    own = (tab.server, "data:", "blob:")
    assert any("/_stcore/stream" in url for url in tab.sockets)
    assert [url for url in (*tab.sockets, *tab.asked) if not url.startswith(own)] == []
    tab.page.evaluate("fetch('http://elsewhere.example/').catch(() => 0)")
    assert [url for url in tab.asked if not url.startswith(own)] == ["http://elsewhere.example/"]


@pytest.mark.parametrize(
    ("path", "is_whole"),
    some_cases(4, {path: (path, is_whole) for path, is_whole in ON_A_TELEPHONE.items()}),
)
def test_no_word_of_a_chart_is_cut_or_tiny_or_under_another_on_a_telephone(tab, path, is_whole):
    page = tab(width=TELEPHONE).visit(path)
    page.locator('[data-testid="stVegaLiteChart"] svg.marks').last.wait_for(timeout=DRAW_MS)
    assert page.locator("svg.marks text").count() > 10
    assert unreadable(page) == []
    assert overhang(page) <= 0
    assert not is_whole or page.evaluate(SCROLLED) == []
    if "differ_show=size" in path:  # the labels of its axis stand inside
        assert page.evaluate(STRUCK) == []


def unreadable(page) -> list[str]:
    """The words that cannot be read once all is drawn."""
    return in_the_end(page, lambda: page.evaluate(UNREADABLE), lambda found: not found)


def overhang(page) -> float:
    """Pixels that the page is wider than its window once all is drawn."""
    return in_the_end(page, lambda: page.evaluate(OVERHANG), lambda pixels: pixels <= 0)
