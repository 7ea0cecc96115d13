"""Every page can be read: axe finds nothing serious, and on a telephone no word of a chart is lost."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.looks import TELEPHONE, UNREADABLE, in_turn

pytestmark = pytest.mark.browser

PAGES = [
    "",
    "formats",
    "scaling",
    "stochastic_rounding",
    "rotations",
    "accumulation",
    "live_gemm",
    "benchmarks",
    "sanity_check",
]
GRAVE = {"serious", "critical"}
# Browsers themselves let the keyboard scroll a long formula or table, which axe does not see.
OPTIONS = {"resultTypes": ["violations"], "rules": {"scrollable-region-focusable": {"enabled": False}}}


@pytest.mark.parametrize(("path", "theme"), in_turn(PAGES))
def test_axe_finds_nothing_serious_and_headings_go_down_one_level_at_a_time(server, open_page, path, theme):
    page = open_page(f"{server.url}/{path}", theme=theme)
    page.locator('[data-testid="stVegaLiteChart"] svg').first.or_(page.locator("h1")).first.wait_for()
    page.wait_for_timeout(300)
    found = Axe().run(page, options=OPTIONS).response["violations"]
    told = [
        (rule["id"], node["html"][:120], node["failureSummary"][:300])
        for rule in found
        if rule["impact"] in GRAVE or rule["id"] == "heading-order"
        for node in rule["nodes"]
    ]
    assert told == []


@pytest.mark.parametrize(
    "path", ["", "accumulation?sum_show=curves", "benchmarks?bench_show=ratios", "scaling?scaling=delayed"]
)
def test_no_word_of_a_chart_is_cut_or_tiny_or_under_another_on_a_telephone(server, open_page, path):
    page = open_page(f"{server.url}/{path}", width=TELEPHONE)
    page.locator('[data-testid="stVegaLiteChart"] svg.marks').first.wait_for()
    page.wait_for_timeout(500)
    assert page.locator("svg.marks text").count() > 10
    assert page.evaluate(UNREADABLE) == []
    main = page.locator('[data-testid="stMain"]')
    assert main.evaluate("m => m.scrollWidth - m.clientWidth") <= 0
