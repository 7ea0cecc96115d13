"""Contract: a line's name and figures can be read at any width, beside its bar or above it."""

import pytest

from pages.kit.charts.above import WORDS
from pages.kit.charts.bars import ENDS, PIECES, Bar, bars
from pages.kit.charts.ink import INKS
from tests.pages.specs import rows as rows_of

KINDS = ("codes", "scales")


def drawn(*names: str, inside: dict[str, str] | None = None):
    lines = [Bar(name=name, pieces={"codes": 3.0, "scales": 1.0}, label="4 MiB") for name in names]
    return bars(lines, KINDS, "MiB", INKS["light"], names=inside or {})


@pytest.mark.parametrize(
    ("names", "inside", "words"),
    [
        (["A100, fp8", "B200, fp4"], {}, ["4 MiB", "4 MiB"]),
        (["A100, fp8", "per tensor, hybrid"], {}, ["A100, fp8: 4 MiB", "per tensor, hybrid: 4 MiB"]),
        (["A100, fp8"], {"codes": "c"}, ["A100, fp8: 4 MiB"]),
    ],
    ids=["short", "long", "named pieces"],
)
def test_only_short_names_of_plain_bars_stand_beside_them(names, inside, words):
    spec = drawn(*names, inside=inside)
    assert [row[WORDS] for row in rows_of(spec, ENDS)] == words
    is_beside = words[0] == "4 MiB"
    assert (spec["layer"][0]["encoding"]["y"]["axis"].get("labels", True)) is is_beside
    assert ("value" in spec["layer"][-1]["encoding"]["x"]) is not is_beside


def test_the_pieces_of_a_bar_follow_each_other_in_the_order_of_the_kinds():
    rows = rows_of(drawn("one"), PIECES)
    assert [(row["kind"], row["start"], row["end"]) for row in rows] == [
        ("codes", 0.0, 3.0),
        ("scales", 3.0, 4.0),
    ]


def test_a_piece_without_size_is_left_out_and_the_width_of_the_others_is_known():
    lines = [
        Bar(name="one", pieces={"codes": 100.0, "scales": 1.0}, label=""),
        Bar(name="two", pieces={"codes": 0.0, "scales": 50.0}, label=""),
    ]
    spec = bars(lines, KINDS, "MiB", INKS["light"], names={"codes": "codes", "scales": "scales"})
    rows = rows_of(spec, PIECES)
    assert [(row["line"], row["inside"]) for row in rows] == [
        ("one", "codes"),
        ("one", "scales"),
        ("two", "scales"),
    ]
    assert rows[1]["wide"] < 0.01 < 0.4 < rows[2]["wide"] < 0.5 < rows[0]["wide"] < 1
    assert [row[WORDS] for row in rows_of(spec, ENDS)] == ["one", "two"]


def test_bars_are_as_high_as_their_room():
    lines = [Bar(name=f"bar {i}", pieces={"codes": 1.0}, label="") for i in range(3)]
    assert bars(lines, KINDS, "MiB", INKS["light"], names={}, room=560)["height"] == 560
