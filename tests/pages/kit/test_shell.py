"""The frame of every page: what is made once, and what each run has of its own."""

from functools import wraps

import streamlit as st
from streamlit.testing.v1 import AppTest


def two_of_one() -> None:
    """Two pages of one script, the first marked as Streamlit marks the one that runs."""
    import streamlit as st

    from pages.kit.shell import page

    first, second = page(__file__, title="One"), page(__file__, title="One")
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
