"""Every page names what one should have seen, and leads on."""

import pytest
from streamlit.testing.v1 import AppTest


def links(at: AppTest) -> dict[str, str]:
    """The links of a page's two ends: where they lead, and their words."""
    found = [link.proto for link in at.main.get("page_link")]
    ends = [found[0], found[-1]] if len(found) > 1 else found
    return {link.page: link.label for link in ends}


def asked(name: str) -> str:
    return f"pages/{name}.py"


def test_a_page_leads_back_to_what_it_needs_and_on_to_the_next(open_app):
    at = open_app(asked("accumulation"))
    assert at.caption[0].value == "What goes wrong, and remedies · first see"
    assert list(links(at)) == ["formats", "live_gemm"]
    assert links(at)["live_gemm"].startswith("Next in the story **Live GEMM** What does this recipe cost")


def test_a_page_that_stops_early_leads_on_all_the_same(open_app):
    at = open_app(asked("classroom"))
    assert links(at)[""].startswith("The story begins here **Start** How does FP8 training work?")


@pytest.mark.parametrize("name", ["glossary", "design"])
def test_a_tool_and_the_last_page_lead_to_the_beginning(open_app, name):
    assert list(links(open_app(asked(name))))[-1] == ""


def test_a_page_that_needs_none_says_so(open_app):
    assert open_app(asked("sanity_check")).caption[0].value == "On the GPU · you can begin here"


def test_on_a_projector_a_page_begins_with_its_title(open_app):
    at = open_app(asked("accumulation"), present="true")
    assert not [one for one in at.caption if "first see" in one.value]
