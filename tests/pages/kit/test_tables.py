"""Contract: words of a table stand at the left and numbers at the right; text from outside stays text."""

import math
import re

from pages.kit.charts.ink import INKS
from pages.kit.tables import arrow_table, grid, pairs

INK = INKS["light"]


def cells(html: str, tag: str) -> list[tuple[str, str]]:
    return re.findall(rf'<{tag}[^>]*style="([^"]*)"[^>]*>([^<]*)</{tag}>', html)


def test_the_first_columns_are_words_and_the_others_numbers():
    html = grid(["way", "kind", "µs"], [["a", "b", "1"], ["c", "d", "2"]], INK, names=2)
    assert ["text-align:right" in style for style, _ in cells(html, "th")] == [False, False, True]
    assert ["text-align:right" in style for style, _ in cells(html, "td")] == [False, False, True] * 2


def test_the_marked_row_stands_out_and_only_the_first_column_is_held():
    html = grid(["way", "µs"], [["a", "1"], ["c", "2"]], INK, marked=[1], is_sticky=True)
    assert ["font-weight:600" in style for style, _ in cells(html, "td")] == [False, False, True, True]
    assert ["sticky" in style for style, _ in cells(html, "th") + cells(html, "td")] == [True, False] * 3


def test_markup_in_a_cell_is_shown_as_text():
    assert "<b>" not in grid(["<b>"], [["<b>"]], INK) + pairs([("<b>", "<b>")], INK)


def test_a_table_has_the_rows_in_order_and_nothing_where_there_is_no_number():
    rows = [{"name": "a", "time": 1, "ratio": math.nan}, {"name": "b", "time": 2.5, "ratio": None}]
    assert arrow_table(rows).to_pylist() == [
        {"name": "a", "time": 1.0, "ratio": None},
        {"name": "b", "time": 2.5, "ratio": None},
    ]
