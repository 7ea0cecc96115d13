"""Contract: a bar is a line's share of its record, slow ones say so, and the record is a rule at 100%."""

import pytest

from pages.kit.charts.ink import DARK, INKS, LIGHT
from pages.sanity_check.charts.shares import Bar, shares_chart
from tests.pages.specs import rows

SLOW_BELOW = 0.85


def bar(name: str, share: float) -> Bar:
    return Bar(
        name=name, share=share, rate="900 TFLOP/s", recorded="1,000 TFLOP/s", source="NVIDIA H200, today"
    )


def layers(spec: dict) -> list[tuple[str, list[dict]]]:
    found = []
    for layer in spec["layer"]:
        data = layer["data"]
        found.append(
            (layer["mark"]["type"], data["values"] if "values" in data else rows(spec, data["name"]))
        )
    return found


@pytest.mark.parametrize("ink", INKS.values(), ids=INKS)
def test_bars_keep_their_order_and_what_is_slow_is_slow(ink):
    bars = [bar("z", 1.02), bar("a", 0.85), bar("m", 0.849)]
    spec = shares_chart(bars, SLOW_BELOW, ink)
    (kind, drawn), *_ = layers(spec)
    assert kind == "bar"
    assert [(row["name"], row["verdict"]) for row in drawn] == [
        ("z", "normal"),
        ("a", "normal"),
        ("m", "slow"),
    ]
    encoding = spec["layer"][0]["encoding"]
    assert encoding["y"]["scale"]["domain"] == ["z", "a", "m"]
    assert encoding["color"]["scale"]["range"] == [ink.scale, ink.lost]


def test_rules_stand_at_the_record_and_where_slow_begins():
    spec = shares_chart([bar("a", 1.0)], SLOW_BELOW, LIGHT)
    rules = [drawn[0]["at"] for kind, drawn in layers(spec) if kind == "rule"]
    assert rules == [1.0, SLOW_BELOW]
    names = [drawn[0]["name"] for kind, drawn in layers(spec) if kind == "text" and "at" in drawn[0]]
    assert names == ["record", "slow below 85%"]


@pytest.mark.parametrize(("share", "top"), [(0.2, 1.2), (1.0, 1.2), (3.0, 3.3)])
def test_the_axis_holds_every_bar_and_the_record(share, top):
    spec = shares_chart([bar("a", share)], SLOW_BELOW, DARK)
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, pytest.approx(top)]


def test_without_a_bar_there_is_no_chart():
    with pytest.raises(ValueError, match="no bar to draw"):
        shares_chart([], SLOW_BELOW, LIGHT)
