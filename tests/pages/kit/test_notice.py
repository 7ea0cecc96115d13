"""What to notice is there, unless a prediction comes first: then a gray field keeps its place."""

from streamlit.testing.v1 import AppTest

from pages.kit.notice import HIDDEN_KEY, WAITING


def noticing() -> None:
    """A page that tells one thing, at the end of a container and by itself."""
    import streamlit as st

    from pages.kit.notice import draw_notice

    draw_notice("**Notice:** it is zero.", st.container())
    draw_notice("**Notice:** it is zero.")


def test_a_notice_is_hidden_while_a_prediction_is_awaited():
    at = AppTest.from_function(noticing).run()
    assert [one.value for one in at.markdown] == ["it is zero."] * 2
    at.session_state[HIDDEN_KEY] = True
    assert not at.run().markdown
    assert [WAITING in one.proto.body for one in at.get("html")] == [True, True]
    at.session_state[HIDDEN_KEY] = False
    assert [one.value for one in at.run().markdown] == ["it is zero."] * 2
