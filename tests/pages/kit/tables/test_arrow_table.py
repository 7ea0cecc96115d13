"""Facts about tables that Streamlit sends as they are."""

import math

from pages.kit.tables.arrow_table import arrow_table


def test_a_table_has_the_rows_in_order_and_nothing_where_there_is_no_number():
    rows = [{"name": "a", "time": 1, "ratio": math.nan}, {"name": "b", "time": 2.5, "ratio": None}]
    assert arrow_table(rows).to_pylist() == [
        {"name": "a", "time": 1.0, "ratio": None},
        {"name": "b", "time": 2.5, "ratio": None},
    ]


def test_no_rows_make_an_empty_table():
    assert arrow_table([]).num_rows == 0
