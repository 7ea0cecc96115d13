"""Contract: marks that several pages draw say what their data say."""

from itertools import pairwise

import altair as alt
import pytest

from pages.kit.charts.bars import histogram
from pages.kit.charts.curves import Series, curves, line
from pages.kit.charts.ink import INKS, Ink
from pages.kit.charts.labels import apart, beside
from pages.kit.charts.named_rows import dots, reference
from pages.kit.charts.tile_marks import heat_map, position

by_theme = pytest.mark.parametrize("ink", INKS.values(), ids=INKS)
DATA = alt.Chart(alt.NamedData("rows"))
X, Y = alt.X("ratio:Q", scale=alt.Scale(domain=[0, 2])), alt.Y("y:Q")


def test_words_stand_on_the_side_that_has_room() -> None:
    left, right = (one.to_dict() for one in beside(DATA, "datum.k > 3", dx=7, fontSize=14))
    for spec, condition, align, dx in (
        (left, "datum.right", "right", -7),
        (right, "!datum.right", "left", 7),
    ):
        assert spec["transform"] == [
            {"calculate": "datum.k > 3", "as": "right"},
            {"filter": condition},
        ]
        assert (spec["mark"]["align"], spec["mark"]["dx"]) == (align, dx)


@pytest.mark.parametrize("wanted", [[], [1.0], [3.0, 1.0, 1.1, 1.2], [0.0, 9.0]])
def test_names_keep_their_order_and_their_distance(wanted) -> None:
    places = apart(wanted, 1.0)
    ordered = sorted(places)
    assert all(high - low >= 1.0 - 1e-9 for low, high in pairwise(ordered))
    assert [wanted[places.index(place)] for place in ordered] == sorted(wanted)
    assert sum(places) == pytest.approx(sum(wanted))


def test_a_series_has_one_legend_in_all_channels() -> None:
    series = Series(
        names=["a", "b"], colors=["#000", "#fff"], shapes=["circle", "square"], dashes=[[1, 0], [2, 2]]
    )
    path, points = (one.to_dict() for one in curves(DATA.encode(x=X, y=Y), series, []))
    assert line(DATA.encode(x=X, y=Y), series).to_dict()["encoding"] == path["encoding"]
    scales = {
        (name, tuple(map(str, channel["scale"]["range"]))): channel["scale"]["domain"]
        for spec in (path, points)
        for name, channel in spec["encoding"].items()
        if name in ("color", "shape", "strokeDash")
    }
    assert set(map(tuple, scales.values())) == {("a", "b")}
    assert {name for name, _ in scales} == {"color", "shape", "strokeDash"}


def test_a_point_lies_on_its_interval_and_the_reference_on_the_same_axis() -> None:
    ink = INKS["light"]
    interval, point = (one.to_dict()["encoding"] for one in dots(DATA, X, Y, [], low="low", high="high"))
    assert (interval["x"]["field"], interval["x2"]["field"]) == ("low", "high")
    assert (
        interval["x"]["scale"]
        == point["x"]["scale"]
        == reference(1, X, ink).to_dict()["encoding"]["x"]["scale"]
    )
    assert (point["x"]["field"], X.to_dict()["field"]) == ("ratio", "ratio"), "the axis stays as it was given"
    assert len(dots(DATA, X, Y, [])) == 1


@by_theme
def test_lost_numbers_are_hollow_and_those_with_fewer_bits_gray(ink: Ink) -> None:
    fill, stroke = (
        histogram(DATA, [], ink, lost="datum.lost", less="datum.less").to_dict()["encoding"][name]
        for name in ("fill", "stroke")
    )
    assert [(one["test"], one["value"]) for one in fill["condition"]] == [
        ("datum.lost", ink.lost_area),
        ("datum.less", ink.mid),
    ]
    assert fill["value"] == ink.dot
    assert ([one["value"] for one in stroke["condition"]], stroke["value"]) == ([ink.lost], ink.page)


@by_theme
def test_a_tile_without_a_scale_is_gray(ink: Ink) -> None:
    encoding = heat_map(DATA, position(10, 20), ink, field="shade").to_dict()["encoding"]
    assert encoding["color"]["condition"] == {"test": "!isValid(datum.log2)", "value": ink.panel}
    assert encoding["color"]["field"] == "shade"
    assert [encoding[name]["scale"]["domain"] for name in "xy"] == [[0, 10], [0, 20]]
