"""The parameters of a page's frame are no controls, and a step of a lesson decides all of them."""

from streamlit.testing.v1 import AppTest


def framed() -> None:
    """A page with two controls; it tells their values and the frame's parameters."""
    import streamlit as st

    from pages.kit.address import end_run, frame_parameters, let_decide
    from pages.kit.controls import Controls
    from pages.kit.widgets import Whole

    low, high = (Whole(key=key, label=key, low=0, high=9, default=0) for key in ("low", "high"))
    controls = Controls(low, high)
    controls.toolbar()
    st.text(repr((controls.draw(low), controls.draw(high), frame_parameters())))
    st.button("follow", on_click=let_decide)
    end_run()


def opened(**parameters: str) -> AppTest:
    at = AppTest.from_function(framed, default_timeout=30)
    at.query_params.update(parameters)
    return at.run()


def move(at: AppTest, **parameters: str) -> None:
    """Give the page another address, as the frame's own links do."""
    at.query_params.clear()
    at.query_params.update(parameters)
    at.run()


def test_the_frame_s_parameters_are_no_controls_and_stay_in_the_address():
    at = opened(lesson="scaling.1", present="true", low="3")
    assert not at.warning
    at.number_input(key="high").set_value(4).run()
    assert at.query_params == {"low": "3", "high": "4", "lesson": "scaling.1", "present": "true"}
    assert at.text[0].value == repr((3, 4, {"lesson": "scaling.1", "present": "true"}))


def test_a_copied_link_leaves_the_frame_s_parameters_out():
    assert opened(lesson="scaling.1", low="3").code[0].value == "?low=3"


def test_a_new_step_decides_every_control_and_its_echo_none():
    at = opened(low="3", high="4")
    move(at, lesson="scaling.1", high="5")
    assert at.text[0].value.startswith("(0, 5,"), "what the step leaves out is at its default"
    at.number_input(key="low").set_value(2).run()
    assert at.text[0].value.startswith("(2, 5,"), "then the reader decides"
    move(at, lesson="scaling.2")
    assert at.text[0].value.startswith("(0, 0,")


def test_where_a_class_is_led_the_address_decides_what_it_leaves_out_too():
    at = opened(low="3", high="4")
    at.query_params.clear()
    at.query_params["high"] = "5"
    at.button[-1].click().run()
    assert at.text[0].value.startswith("(0, 5,")
    move(at, high="6")
    assert at.text[0].value.startswith("(0, 6,")
    at.number_input(key="low").set_value(2).run()
    move(at, high="7")
    assert at.text[0].value.startswith("(2, 7,"), "only the next run"
