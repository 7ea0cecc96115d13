"""Contract: the pictures of the page "Scaling" are valid Vega-Lite; what they are given is what is drawn."""

import json

import altair as alt
import numpy as np
import pytest

from fp8core.experiments.delayed_scaling import AmaxChoice
from fp8core.formats import FORMATS
from fp8core.inputs import LAWS, OFFERED
from pages.kit.charts.ink import INKS
from pages.scaling.charts.delayed import ROOM, delayed_chart
from pages.scaling.charts.rules import rules_chart
from pages.scaling.charts.scene import BIN
from pages.scaling.charts.stack import START
from pages.scaling.charts.window import window_chart
from pages.scaling.controls import ELEMENT, FORMAT, LOG_UNIFORM
from pages.scaling.data import window_scene
from pages.scaling.delayed_data import delayed_scene
from pages.scaling.rules_data import rules_scene
from tests.pages.specs import dataset

SOME_KINDS = [kind.value for kind in (*LAWS, *OFFERED[-1:])]
"""Every law, and one recorded layer."""
SERIES = (1.0, 1.0, 8.0, 1.0, 0.25, 2.0)


def specs(theme="light"):
    window = window_scene(("e4m3", "gradient_like", "x", 0, 0, 1024), 0.0)
    rules = rules_scene(("e4m3", 32, "gaussian", "x", 0), 1.5)
    delayed = delayed_scene(SERIES, 2, 0, AmaxChoice.MAX)
    ink = INKS[theme]
    return [window_chart(window, ink), rules_chart(rules, ink), delayed_chart(delayed, ink)]


def data_of(part):
    """Every `data` of a spec."""
    if isinstance(part, dict):
        if isinstance(part.get("data"), dict):
            yield part["data"]
        for inner in part.values():
            yield from data_of(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from data_of(inner)


def encodings(spec, channel):
    """Every encoding of a channel in a stack of panels."""
    return [
        layer["encoding"][channel]
        for panel in spec["vconcat"]
        for layer in panel["layer"]
        if channel in layer["encoding"]
    ]


@pytest.mark.parametrize("theme", INKS)
def test_the_pictures_are_valid(theme):
    for spec in specs(theme):
        # `legible` anchors legends with Vega's signals, which Vega-Lite's schema does not know.
        drawn = {**spec, "config": {}, "datasets": {}}
        alt.VConcatChart.from_dict(drawn, validate=True)
        json.dumps(drawn, allow_nan=False)


def test_a_picture_names_the_data_it_gets():
    for spec in specs():
        assert {data["name"] for data in data_of(spec) if "name" in data} == set(spec["datasets"])


def test_no_step_is_drawn_where_the_labels_of_the_heights_stand():
    spec = delayed_chart(delayed_scene(SERIES, 2, 0, AmaxChoice.MAX), INKS["light"])
    spans = {tuple(x["scale"]["domain"]) for x in encodings(spec, "x") if "padding" in x.get("scale", {})}
    ((low, high),) = spans
    assert (-0.5 - low) / (high - low) == pytest.approx(ROOM)
    assert high == len(SERIES) - 0.5


def test_a_picture_opens_at_its_start():
    for spec, start in zip(specs(), (0.0, 1.5, 2), strict=True):
        (param,) = spec["params"]
        assert param == {"name": START, "value": start}


@pytest.mark.parametrize("name", FORMAT.options)
@pytest.mark.parametrize("kind", SOME_KINDS)
def test_every_number_is_in_one_bar_and_edges_are_the_formats(name, kind):
    scene = window_scene((name, kind, "dy", 1, 0, 1024), 0.0)
    assert scene.bins["share"].sum() == pytest.approx(1.0)
    format_, edges = FORMATS[name], scene.edges
    assert 2.0**edges.zero == format_.min_subnormal / 2
    assert 2.0**edges.normal == format_.min_normal
    assert 2.0**edges.beyond == pytest.approx(format_.max, rel=1e-12)
    assert edges.low < edges.zero < edges.normal < edges.beyond < edges.high


def test_bars_agree_with_the_shares_of_the_curve():
    scene = window_scene(("e4m3", "gaussian", "x", 0, 0, 16384), 0.0)
    left, share, zero = scene.bins["left"], scene.bins["share"], scene.edges.zero
    for s, dead in zip(scene.curve["s"], scene.curve["dead"], strict=True):
        assert share[left + BIN - s <= zero].sum() - 1e-12 <= dead <= share[left - s <= zero].sum() + 1e-12


@pytest.mark.parametrize("name", ELEMENT.options)
@pytest.mark.parametrize("kind", [*SOME_KINDS, LOG_UNIFORM])
def test_every_block_is_in_one_bar_of_each_rule(name, kind):
    scene = rules_scene((name, 32, kind, "dy", 0), 1.5)
    assert len(scene.rows) == 4
    spec = rules_chart(scene, INKS["light"])
    for i, row in enumerate(scene.rows):
        assert row.bins["share"].sum() == pytest.approx(1.0)
        assert (row.bins["beyond"] == (row.bins["x0"] >= scene.largest)).all()
        assert dataset(spec, f"moves {i}")["amax"] == np.arange(1, 4 + 1 / 64, 1 / 32).tolist()


def test_a_moved_block_lands_where_the_rule_says():
    scene = rules_scene(("e4m3", 32, "gaussian", "x", 0), 1.5)
    spec, lands = rules_chart(scene, INKS["light"]), {}
    for i, row in enumerate(scene.rows):
        moves = dataset(spec, f"moves {i}")
        lands[row.title.split(":")[0]] = dict(zip(moves["amax"], moves["lands"], strict=True))
    assert lands["e8m0, floor"][1.9375] == 1.9375 * 256
    assert lands["e8m0, even"][1.9375] == 1.9375 * 128
    assert lands["e8m0, even"][1.90625] == 1.90625 * 256
    assert lands["e8m0, round up"][1.75] == 448
    assert lands["e8m0, round up"][1.78125] == 1.78125 * 128
    assert lands["fp32"][3.0] == pytest.approx(448, rel=1e-6)


def test_a_step_is_drawn_with_the_history_of_its_scale():
    scene = delayed_scene(SERIES, 2, 0, AmaxChoice.MAX)
    steps = scene.steps
    assert steps["step"].tolist() == [1, 2, 3, 4, 5]
    assert steps["overflows"].tolist() == [False, True, False, False, True]
    assert list(zip(steps["first"], steps["last"], strict=True)) == [(0, 0), (0, 1), (1, 2), (2, 3), (3, 4)]
    assert steps["holds"][3] == 3.0
    assert steps["bits"][[1, 3]].tolist() == [-3.0, 5.0]
    assert scene.start == 2
    recent = delayed_scene(SERIES, 2, 0, AmaxChoice.MOST_RECENT)
    assert (recent.steps["first"][3], recent.steps["last"][3]) == (3, 3)


def test_a_series_that_never_overflows_opens_at_its_last_step():
    assert delayed_scene((4.0, 2.0, 1.0), 2, 0, AmaxChoice.MAX).start == 2
