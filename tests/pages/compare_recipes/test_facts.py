"""Contract: facts are computed from a step's values, and are those that the page shows."""

import pytest

from pages.compare_recipes.data import differences
from pages.compare_recipes.facts import CONTROLS, FACTS

DEFAULTS = {control.key: control.default for control in CONTROLS}


def test_every_fact_is_a_number_or_a_word() -> None:
    for name, fact in FACTS.items():
        assert isinstance(fact(DEFAULTS), float | int | str), name


def test_facts_follow_the_values_of_a_step() -> None:
    two = DEFAULTS | {"differ_recipes": ["mxfp8", "per_tensor"]}
    assert (FACTS["recipes"](two), FACTS["recipes"](DEFAULTS)) == (2, 5)
    shown = [differences(name, DEFAULTS["input"], 0) for name in two["differ_recipes"]]
    assert (FACTS["most_copies_recipe"](two), FACTS["most_copies"](two)) == ("MXFP8", shown[0].kept)
    family = DEFAULTS | {"differ_family": "two_level"}
    assert FACTS["most_scale_values"](family) == FACTS["fewest_scale_values"](family) == 17
    narrow, wide = (FACTS["error_longest"](DEFAULTS | {"differ_format": name}) for name in ("e2m1", "e4m3"))
    assert wide < 0.05 < 0.9 < narrow
    assert FACTS["bits_shortest"](DEFAULTS) == pytest.approx(8.0)
