"""A chart for a projector is as flat as the screen needs, and its words keep their room."""

from pages.kit.charts.room import ROOM, in_room

LINE = {"encoding": {"y": {"type": "quantitative"}}}
ROWS = {"encoding": {"y": {"type": "nominal"}}}


def test_a_chart_that_fits_is_left_alone():
    spec = {**LINE, "height": ROOM}
    assert in_room(spec) is spec


def test_a_high_chart_becomes_as_high_as_the_room_and_nothing_else_changes():
    spec = {**LINE, "height": 2 * ROOM, "data": {"name": "rows"}}
    assert in_room(spec) == {**spec, "height": ROOM}
    assert spec["height"] == 2 * ROOM


def test_rows_with_names_stay_high_enough_for_the_names():
    assert in_room({**ROWS, "height": 1000})["height"] == 900


def test_a_picture_without_an_axis_at_its_side_keeps_its_height():
    spec = {"encoding": {"y": {"type": "quantitative", "axis": None}}, "height": 900}
    assert in_room(spec) == spec


def test_views_below_one_another_share_the_room_but_a_flat_one():
    spec = {"vconcat": [{"height": 50}, {**LINE, "height": 400}, {"layer": [LINE], "height": 200}]}
    flat, *others = (view["height"] for view in in_room(spec)["vconcat"])
    assert flat == 50
    assert others == [160, 80]


def test_a_long_legend_below_moves_to_the_side():
    color = {"scale": {"domain": list("abcdef")}, "legend": {"orient": "bottom", "columns": 2}}
    spec = {"layer": [{"encoding": {**LINE["encoding"], "color": color}}], "height": 600}
    legend = in_room(spec)["layer"][0]["encoding"]["color"]["legend"]
    assert (legend["orient"], legend["columns"]) == ("right", 1)
    assert color["legend"]["orient"] == "bottom"


def test_beside_a_lesson_a_long_legend_stays_and_the_picture_with_it():
    color = {"scale": {"domain": list("abcdef")}, "legend": {"orient": "bottom", "columns": 2}}
    spec = {"layer": [{"encoding": {**LINE["encoding"], "color": color}}], "height": 600}
    assert in_room(spec, is_narrow=True) is spec
