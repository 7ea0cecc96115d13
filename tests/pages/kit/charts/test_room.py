"""A chart is as high as its place allows, and its words keep their room."""

import pytest

from pages.kit.charts.room import PROJECTED_ROOM, ROOM, in_room

LINE = {"encoding": {"y": {"type": "quantitative"}}}
ROWS = {"encoding": {"y": {"type": "nominal"}}}
AROUND = 75


@pytest.mark.parametrize("room", [ROOM, PROJECTED_ROOM])
def test_a_high_chart_becomes_as_high_as_the_room_and_nothing_else_changes(room):
    spec = {**LINE, "height": 2 * room, "data": {"name": "rows"}}
    assert in_room(spec, room) == {**spec, "height": max(room - AROUND, round(0.8 * room))}
    assert spec["height"] == 2 * room


def test_a_low_chart_grows_to_twice_its_height_at_most():
    assert in_room({**LINE, "height": 300})["height"] == ROOM - AROUND
    assert in_room({**LINE, "height": 100})["height"] == 200


@pytest.mark.parametrize(
    "spec", [{**ROWS, "height": 300}, {"mark": "rect", "height": 300}], ids=["names", "no axis"]
)
def test_what_has_no_axis_in_numbers_does_not_grow(spec):
    assert in_room(spec) is spec


def test_rows_with_names_stay_high_enough_for_the_names():
    assert in_room({**ROWS, "height": 1000})["height"] == 900


def test_a_picture_without_an_axis_at_its_side_keeps_its_height():
    spec = {"encoding": {"y": {"type": "quantitative", "axis": None}}, "height": 900}
    assert in_room(spec) == spec


def test_views_below_one_another_share_the_room_but_a_flat_one():
    spec = {"vconcat": [{"height": 50}, {**LINE, "height": 800}, {"layer": [LINE], "height": 400}]}
    flat, *others = (view["height"] for view in in_room(spec)["vconcat"])
    assert flat == 50
    assert others[0] == 2 * others[1]
    assert sum(others) <= ROOM


def test_a_long_legend_below_moves_to_the_side():
    color = {"scale": {"domain": list("abcdef")}, "legend": {"orient": "bottom", "columns": 2}}
    spec = {"layer": [{"encoding": {**LINE["encoding"], "color": color}}], "height": 900}
    legend = in_room(spec)["layer"][0]["encoding"]["color"]["legend"]
    assert (legend["orient"], legend["columns"]) == ("right", 1)
    assert color["legend"]["orient"] == "bottom"


def test_beside_a_lesson_a_long_legend_stays_and_the_picture_with_it():
    color = {"scale": {"domain": list("abcdef")}, "legend": {"orient": "bottom", "columns": 2}}
    spec = {"layer": [{"encoding": {**LINE["encoding"], "color": color}}], "height": 900}
    assert in_room(spec, is_narrow=True) is spec
