"""Live GEMM in a browser: from a click to a measured result, through the real worker."""

import re
from pathlib import Path

import pytest

from fp8core.experiments.element_sum import element_sum
from tests.browser.looks import listening, messages, settled, silent

pytestmark = pytest.mark.browser

RESULT_MS = 90_000
RESULT = re.compile("Triton's interpreter on this CPU|^GPU: ")
SMALL = "/live_gemm?recipe=mxfp8&matmul=wgrad&m=100&n=60&k=140&runs=1"


def stop_button(page):
    """The page's own Stop, not the one in Streamlit's header."""
    return page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Stop")


def test_a_click_runs_a_gemm_whose_result_survives_a_page_switch_in_an_app_without_torch(server, open_page):
    page = open_page(server.url + SMALL, fresh=True)
    sent = messages(page)
    listening(page)
    before = len(sent)
    page.get_by_role("button", name=re.compile("^Run ")).click()
    page.get_by_text(RESULT).first.wait_for(timeout=RESULT_MS)
    stop_button(page).wait_for(state="detached", timeout=RESULT_MS)
    settled(page)
    assert silent(page, lambda: len(sent), for_ms=2000) > before + 1, "polling stops when the run is over"
    assert re.search(r"3\.\d+% error", page.locator(".st-key-view_notice").inner_text())
    cells = page.locator('[data-testid="stVegaLiteChart"]').last
    cells.locator(".mark-rect.role-mark path").nth(200).hover()
    hover = page.locator("#vg-tooltip-element")
    hover.get_by_text("largest error here").wait_for()
    assert re.search(r"n\s*\d+", hover.inner_text())
    cells.locator(".mark-rect.role-mark path").nth(200).click()
    page.wait_for_url(re.compile("element="))
    element = re.search(r"element=(\d+)\.(\d+)", page.url)
    m, n = map(int, element.groups())
    found = element_sum("mxfp8", "wgrad", (100, 60, 140), "gaussian", 0, (m, n))
    sums = cells.locator("text", has_text=f"exact {found.exact[-1]:.3g}".replace("-", "−"))
    sums.wait_for(timeout=RESULT_MS)
    assert sums.text_content().startswith(f"Reference: {found.rounded[-1]:.3g}".replace("-", "−"))

    page.get_by_role("link", name="Tile layouts").first.click()
    page.wait_for_url(re.compile("recipe=mxfp8"))
    settled(page)
    page.get_by_role("link", name="Live GEMM").first.click()
    page.get_by_text(RESULT).first.wait_for(timeout=RESULT_MS)
    assert "k=140" in page.url
    libraries = Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8")
    assert "numpy" in libraries
    assert not re.search("libtorch|libtriton", libraries)
