"""Facts about what a page computes in the pool."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.computing import compute
from pages.kit.computing.pool import pool


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(compute, "PATIENCE_S", 0.0)


def page() -> None:
    import streamlit as st

    from pages.kit.computing.compute import computed
    from pages.kit.computing.pool import Call
    from tests.pages.kit.computing.pool_calls import refused, slept

    tag = st.text_input("Tag", "first", key="tag")
    calls = [Call(refused, (7,))] if tag == "bad" else [Call(slept, (0.05, f"{tag} {n}")) for n in range(2)]
    result = computed("words", tag, calls, label="Writing")
    if result is not None:
        st.text(f"{result.arguments}: {', '.join(result.parts)}")


def opened(tag: str) -> AppTest:
    at = AppTest.from_function(page)
    at.session_state["tag"] = tag
    return at.run()


def settled(at: AppTest) -> AppTest:
    """Run the page again until nothing is computed any more, as its timer does in a browser."""
    asker = f"{at.session_state['_gemm_session'].name} words"
    assert pool().wait(asker, 30.0)
    return at.run()


def texts(at: AppTest) -> list[str]:
    assert not at.exception
    return [one.value for one in at.text]


def test_a_picture_stays_until_the_next_one_is_there():
    at = opened("first")
    assert texts(at) == []
    assert texts(settled(at)) == ["first: first 0, first 1"]
    at.text_input(key="tag").set_value("second").run()
    assert texts(at) == ["first: first 0, first 1"]
    assert texts(settled(at)) == ["second: second 0, second 1"]


def test_progress_counts_the_parts_and_says_what_is_below():
    at = opened("fresh")
    (bar,) = at.get("progress")
    assert bar.proto.text.startswith("Writing: ")
    assert "of 2 parts are done." in bar.proto.text
    assert "last choice" not in bar.proto.text
    settled(at).text_input(key="tag").set_value("third").run()
    assert at.get("progress")[0].proto.text.endswith("Until then, you see your last choice.")


def test_a_refusal_is_shown_and_can_be_tried_again():
    at = settled(opened("bad"))
    assert texts(at) == []
    assert at.error[0].value == "x is at most 3, got 7"
    at.button(key="again words").click().run()
    assert at.get("progress")
