"""Contract: no line runs through a word of the pictures of the page "Why FP8"."""

import pytest

from pages.kit.charts.ink import LIGHT
from pages.sections.why.charts.roofline import Place, roofline


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_gap_in_a_roof_goes_on_beyond_its_name(count):
    places = [
        Place(format=name, peak_tflop_s=peak, intensity=512.0, tflop_s=peak, limit="tensor cores")
        for name, peak in (("bf16", 2250.0), ("fp8", 4500.0), ("fp4", 9000.0))
    ][:count]
    marks = [layer["mark"] for layer in roofline(places, 8000.0, LIGHT)["layer"]]
    gap_ends = [mark["xOffset"] + mark["size"] ** 0.5 / 2 for mark in marks if "xOffset" in mark]
    name_ends = [mark["dx"] for mark in marks if mark["type"] == "text" and mark["align"] == "right"]
    assert len(name_ends) == len(gap_ends) == count
    assert all(gap - name >= 3 for gap, name in zip(gap_ends, name_ends, strict=True))
    assert gap_ends[-1] == 0, "the mark of the highest roof lies farthest to the right, but not at the end"
    assert len(set(gap_ends[-2:])) == min(count, 2), "neighbors stand side by side"
