"""Controls: an address is obeyed where it can be, refused in words where it cannot, and follows the page."""

import ast

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.address import RUN_KEY
from tests.pages.texts import press

KEYS = ["letter", "count", "level", "share", "on"]


def one_of_each() -> None:
    import streamlit as st

    from pages.kit import address
    from pages.kit.controls import Controls
    from pages.kit.widgets import Choice, Number, NumberStyle, Toggle, Whole

    if st.session_state.pop("draws_nothing", False):
        st.stop()
    letter = Choice(key="letter", label="L", options={"a": "Alpha", "b": "Beta", "c": "Gamma"}, default="a")
    count = Whole(key="count", label="Count", low=0, high=100, default=7)
    level = Whole(key="level", label="Level", low=0, high=64, step=16, default=16, style=NumberStyle.SLIDER)
    share = Number(key="share", label="Share", low=0.0, high=1.0, step=0.1, default=0.5)
    on = Toggle(key="on", label="On")
    controls = Controls(letter, count, level, share, on)
    controls.toolbar()
    value = controls.draw(letter)
    most = {"a": 100, "b": 10, "c": 5}[value]
    values = [value, controls.draw(count, high=most), controls.draw(level), controls.draw(share)]
    st.text(repr((*values, controls.draw(on))))
    st.button("preset", key="preset", on_click=controls.preset, kwargs={"letter": "b", "count": 3})
    if not st.session_state.get("is_cut_off"):
        address.end_run()


def opened(**parameters: str | list[str]) -> AppTest:
    at = AppTest.from_function(one_of_each, default_timeout=30)
    at.query_params.update(parameters)
    return at.run()


def values(at: AppTest) -> tuple:
    assert not at.exception, at.exception[0].value
    return ast.literal_eval(at.text[0].value)


def comes_and_goes() -> None:
    import streamlit as st

    from pages.kit import address
    from pages.kit.controls import Controls
    from pages.kit.widgets import Choice, Toggle

    letter = Choice(key="letter", label="L", options={"a": "Alpha", "b": "Beta"}, default="a")
    toggle = Toggle(key="shown", label="Shown", default=True)
    controls = Controls(letter, toggle)
    value = controls.draw(letter) if controls.draw(toggle) else None
    st.text(repr((value, controls.value(letter))))
    address.end_run()


def test_a_control_that_is_hidden_for_a_while_keeps_its_value():
    at = AppTest.from_function(comes_and_goes, default_timeout=30)
    at.query_params["letter"] = "b"
    assert values(at.run()) == ("b", "b")
    assert values(at.toggle(key="shown").set_value(False).run()) == (None, "b")
    assert at.query_params == {"letter": "b", "shown": "false"}
    assert values(at.run()) == (None, "b")
    assert values(at.toggle(key="shown").set_value(True).run()) == ("b", "b")


DEFAULTS = ("a", 7, 16, 0.5, False)


def test_a_link_sets_the_controls_and_defaults_leave_the_address():
    at = opened(letter="b", count="9", level="16", share="0.25", on="true")
    assert values(at) == ("b", 9, 16, 0.25, True)
    assert at.query_params == {"letter": "b", "count": "9", "share": "0.25", "on": "true"}


@pytest.mark.parametrize(
    ("key", "text", "need"),
    [
        ("count", ["3", "4"], "given 2 times"),
        ("letter", "Alpha", "one of a, b, c"),
        ("count", "-1", "a whole number from 0 to 100"),
        ("count", "٣", "a whole number"),
        ("count", "9" * 5000, "a whole number"),
        ("level", "17", "in steps of 16"),
        ("share", "nan", "a number from 0 to 1"),
        ("share", "", "a number from 0 to 1"),
        ("on", "yes", "true or false"),
    ],
)
def test_a_value_that_does_not_fit_is_the_default_and_the_page_says_what_is_needed(key, text, need):
    at = opened(**{key: text})
    assert values(at) == DEFAULTS
    assert at.query_params == {}
    assert len(at.warning) == 1
    assert need in at.warning[0].value
    assert len(at.warning[0].value) < 300
    assert not at.run().warning, "it is said once"


def test_a_bound_set_by_another_control_clamps_the_value_in_state_and_address():
    at = opened(count="50")
    at.segmented_control(key="letter").set_value("c").run()
    assert not at.warning, "no fault of the link"
    assert values(at)[:2] == ("c", 5)
    assert at.query_params == {"letter": "c", "count": "5"}
    assert at.code[0].value == "?letter=c&count=5"


