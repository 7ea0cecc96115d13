"""A table shows a dash where nothing is known, not a word of the programming language."""

from streamlit.testing.v1 import AppTest


def _page():
    import math

    from pages.kit.tables.arrow_table import arrow_table
    from pages.kit.tables.draw import draw_rows

    draw_rows(arrow_table([{"way": "bf16", "GB moved": math.nan}]))


def test_what_is_not_known_is_a_dash():
    table = AppTest.from_function(_page).run().dataframe[0]
    assert table.proto.placeholder == "–"
    assert table.value["GB moved"].isna().all()
