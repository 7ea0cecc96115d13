"""Contract: the token is guessed by nobody, and is typed as people type."""

import pytest

from pages.kit.classroom.token import ALL_TRIES, MINUTE_S, TOO_MANY, TRIES, WRONG, Token


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.mark.parametrize("typed", ["abcd-efgh-jkmn", " ABCD efgh\tJKMN\n", "abcdefghjkmn"])
def test_spaces_dashes_and_capitals_do_not_count(typed):
    assert Token("abcd-efgh-jkmn").refusal(typed, "ann") is None


@pytest.mark.parametrize(
    "typed", ["", "abcd", "abcd-efgh-jkmnx", "ábcd-efgh-jkmn", "x" * 10**6, "\ud800", "\x00"]
)
def test_any_other_text_is_refused_in_a_sentence(typed):
    assert Token("abcd-efgh-jkmn").refusal(typed, "ann") == WRONG


def test_a_visitor_has_few_tries_a_minute(clock):
    token = Token(clock=clock)
    assert [token.refusal("x", "ann") for _ in range(TRIES)] == [WRONG] * TRIES
    assert token.refusal(token.text, "ann") == TOO_MANY
    assert token.refusal(token.text, "ben") is None
    clock.now = MINUTE_S + 1
    assert token.refusal(token.text, "ann") is None


def test_invented_visitors_have_few_tries_together(clock):
    token = Token(clock=clock)
    told = [token.refusal("x", f"visitor {number}") for number in range(ALL_TRIES + 1)]
    assert told == [WRONG] * ALL_TRIES + [TOO_MANY]


def test_each_server_has_its_own_token():
    first, second = Token().text, Token().text
    assert len(first) == len("abcd-efgh-jkmn")
    assert first != second
