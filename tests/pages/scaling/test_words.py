"""Contract: a factor is written as short as it is sure."""

import pytest

from pages.scaling.words import factor


@pytest.mark.parametrize(
    ("octaves", "words"),
    [(0.0, "1"), (1.5, "2.8"), (3.99, "16"), (4.0, "16"), (4.9, "16"), (17.2, "131,072")],
)
def test_a_factor_has_two_digits_or_is_a_power_of_two_that_it_exceeds(octaves, words):
    assert factor(octaves) == words
