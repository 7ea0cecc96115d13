"""A step beside its page: predict, then reveal; and the way through the lesson."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.lesson import prediction
from pages.kit.lesson.facts import facts_of
from pages.kit.lesson.library import library
from pages.kit.view import WAITING
from tests.pages.texts import press

PLACES = library().places
FIRST = {"scaling": "window", "scaling_input": "gaussian", "lesson": "scaling.1"}


def words(at: AppTest) -> str:
    assert not at.exception, at.exception[0].value
    return "\n".join(one.value for kind in ("markdown", "success", "info", "warning") for one in at.get(kind))


def notice(at: AppTest) -> str:
    """The words of the page, the Notice's among them; those of the gray field where it waits."""
    fields = [one.proto.body for one in at.main.get("html") if "fp8-hidden" in one.proto.body]
    return WAITING if fields and WAITING in fields[0] else " ".join(one.value for one in at.main.markdown)


def test_the_truth_waits_for_the_answer_which_then_stays(open_app, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(prediction, "truth_of", lambda step: pytest.fail("the truth is not asked for yet"))
        at = open_app("pages/scaling.py", **FIRST)
        assert notice(at) == WAITING
        assert "**Do:**" not in words(at), "what there is to do may show the truth"
        press(at, "Lock my answer")
        assert "Give an answer first." in words(at)
    at.radio(key="lesson_answer_scaling_1").set_value("About half of them")
    press(at, "Lock my answer")
    assert "**Not quite.** You said: About half of them. The page says: **All, or nearly all**." in words(at)
    assert "100% of them became zero." in words(at)
    assert "**Do:** Look at the bars" in words(at)
    assert at.session_state["scaling_input"] == "gradient_like", "the page shows what was asked"
    assert "**100% of the numbers become 0.**" in notice(at)
    press(press(at, "Next"), "Back")
    assert "You said: About half of them." in words(at)
    assert not [button for button in at.button if button.label == "Lock my answer"]


def test_a_number_out_of_range_is_told_and_not_locked(open_app):
    at = open_app("pages/scaling.py", lesson="scaling.5")
    at.number_input(key="lesson_answer_scaling_5").set_value(-1.0)
    assert "Too small: the answer is 0 steps or more." in words(press(at, "Lock my answer"))
    at.number_input(key="lesson_answer_scaling_5").set_value(401.0)
    assert "Too large: the answer is 400 steps or less." in words(press(at, "Lock my answer"))
    at.number_input(key="lesson_answer_scaling_5").set_value(12.0)
    texts = words(press(at, "Lock my answer"))
    assert "You said 12 steps; the page computes **0 steps**. That is 12 steps too high." in texts


def test_next_leads_through_the_chapter_and_out_of_the_lesson(open_app):
    at = open_app("pages/scaling.py", **FIRST)
    for step in (2, 3, 4, 5):
        press(at, "Next")
        assert at.query_params["lesson"] == f"scaling.{step}"
    at.session_state["scaling_margin"] = 3
    press(at.run(), "Settings of this step")
    assert at.session_state["scaling_margin"] == 0
    press(at, "Leave the lesson")
    assert dict(at.query_params) == {"scaling": "delayed", "scaling_series": "drift"}
    assert notice(at) != WAITING, "nothing waits outside of the lesson"


def test_a_page_that_a_link_led_to_leads_back_to_the_lesson(open_app):
    at = open_app("pages/scaling.py", **FIRST)
    at.switch_page("pages/formats.py")
    del at.query_params["lesson"]
    at.run()
    assert back(at) == ["Back to the lesson: Scales · step 1 of 5"]
    at.switch_page("pages/scaling.py")
    at.query_params.update(FIRST)
    press(at.run(), "Leave the lesson")
    assert back(at) == []


def back(at: AppTest) -> list[str]:
    words(at)
    links = [link.proto.label for link in at.sidebar.get("page_link")]
    return [label for label in links if label.startswith("Back to the lesson")]


def test_a_short_address_leads_to_the_page_and_its_settings(open_app):
    at = open_app("pages/formats.py", lesson="scaling.3", present="true")
    assert "Why can't FP8 do without a scale?" in [title.value for title in at.title]
    assert at.session_state["scaling"] == "rules"
    assert at.query_params["present"] == "true"


def test_a_step_that_does_not_exist_is_told_and_the_page_is_as_usual(open_app):
    at = open_app("pages/scaling.py", lesson="scaling.9")
    for text in ("nothing.1", "", "[a](http://b)", "scaling.1\n", "9" * 5000):
        at.query_params["lesson"] = text
        at.run()
        assert at.warning[0].value.startswith("The lesson has no step `"), text
        assert notice(at) != WAITING
        assert at.title[0].value == "Why can't FP8 do without a scale?"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.key)
def test_every_step_opens_its_page_as_it_says(open_app, place):
    at = open_app(f"pages/{place.step.page}.py", **place.parameters())
    assert not at.exception, at.exception[0].value
    assert at.sidebar.subheader[0].value == place.step.title
    assert not [one.value for one in (*at.error, *at.warning)]
    settings = facts_of(place.step.page).settings(place.step.set)
    values = {key: at.session_state[key] for key in settings if key in at.session_state}
    assert values == {key: settings[key] for key in values}


@pytest.mark.parametrize(
    ("page", "lesson", "answer"),
    [("live_gemm", "gpu.5", b"by the sum"), ("fused", "quantizing.1", b"all copies in one read")],
)
def test_a_picture_holds_an_answer_back_that_its_step_asks_for(open_app, page, lesson, answer):
    def pictures(**lesson: str) -> bytes:
        at = open_app(f"pages/{page}.py", **lesson)
        charts = at.get("vega_lite_chart")
        assert charts
        return b"".join(chart.proto.SerializeToString() for chart in charts)

    assert answer not in pictures(lesson=lesson)
    assert answer in pictures(**({"fused_show": "amax"} if page == "fused" else {}))
