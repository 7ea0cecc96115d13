"""The declaration of a control: what it refuses, and what is left of it once a page narrows it."""

import pytest

from pages.kit.widgets import Choice, Number, NumberStyle, Whole


def test_a_declaration_whose_default_it_does_not_accept_is_refused():
    with pytest.raises(ValueError, match="count: the default 9 is not a whole number from 0 to 5"):
        Whole(key="count", label="", low=0, high=5, default=9)


def test_two_options_with_one_label_are_refused():
    with pytest.raises(ValueError, match="share a label"):
        Choice(key="letter", label="", options={"a": "A", "b": "A"}, default="a")


def test_narrowing_keeps_at_least_one_value():
    rows = Whole(key="row", label="", low=0, high=99, default=50)
    none = rows.narrow(high=-1)
    assert (none.low, none.high, none.default) == (0, 0, 0)
    few = rows.narrow(low=60, high=70)
    assert (few.low, few.high, few.default) == (60, 70, 60)


def test_narrowing_a_slider_keeps_its_default_on_a_step():
    level = Whole(key="l", label="", low=0, high=64, step=16, default=48, style=NumberStyle.SLIDER)
    assert level.narrow(high=40).default == 32


def test_narrowing_a_choice_falls_to_the_first_option_where_the_default_is_gone():
    letter = Choice(key="letter", label="", options={"a": "A", "b": "B"}, default="a")
    assert letter.narrow(options={"b": "B"}).default == "b"


def test_a_number_is_clamped_to_its_range():
    share = Number(key="share", label="", low=0.0, high=1.0, step=0.1, default=0.5)
    assert [share.fit(value) for value in (2.0, -1.0, float("nan"), None)] == [1.0, 0.0, 0.5, 0.5]


def test_the_options_that_a_choice_needs_are_named_as_far_as_one_reads_them():
    few = Choice(key="chapter", label="", options={"": "All", "why": "Why", "tiles": "Tiles"}, default="")
    assert few.needs == "one of why, tiles"
    many = Choice(key="n", label="", options={n: str(n) for n in range(110)}, default=0)
    assert many.needs == "one of the 110 in its list"
