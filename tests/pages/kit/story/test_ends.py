"""Every page names what one should have seen, and leads on."""

import pytest
from streamlit.testing.v1 import AppTest


def links(at: AppTest) -> dict[str, str]:
    """The links of a page's foot: where they lead, and their words."""
    return {link.proto.page: link.proto.label for link in at.main.get("page_link")}


def asked(name: str) -> str:
    return f"pages/{name}.py"


def test_a_page_leads_back_to_what_it_needs_and_on_to_the_next(open_app):
    at = open_app(asked("accumulation"))
    assert [*links(at)][-2:] == ["formats", "live_gemm"]
    assert links(at)["live_gemm"] == "Next: **Live GEMM** →"


def test_a_page_that_stops_early_leads_on_all_the_same(open_app):
    assert links(open_app(asked("classroom")))[""].startswith("Back to **Start**")


@pytest.mark.parametrize("name", ["glossary", "design"])
def test_a_tool_and_the_last_page_lead_to_the_beginning(open_app, name):
    assert list(links(open_app(asked(name))))[-1] == ""
