"""Contract: only an id that the server could have given is taken from a cookie."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.classroom.visitor import is_well_formed, new_visitor


@pytest.mark.parametrize(
    "told",
    ["", "a" * 31, "a" * 33, "A" * 32, "g" * 32, "٣" * 32, "a" * 32 + "\n", "'; DROP TABLE answers;--"],
)
def test_an_id_has_thirty_two_hexadecimal_digits(told):
    assert not is_well_formed(told)
    assert is_well_formed(new_visitor())


def test_a_session_without_a_cookie_keeps_an_id_of_its_own():
    script = "import streamlit as st\nfrom pages.kit.classroom.visitor import visitor\nst.text(visitor())"
    at, other = AppTest.from_string(script).run(), AppTest.from_string(script).run()
    first = at.text[0].value
    assert is_well_formed(first)
    assert at.run().text[0].value == first != other.text[0].value
