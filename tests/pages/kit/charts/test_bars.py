"""Contract: a line's name and figures are above its bar, and its pieces follow each other."""

from pages.kit.charts.bars import ENDS, PIECES, Bar, bars
from pages.kit.charts.ink import INKS
from pages.kit.charts.parts import WORDS
from tests.pages.specs import rows as rows_of

NAMES = {"codes": "c", "scales": "s"}


def drawn(lines: list[Bar], room: int = 500):
    return bars(lines, NAMES, "MiB", room, INKS["light"])


def test_pieces_follow_each_other_in_the_order_of_their_names():
    spec = drawn([Bar(name="one", pieces={"scales": 1.0, "codes": 3.0}, label="4 MiB")], room=560)
    pieces = [(row["kind"], row["start"], row["end"]) for row in rows_of(spec, PIECES)]
    assert pieces == [("codes", 0.0, 3.0), ("scales", 3.0, 4.0)]
    assert [row[WORDS] for row in rows_of(spec, ENDS)] == ["one: 4 MiB"]
    assert spec["height"] == 560


def test_a_piece_without_size_is_left_out_and_the_width_of_the_others_is_known():
    lines = [
        Bar(name="one", pieces={"codes": 100.0, "scales": 1.0}, label=""),
        Bar(name="two", pieces={"codes": 0.0, "scales": 50.0}, label=""),
    ]
    spec = drawn(lines)
    rows = rows_of(spec, PIECES)
    assert [(row["line"], row["inside"]) for row in rows] == [("one", "c"), ("one", "s"), ("two", "s")]
    assert rows[1]["wide"] < 0.01 < 0.4 < rows[2]["wide"] < 0.5 < rows[0]["wide"] < 1
    assert [row[WORDS] for row in rows_of(spec, ENDS)] == ["one", "two"]
