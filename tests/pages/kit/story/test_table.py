"""The pages in the order of the story, and what each run has of its own of them."""

from functools import wraps

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.kit.story.table import Story, page

FORMATS, SCALING, GEMM = "pages/formats.py", "pages/scaling.py", "pages/live_gemm.py"


def told() -> Story:
    """Two parts of the story with a tool between them."""
    return Story(
        {
            "First": [page(FORMATS, title="Formats"), page("pages/design.py", title="Tool", is_tool=True)],
            "Second": [page(SCALING, title="Scaling", after=["formats"]), page(GEMM, title="Run")],
        }
    )


def test_the_next_page_skips_tools_and_crosses_parts():
    story = told()
    following = {one.name: getattr(story.next_after(one.name), "name", None) for one in story.pages}
    assert following == {"formats": "scaling", "design": None, "scaling": "live_gemm", "live_gemm": None}


def test_a_page_is_found_by_its_name_and_by_its_title():
    story = told()
    assert story.page("scaling") is story.titled("Scaling")
    assert story.part_of("scaling") == "Second"
    assert story.page("scaling").after == ("formats",)


@pytest.mark.parametrize("name", ["scaling", "nowhere"])
def test_a_page_comes_after_pages_that_are_before_it(name):
    pages = [page(FORMATS, title="Formats", after=[name]), page(SCALING, title="Scaling")]
    with pytest.raises(ValueError, match=rf"pages/formats.py comes after \['{name}'\]"):
        Story({"First": pages})


def test_a_page_asks_what_its_docstring_asks():
    assert page("pages/tile_layouts.py", title="Tile layouts").asks == "Which elements share one scale?"


def two_of_one() -> None:
    """Two pages of one script, the first marked as Streamlit marks the one that runs."""
    import streamlit as st

    from pages.kit.story.table import StoryPage

    first, second = (StoryPage(script=__file__, title="One").made() for _ in range(2))
    first._can_be_called = True
    st.text(f"{second.title} {second._can_be_called}")


def test_every_run_has_pages_of_its_own():
    assert AppTest.from_function(two_of_one).run().text[0].value == "One False"


def test_the_table_of_pages_is_made_once_for_all_sessions(open_app, monkeypatch):
    made = []
    make = st.Page.__init__

    @wraps(make)
    def making(page: st.Page, script: str, **options: object) -> None:
        made.append(script)
        make(page, script, **options)

    open_app("pages/sanity_check.py")
    monkeypatch.setattr(st.Page, "__init__", making)
    assert not open_app("pages/sanity_check.py").exception
    assert made == []
