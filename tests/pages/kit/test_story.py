"""The pages in the order of the story, and what each run has of its own of them."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.story import APP_NAME, Page
from tests.pages.conftest import TOP


def test_a_page_comes_after_pages_that_are_before_it():
    before = set()
    for name, after in re.findall(r'Page\("pages/(\w+)\.py", [^)]*?(?:after=\[(.*?)\])?\)', APP):
        assert set(re.findall(r'"(\w+)"', after)) <= before, name
        before.add(name)
    assert len(before) == len(TITLES)


APP = (TOP / "app.py").read_text(encoding="utf-8")
TITLES = re.findall(r'title="([^"]+)"', APP)


def test_every_page_is_linked_once_in_the_order_of_the_table(open_app):
    at = open_app("pages/sanity_check.py")
    assert at.sidebar.markdown[0].value == f"**{APP_NAME}**"
    assert [link.proto.label for link in at.sidebar.get("page_link")] == TITLES
    assert [one.value for one in at.sidebar.caption][:2] == ["Why", "Numbers"]


def test_beside_a_step_of_the_lesson_the_sidebar_is_the_lesson_s(open_app):
    at = open_app("pages/formats.py", lesson="floats.1")
    assert not at.exception
    assert at.sidebar.get("page_link") == []


def links(at: AppTest) -> dict[str, str]:
    """The links that lead to a page as it opens, and their words."""
    protos = [link.proto for link in at.main.get("page_link")]
    return {link.page: link.label for link in protos if not link.query_string}


def test_every_page_of_the_story_but_the_first_has_its_thread():
    without = [
        page for page in re.findall(r'Page\("(pages/\w+\.py)"(?!.*is_tool)', APP) if not Page(page, "").thread
    ]
    assert without == ["pages/start.py"]


def asked(name: str) -> str:
    return f"pages/{name}.py"


def test_a_page_leads_back_to_what_it_needs_and_on_to_the_next(open_app):
    pages = links(open_app(asked("accumulation")))
    bodies = [one.proto.body for one in open_app(asked("live_gemm")).get("html")]
    (thread,) = [body for body in bodies if 'class="fp8-thread"' in body]
    reason, to = pages["live_gemm"].split(" Next: ")
    assert (pages["formats"], to) == ("Formats", "**Live GEMM** →")
    assert reason in thread, "the next page takes up where this one ended"
    assert pages["loss"].endswith("Skip to **Does the loss notice?** →"), "Live GEMM is for kernel people"


@pytest.mark.parametrize("name", ["classroom", "glossary", "design"])
def test_a_page_that_ends_early_a_tool_and_the_last_page_lead_to_the_beginning(open_app, name):
    assert links(open_app(asked(name)))[""] == "Back to **Start**"


def test_the_first_page_leads_on_by_its_doors_alone(open_app):
    assert list(links(open_app())) == ["lesson", "sanity_check"], (
        "the door to Tile layouts takes the picture along"
    )
