"""The sidebar has the app's name and every page in the order of the story; beside a lesson, neither."""

import re

from pages.kit.story.sidebar import APP_NAME
from tests.pages.conftest import TOP

TITLES = re.findall(r'title="([^"]+)"', (TOP / "app.py").read_text(encoding="utf-8"))


def test_every_page_is_linked_once_in_the_order_of_the_table(open_app):
    at = open_app("pages/sanity_check.py")
    assert at.sidebar.markdown[0].value == f"**{APP_NAME}**"
    assert [link.proto.label for link in at.sidebar.get("page_link")] == TITLES
    assert [one.value for one in at.sidebar.caption][:2] == ["Why", "Numbers"]


def test_beside_a_step_of_the_lesson_the_sidebar_is_the_lesson_s(open_app):
    at = open_app("pages/formats.py", lesson="floats.1")
    assert not at.exception
    assert at.sidebar.get("page_link") == []
