"""Facts about templates of charts."""

import time
from concurrent.futures import ThreadPoolExecutor

import altair as alt
import numpy as np
import pytest

from pages.kit.charts.template import number, several, template, text
from tests.pages.specs import dataset


@template
def bars(color: str) -> alt.LayerChart:
    rows = alt.Chart(alt.NamedData("rows")).mark_bar(color=color)
    x = alt.X("us:Q", title=text("title", "time"), scale=alt.Scale(domain=several("domain", [0.0, 1.0])))
    return alt.layer(rows.encode(x=x, y="name:N"), rows.mark_rule()).properties(height=number("height", 120))


def test_sessions_that_come_at_once_build_a_chart_once():
    builds = []

    @template
    def slow(color: str) -> alt.Chart:
        builds.append(color)
        time.sleep(0.05)
        return alt.Chart(alt.NamedData("rows")).mark_bar(color=color)

    with ThreadPoolExecutor(4) as sessions:
        assert len(set(sessions.map(slow, ["red"] * 4))) == 1
    assert builds == ["red"]


def test_a_hole_takes_its_value_wherever_it_is():
    spec = bars("green").filled(title="µs", domain=[2, 4, 8], height=77)
    x = spec["layer"][0]["encoding"]["x"]
    assert (x["title"], x["scale"]["domain"], spec["height"]) == ("µs", [2, 4, 8], 77)
    # `legible` anchors legends with Vega's signals, which Vega-Lite's schema does not know.
    alt.Chart.from_dict({**spec, "config": {}}, validate=True)


def test_filling_leaves_the_template_as_it_was():
    chart = bars("green")
    before = repr(chart.spec)
    chart.filled({"rows": {"us": [1.0], "name": ["a"]}}, title="µs", domain=[0, 2], height=1)
    assert repr(chart.spec) == before


def test_a_dataset_arrives_as_it_was_given():
    columns = {"us": np.array([1.5, 2.5]), "name": ["a", "b"], "ticks": [[1, 2], []], "gap": [None, 3.0]}
    spec = bars("green").filled({"rows": columns}, title="µs", domain=[0, 2], height=1)
    assert dataset(spec, "rows") == {name: list(column) for name, column in columns.items()}


@pytest.mark.parametrize("values", [{"title": "µs"}, {"title": "µs", "domain": [0], "height": 1, "width": 2}])
def test_a_hole_without_a_value_or_a_value_without_a_hole_is_refused(values):
    with pytest.raises(ValueError, match=r"the chart has the holes \['domain', 'height', 'title'\], got"):
        bars("green").filled(**values)
