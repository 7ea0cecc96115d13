"""Rules for every chart, checked on the rules themselves and on every file that draws."""

import re
import tomllib
from pathlib import Path

import pytest

from pages.kit.charts.ink import INKS
from pages.kit.charts.legible import FLUSH, PROJECTED_ROOM, ROOM, SMALLEST, in_room, legible
from pages.kit.charts.parts import SHAPES

TOP = Path(__file__).resolve().parents[4]
SIZE = re.compile(r"""(?:\b(?:fontSize|size|[a-z]+FontSize)["']?\s*[=:]\s*)(\d+(?:\.\d+)?)\b""")
LEGEND = {"orient": "bottom", "columns": 3}
NAMES = ["one name", "a name of some length"]


def one_legend(legend):
    color = {"field": "a", "type": "nominal", "scale": {"domain": NAMES}, "legend": legend}
    return legible({"mark": "point", "encoding": {"color": color}})["encoding"]["color"]["legend"]


def test_no_text_of_a_chart_is_written_smaller_than_eleven_pixels():
    def sizes(path: Path) -> list[float]:
        texts = re.findall(r"mark_text\(.*?\)|[a-zA-Z]*[fF]ontSize.{0,12}", path.read_text(), flags=re.S)
        return [float(size) for text in texts for size in SIZE.findall(text)]

    sizes_by_file = {path: sizes(path) for path in (TOP / "pages").rglob("charts/*.py")}
    assert any(sizes_by_file.values())
    assert {
        path: small for path, of in sizes_by_file.items() if (small := [s for s in of if s < SMALLEST])
    } == {}


def test_the_last_label_of_a_horizontal_axis_stays_inside():
    x = {"field": "a", "type": "quantitative"}
    inner = {"mark": "bar", "encoding": {"x": x, "y": x}}
    panels = legible({"vconcat": [{"layer": [inner]}]})["vconcat"]
    encoding = panels[0]["layer"][0]["encoding"]
    assert encoding["x"]["axis"]["labelFlush"] == FLUSH
    assert "axis" not in encoding["y"]
    assert legible({"mark": "bar", "encoding": {"x": {**x, "axis": None}}})["encoding"]["x"]["axis"] is None


def test_a_legend_has_no_more_columns_than_the_width_has_room_for():
    assert "containerSize" in one_legend(LEGEND)["columns"]["expr"]
    assert "containerSize" in one_legend(LEGEND)["labelLimit"]["expr"]
    assert one_legend({**LEGEND, "columns": 1})["columns"] == 1
    assert one_legend({"orient": "none"}) == {"orient": "none"}


def test_a_long_title_breaks_and_no_word_is_lost():
    title = legible({"mark": "bar", "title": "more words than a telephone shows"})["title"]["text"]["expr"]
    assert '["more words than a", "telephone shows"]' in title
    x = {"field": "a", "type": "quantitative", "title": "a title of an axis that is rather long for a page"}
    lines = legible({"mark": "bar", "encoding": {"x": x}})["encoding"]["x"]["title"]
    assert len(lines) == 2
    assert " ".join(lines) == x["title"]


def test_a_mark_with_nothing_to_tell_is_hidden_from_screen_readers():
    rule = {"mark": "rule", "encoding": {"x": {"datum": 1}}}
    assert legible(rule)["mark"] == {"type": "rule", "aria": False}
    tooltip_rule = {"mark": "rule", "encoding": {"tooltip": {"field": "a", "type": "nominal"}}}
    assert legible(tooltip_rule)["mark"] == {"type": "rule"}


def test_the_spec_that_is_given_stays_as_it_was():
    x = {"field": "a", "type": "quantitative", "title": "a title of an axis that is rather long for a page"}
    spec = {"mark": "bar", "title": "two words", "encoding": {"x": x}}
    before = repr(spec)
    legible(spec)
    assert repr(spec) == before


@pytest.mark.parametrize("theme", INKS)
def test_series_differ_in_color_and_in_shape_and_start_with_the_theme(theme):
    ink = INKS[theme]
    config = tomllib.loads((TOP / ".streamlit" / "config.toml").read_text())
    colors = config["theme"][theme]["chartCategoricalColors"]
    assert list(ink.series[: len(colors)]) == colors
    assert len({*ink.series}) == len({*SHAPES}) == len(ink.series) == len(SHAPES)


LINE = {"encoding": {"y": {"type": "quantitative"}}}
ROWS = {"encoding": {"y": {"type": "nominal"}}}
AROUND = 75


@pytest.mark.parametrize("room", [ROOM, PROJECTED_ROOM])
def test_a_high_chart_becomes_as_high_as_the_room_and_nothing_else_changes(room):
    spec = {**LINE, "height": 2 * room, "data": {"name": "rows"}}
    assert in_room(spec, room) == {**spec, "height": max(room - AROUND, round(0.8 * room))}
    assert spec["height"] == 2 * room


def test_a_low_chart_grows_but_its_rows_with_names():
    assert in_room({**LINE, "height": 300})["height"] == ROOM - AROUND
    assert in_room({**ROWS, "height": 300})["height"] == 300


def test_rows_with_names_stay_high_enough_for_the_names():
    assert in_room({**ROWS, "height": 1000})["height"] == 900


def test_views_below_one_another_share_the_room_but_a_flat_one():
    spec = {"vconcat": [{"height": 50}, {**LINE, "height": 800}, {"layer": [LINE], "height": 400}]}
    flat, *others = (view["height"] for view in in_room(spec)["vconcat"])
    assert flat == 50
    assert others[0] == 2 * others[1]
    assert sum(others) <= ROOM
