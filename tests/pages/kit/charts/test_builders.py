"""Contract: marks that several pages draw say what their data say."""

import altair as alt

from pages.kit.charts.curves import Series, curves, line
from pages.kit.charts.ink import INKS
from pages.kit.charts.named_rows import dots, reference

DATA = alt.Chart(alt.NamedData("rows"))
X, Y = alt.X("ratio:Q", scale=alt.Scale(domain=[0, 2])), alt.Y("y:Q")


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
