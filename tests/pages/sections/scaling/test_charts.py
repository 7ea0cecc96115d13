"""Contract: the pictures of the page "Scaling" are valid Vega-Lite; what they are given is what is drawn."""

import json

import altair as alt
import numpy as np
import pytest

from fp8core.experiments.delayed_scaling import AmaxChoice
from fp8core.formats import FORMATS
from pages.kit.charts.ink import INKS
from pages.sections.scaling.charts.delayed import delayed_chart
from pages.sections.scaling.charts.rules import rules_chart
from pages.sections.scaling.charts.window import window_chart
from pages.sections.scaling.controls import BLOCK_KIND, ELEMENT, FORMAT, KIND
from pages.sections.scaling.data import window_scene
from pages.sections.scaling.delayed_data import delayed_scene
from pages.sections.scaling.rules_data import rules_scene

SERIES = (1.0, 1.0, 8.0, 1.0, 0.25, 2.0)


def specs(theme="light"):
    window = window_scene(("e4m3", "gradient_like", 0, 0, 1024), 0.0)
    rules = rules_scene(("e4m3", 32, "gaussian", 0), 1.5)
    delayed = delayed_scene(SERIES, 2, 0, AmaxChoice.MAX)
    ink = INKS[theme]
    return [window_chart(window, ink), rules_chart(rules, ink), delayed_chart(delayed, ink)]


def data_of(part):
    """Every `data` of a spec, in the order in which Vega-Lite reads them."""
    if isinstance(part, dict):
        if isinstance(part.get("data"), dict):
            yield part["data"]
        for inner in part.values():
            yield from data_of(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from data_of(inner)


@pytest.mark.parametrize("theme", INKS)
def test_the_pictures_are_valid(theme):
    for spec in specs(theme):
        alt.VConcatChart.from_dict(spec, validate=True)
        json.dumps(spec, allow_nan=False)


def test_the_first_mention_of_a_name_has_the_values():
    for spec in specs():
        seen = set()
        for data in data_of(spec):
            name = data.get("name")
            assert ("values" in data) == (name is None or name not in seen)
            seen.add(name)


@pytest.mark.parametrize("name", FORMAT.options)
@pytest.mark.parametrize("kind", KIND.options)
def test_every_number_is_in_one_bar_and_edges_are_the_formats(name, kind):
    scene = window_scene((name, kind, 1, 0, 1024), 0.0)
    assert sum(row["share"] for row in scene.bins) == pytest.approx(1.0)
    format_, edges = FORMATS[name], scene.edges
    assert 2.0**edges.zero == format_.min_subnormal / 2
    assert 2.0**edges.normal == format_.min_normal
    assert 2.0**edges.beyond == pytest.approx(format_.max, rel=1e-12)
    assert edges.low < edges.zero < edges.normal < edges.beyond < edges.high


def test_bars_agree_with_the_shares_of_the_curve():
    scene = window_scene(("e4m3", "gaussian", 0, 0, 16384), 0.0)
    for row in scene.curve:
        left = sum(
            b["share"] for b in scene.bins if b["left"] + scene.bin_width - row["s"] <= scene.edges.zero
        )
        more = sum(b["share"] for b in scene.bins if b["left"] - row["s"] <= scene.edges.zero)
        assert left - 1e-12 <= row["dead"] <= more + 1e-12


@pytest.mark.parametrize("name", ELEMENT.options)
@pytest.mark.parametrize("kind", BLOCK_KIND.options)
def test_every_block_is_in_one_bar_of_each_rule(name, kind):
    scene = rules_scene((name, 32, kind, 0), 1.5)
    assert len(scene.rows) == 4
    for row in scene.rows:
        assert sum(b["share"] for b in row.bins) == pytest.approx(1.0)
        for b in row.bins:
            assert b["beyond"] == (b["x0"] >= scene.largest)
        assert [move["amax"] for move in row.moves] == np.arange(1, 4 + 1 / 64, 1 / 32).tolist()


def test_a_moved_block_lands_where_the_rule_says():
    scene = rules_scene(("e4m3", 32, "gaussian", 0), 1.5)
    lands = {row.title.split(":")[0]: {m["amax"]: m["lands"] for m in row.moves} for row in scene.rows}
    assert lands["e8m0, floor"][1.9375] == 1.9375 * 256
    assert lands["e8m0, even"][1.9375] == 1.9375 * 128
    assert lands["e8m0, even"][1.90625] == 1.90625 * 256
    assert lands["e8m0, round up"][1.75] == 448
    assert lands["e8m0, round up"][1.78125] == 1.78125 * 128
    assert lands["fp32"][3.0] == pytest.approx(448, rel=1e-6)


def test_a_step_is_drawn_with_the_history_of_its_scale():
    scene = delayed_scene(SERIES, 2, 0, AmaxChoice.MAX)
    rows = {row["step"]: row for row in scene.rows}
    assert [rows[s]["overflows"] for s in (1, 2, 3, 4, 5)] == [False, True, False, False, True]
    assert (rows[4]["first"], rows[4]["last"]) == (2, 3)
    assert (rows[1]["first"], rows[1]["last"]) == (0, 0)
    assert rows[4]["holds"] == 3.0
    assert rows[4]["bits"] == 5.0
    assert rows[2]["bits"] == -3.0
    assert scene.start == 2
    recent = delayed_scene(SERIES, 2, 0, AmaxChoice.MOST_RECENT)
    assert (recent.rows[3]["first"], recent.rows[3]["last"]) == (3, 3)
