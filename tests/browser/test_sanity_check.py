"""Sanity check in a browser: from a click to a verdict, through the real worker."""

import json
import re
from pathlib import Path

import pytest

from tests.browser.looks import settled, unfold

pytestmark = pytest.mark.browser

RESULT_MS = 120_000
VERDICT = re.compile(r"FP8 works on this GPU: |This machine cannot run FP8: ")


def main(page):
    return page.get_by_test_id("stMainBlockContainer")


@pytest.mark.exhaustive  # half a minute: a whole check in the interpreter
def test_a_click_gives_a_verdict_that_the_next_reader_sees(server, open_page):
    page = open_page(server.url + "/sanity_check?check=quick", fresh=True)
    main(page).get_by_role("button", name=re.compile("^Run")).click()
    main(page).get_by_role("button", name="Stop").wait_for(timeout=RESULT_MS)
    page.get_by_text(VERDICT).first.wait_for(timeout=RESULT_MS)
    settled(page)
    row = page.locator(".checks section", has_text="Does the same input give the same bits every time?")
    assert row.get_by_role("img", name="every matmul: pass").count() == 1
    unfold(page, "How we know")
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    assert download.value.suggested_filename == "fp8_check.json"
    assert json.loads(Path(download.value.path()).read_text())

    other = open_page(server.url + "/sanity_check", fresh=True)
    assert other.get_by_text(VERDICT).first.is_visible()
    unfold(other, "More controls")
    other.locator('[data-testid="stRadio"] label', has_text="quick").first.click()
    other.wait_for_url(re.compile(r"run=\d+$"))


@pytest.mark.exhaustive
def test_a_check_that_is_stopped_keeps_its_squares(server, open_page):
    page = open_page(server.url + "/sanity_check", fresh=True)
    main(page).get_by_role("button", name=re.compile("^Run")).click()
    main(page).get_by_role("button", name="Stop").wait_for(timeout=RESULT_MS)
    page.get_by_role("img", name=re.compile(": pass$")).first.wait_for(timeout=RESULT_MS)
    main(page).get_by_role("button", name="Stop").click()
    page.get_by_text(re.compile("^Not finished: ")).first.wait_for(timeout=RESULT_MS)
    settled(page)
    assert page.get_by_role("img", name=re.compile(": not run$")).first.is_visible()
