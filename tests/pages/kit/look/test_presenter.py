"""Presenter mode: an address, a switch, and every page of a session."""

import pytest
from streamlit.testing.v1 import AppTest


def two_controls() -> None:
    """A page whose frame obeys the address; runs inside AppTest, so it imports what it uses."""
    import streamlit as st

    from pages.kit.controls import Controls
    from pages.kit.look import presenter
    from pages.kit.widgets import Whole

    presenter.read()
    controls = Controls(Whole(key="count", label="Count", low=0, high=9, default=1))
    controls.toolbar()
    st.text(str(presenter.projected()))


@pytest.fixture
def at() -> AppTest:
    return AppTest.from_function(two_controls, default_timeout=30)


def is_on(at: AppTest) -> bool:
    assert not at.exception
    return at.text[0].value == "True"


def test_the_switch_and_the_address_say_the_same(at):
    at.query_params["count"] = "3"
    assert not is_on(at.run())
    assert is_on(at.button(key="_present_switch").click().run())
    assert at.query_params == {"count": "3", "present": "true"}
    assert not is_on(at.button(key="_present_switch").click().run())
    assert at.query_params == {"count": "3"}


def test_a_late_echo_does_not_turn_it_on_again(at):
    at.query_params["present"] = "true"
    assert is_on(at.run())
    assert not is_on(at.button(key="_present_switch").click().run())
    at.query_params["present"] = "true"
    assert not is_on(at.run())


def test_an_address_without_it_keeps_it_and_is_completed(at):
    at.query_params["present"] = "true"
    assert is_on(at.run())
    at.query_params.clear()
    assert is_on(at.run())
    assert at.query_params == {"present": "true"}
