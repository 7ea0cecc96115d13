"""Facts of the page "Design a recipe" against sums by hand."""

import pytest

from pages.kit.lesson.facts import fact


def test_mxfp8_has_six_copies_of_eight_bits_and_a_quarter():
    assert fact("design.copies", {"design_from": "mxfp8"}) == 6
    assert fact("design.bits", {"design_from": "mxfp8"}) == pytest.approx(8.25)
    assert fact("design.copies", {"design_from": "nvfp4"}) == 5
