"""Contract: only who gave the token teaches, and the class is led where he goes."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.classroom.shared import HERE_S, WRONG, Shared, is_well_formed, new_token, new_visitor


def test_who_gives_the_token_teaches_until_he_leaves():
    class_ = Shared("abcd")
    assert class_.enter("abce", "ann") is not None
    assert not class_.is_teacher("ann")
    assert new_token() != new_token(), "each server has its own"
    assert class_.enter("abcd", "ann") is None
    class_.lead(True)
    class_.leave("ben")
    assert class_.led() is not None
    class_.leave("ann")
    assert not class_.is_teacher("ann")
    assert class_.led() is None, "nobody follows one who is gone"


def test_a_move_counts_once_and_only_while_the_class_is_led():
    class_ = Shared()
    class_.publish("formats", {})
    assert class_.led() is None
    class_.lead(True)
    assert class_.led().page is None
    began = class_.led().version
    for page, parameters in (("formats", {}), ("formats", {}), ("formats", {"number": "1"})):
        class_.publish(page, parameters)
    assert class_.led().version == began + 2
    class_.lead(False)
    class_.lead(True)
    assert (class_.led().number, class_.led().page) == (2, None)
    assert class_.led().version > began + 2


def test_a_page_that_asks_no_more_is_gone():
    now = [0.0]
    class_ = Shared(clock=lambda: now[0])
    class_.saw("ann", "session 1", follows=True)
    now[0] = HERE_S
    class_.saw("ben", "session 2", follows=False)
    assert {name: one.follows for name, one in class_.present().items()} == {"ann": True, "ben": False}
    now[0] += 0.1
    assert set(class_.present()) == {"ben"}


@pytest.mark.parametrize("typed", ["abcd-efgh-jkmn", " ABCD efgh\tJKMN\n", "abcdefghjkmn"])
def test_spaces_dashes_and_capitals_do_not_count(typed):
    assert Shared("abcd-efgh-jkmn").enter(typed, "ann") is None


@pytest.mark.parametrize(
    "typed", ["", "abcd", "abcd-efgh-jkmnx", "ábcd-efgh-jkmn", "x" * 10**6, "\ud800", "\x00"]
)
def test_any_other_text_is_refused_in_a_sentence(typed):
    assert Shared("abcd-efgh-jkmn").enter(typed, "ann") == WRONG


@pytest.mark.parametrize(
    "value",
    ["", "a" * 31, "a" * 33, "A" * 32, "g" * 32, "٣" * 32, "a" * 32 + "\n", "'; DROP TABLE answers;--"],
)
def test_an_id_has_thirty_two_hexadecimal_digits(value):
    assert not is_well_formed(value)
    assert is_well_formed(new_visitor())


def test_a_session_without_a_cookie_keeps_an_id_of_its_own():
    script = "import streamlit as st\nfrom pages.kit.classroom.shared import visitor\nst.text(visitor())"
    at, other = AppTest.from_string(script).run(), AppTest.from_string(script).run()
    first = at.text[0].value
    assert is_well_formed(first)
    assert at.run().text[0].value == first != other.text[0].value
