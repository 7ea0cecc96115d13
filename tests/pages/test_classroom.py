"""The page "Class": what a visitor sees, and what the teacher does."""

import pytest

from pages.kit.classroom import shared as shares
from pages.kit.classroom.shared import Shared
from pages.kit.classroom.store import CLASS_FILE, store

PAGE = "pages/classroom.py"


@pytest.fixture(autouse=True)
def class_(monkeypatch, tmp_path) -> Shared:
    """A class of its own for each test."""
    monkeypatch.setenv(CLASS_FILE, str(tmp_path / "class.sqlite"))
    made = Shared()
    monkeypatch.setattr(shares, "_SHARED", made)
    yield made
    store().close()


def entered(open_app, class_, token: str | None = None, **parameters: str):
    at = open_app(PAGE, **parameters)
    at.text_input(key="class_token").set_value(class_.token.text if token is None else token)
    return at.button(key="class_enter").click().run()


def test_a_visitor_is_told_what_a_class_is_and_sees_no_more(open_app):
    at = open_app(PAGE)
    assert "nothing personal is kept" in at.markdown[0].value
    assert [field.key for field in at.text_input] == ["class_token"]
    assert "lead_start" not in {button.key for button in at.button}
    assert not store().is_open


@pytest.mark.parametrize("told", ["", "wrong", "\ud7ff<script>", "x" * 100])
def test_a_wrong_token_opens_nothing(open_app, class_, told):
    at = entered(open_app, class_, told)
    assert [error.value[:21] for error in at.error] == ["This is not the token"]
    assert not store().is_open
    assert at.text_input(key="class_token").value == ""


def test_the_token_opens_the_class_and_stays_out_of_every_address(open_app, class_):
    at = entered(open_app, class_)
    assert store().is_open
    assert not at.exception
    assert at.button(key="lead_start").label == "Follow me"
    assert class_.token.text not in f"{at.query_params} {[block.value for block in at.code]}"


def test_a_typed_address_is_shown_or_refused(open_app, class_):
    at = entered(open_app, class_, link="https://school.example/fp8/")
    assert "https://school.example/fp8/" in [block.value for block in at.code]
    at.text_input(key="link").set_value("no address").run()
    assert "no web address" in at.error[0].value


def test_a_reset_asks_first_and_forgets_the_answers(open_app, class_):
    store().save_answer("a" * 32, "scaling.2", "few", True)
    at = entered(open_app, class_)
    at.button(key="class_reset").click().run()
    assert store().answers() == ()
    assert store().is_open


def test_who_leaves_the_view_needs_the_token_again(open_app, class_):
    at = entered(open_app, class_)
    at.button(key="lead_start").click().run()
    at.button(key="class_leave").click().run()
    assert [field.key for field in at.text_input] == ["class_token"]
    assert class_.led() is None


def test_the_class_ends_with_its_teacher(open_app, class_):
    at = entered(open_app, class_)
    at.button(key="class_end").click().run()
    assert not store().is_open
