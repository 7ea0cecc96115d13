"""Every page names what one should have seen, and leads on."""

import pytest
from streamlit.testing.v1 import AppTest


def links(at: AppTest) -> dict[str, str]:
    """The links that lead to a page as it opens, and their words."""
    found = [link.proto for link in at.main.get("page_link")]
    return {link.page: link.label for link in found if not link.query_string}


def asked(name: str) -> str:
    return f"pages/{name}.py"


def test_a_page_leads_back_to_what_it_needs_and_on_to_the_next(open_app):
    found = links(open_app(asked("accumulation")))
    assert (found["formats"], found["live_gemm"]) == ("Formats", "Next: **Live GEMM** →")


@pytest.mark.parametrize("name", ["classroom", "glossary", "design"])
def test_a_page_that_ends_early_a_tool_and_the_last_page_lead_to_the_beginning(open_app, name):
    assert links(open_app(asked(name)))[""] == "Back to **Start**"


def test_the_first_page_leads_on_by_its_doors_alone(open_app):
    assert list(links(open_app())) == ["lesson", "tile_layouts", "sanity_check"]