def test_a_link_s_value_beyond_a_bound_of_the_moment_is_told_with_all_else_in_one_sentence():
    assert not opened(letter="c", count="3").warning
    at = opened(letter="c", count="50", level="17")
    assert values(at)[:2] == ("c", 5)
    (sentence,) = [one.value for one in at.warning]
    assert "`level=17`" in sentence
    assert sentence.endswith("; `count=50` (count needs a whole number from 0 to 5 here, and 5 is shown).")
    assert not at.run().warning


def test_a_preset_changes_state_and_address():
    at = opened(share="0.25")
    at.button(key="preset").click().run()
    assert values(at) == ("b", 3, 16, 0.25, False)
    assert at.query_params == {"letter": "b", "count": "3", "share": "0.25"}


def test_a_late_echo_of_an_older_address_does_not_undo_a_newer_choice():
    at = opened()
    at.number_input(key="count").set_value(9).run()
    at.number_input(key="count").set_value(11).run()
    at.query_params.update({"count": "9"})
    at.segmented_control(key="letter").set_value("b").run()
    assert values(at)[0] == "b"
    assert values(at)[1] == 10, "11, clamped by letter b; not the 9 of the late echo"


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_a_value_that_a_late_browser_reports_does_not_undo_a_preset(is_cut_off):
    at = opened(share="0.25")
    at.session_state["is_cut_off"] = is_cut_off
    at.button(key="preset").click().run()
    if not is_cut_off:
        at.text_input(key=RUN_KEY).set_value("1")
    at.segmented_control(key="letter").set_value("a")
    at.number_input(key="count").set_value(7)
    at.toggle(key="on").set_value(True).run()
    assert values(at) == ("b", 3, 16, 0.25, True), "the preset's, and what the reader chose meanwhile"
    parameters = (
        {"share": "0.25"} if is_cut_off else {"letter": "b", "count": "3", "share": "0.25", "on": "true"}
    )
    assert at.query_params == parameters, "the address comes with the page's end"


def test_a_preset_holds_whose_run_drew_nothing():
    """The timer of a fragment brought the click, or the run was cut off. The page's own run comes after."""
    at = opened(share="0.25")
    at.session_state["draws_nothing"] = True
    browser, preset, on = at._tree, at.button(key="preset"), at.toggle(key="on")
    letter, count = at.segmented_control(key="letter"), at.number_input(key="count")
    preset.click().run()
    preset.set_value(False)
    letter.set_value("a")
    count.set_value(7)
    on.set_value(True)
    browser.run()
    assert values(at) == ("b", 3, 16, 0.25, True), "the preset's, and what the reader chose meanwhile"


def test_a_reader_takes_back_what_a_preset_has_set():
    at = opened(share="0.25")
    at.button(key="preset").click().run()
    at.segmented_control(key="letter").set_value("a").run()
    assert values(at) == ("a", 3, 16, 0.25, False)
    at.query_params = {"letter": "b", "count": "3", "share": "0.25"}
    at.segmented_control(key="letter").set_value("b").run()
    assert values(at)[0] == "b", "chosen by the reader with an older address, and long after the preset"


@pytest.mark.parametrize("odd", [None, "x", 1e9, -3, True, float("nan"), [], 10**40])
def test_a_value_left_in_the_session_by_another_page_does_no_harm(odd):
    at = AppTest.from_function(one_of_each, default_timeout=30)
    for key in KEYS:
        at.session_state[key] = odd
    values_now = values(at.run())
    assert all(type(value) is type(default) for value, default in zip(values_now, DEFAULTS, strict=True))


def opens_elsewhere() -> None:
    import streamlit as st

    from pages.kit import address
    from pages.kit.controls import Controls
    from pages.kit.widgets import Whole

    low, high = (Whole(key=key, label=key, low=0, high=9, default=0) for key in ("low", "high"))
    controls = Controls(low, high, opening={"high": 5})
    controls.toolbar()
    st.text(repr((controls.draw(low), controls.draw(high))))
    address.end_run()


@pytest.mark.parametrize(
    ("query", "expected", "address"),
    [
        ({}, (0, 5), {}),
        ({"low": "3"}, (3, 0), {"low": "3"}),
        ({"high": "0"}, (0, 0), {"high": "0"}),
        ({"low": "0", "high": "5"}, (0, 5), {}),
        ({"low": "1", "high": "5"}, (1, 5), {"low": "1", "high": "5"}),
    ],
)
def test_a_bare_address_opens_the_page_s_own_case_and_a_link_what_it_says(query, expected, address):
    at = AppTest.from_function(opens_elsewhere, default_timeout=30)
    at.query_params.update(query)
    at.run()
    assert values(at) == expected
    assert at.query_params == address
    again = AppTest.from_function(opens_elsewhere, default_timeout=30)
    again.query_params.update(at.query_params)
    assert values(again.run()) == expected, "what the address says opens the same"
    press(at, "Reset")
    assert values(at) == (0, 5)
