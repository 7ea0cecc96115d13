"""The pictures of the page "Scaling" are valid Vega-Lite, name their data, and open at their start."""

import json

import altair as alt
import pytest

from pages.kit.charts.ink import INKS
from pages.scaling.charts.window import START
from pages.scaling.delayed import delayed_spec
from pages.scaling.rules import rules_spec
from pages.scaling.window import window_spec
from tests.sweeps import each, some_cases

PAGE = "pages/scaling.py"


def names_of_data(part) -> set[str]:
    """The names of every `data` of a spec."""
    if isinstance(part, dict):
        own = {part["data"]["name"]} if "name" in part.get("data", {}) else set()
        return own.union(*map(names_of_data, part.values()))
    return set().union(*map(names_of_data, part)) if isinstance(part, list) else set()


@pytest.mark.parametrize("theme", some_cases(2, each(INKS)))
def test_the_pictures_are_valid_and_open_at_their_start(theme):
    for spec, start in (
        (window_spec(("e4m3", "gradient_like", "x", 0), 0.25, theme), 0.25),
        (rules_spec(("e4m3", 32, "gaussian", "x", 0), 1.5, theme, 500), 1.5),
        (delayed_spec((1.0, 8.0, 0.25), 2, 0, theme), 1),
    ):
        # `legible` anchors legends with Vega's signals, which Vega-Lite's schema does not know.
        drawn = {**spec, "config": {}, "datasets": {}}
        alt.VConcatChart.from_dict(drawn, validate=True)
        json.dumps(drawn, allow_nan=False)
        assert names_of_data(drawn) == set(spec["datasets"])
        assert spec["params"] == [{"name": START, "value": start}]
