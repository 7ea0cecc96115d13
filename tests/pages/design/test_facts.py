"""Facts of the page "Design a recipe" against sums by hand."""

import pytest

from fp8core.recipes import RECIPES
from fp8core.recipes.text import to_text
from kernels.bench.shapes import LAYER
from pages.design.derived import facts
from pages.kit.lesson.facts import fact


def test_mxfp8_has_six_copies_of_eight_bits_and_a_quarter():
    assert fact("design.copies", {"design_from": "mxfp8"}) == 6
    assert fact("design.bits", {"design_from": "mxfp8"}) == pytest.approx(8.25)
    assert fact("design.copies", {"design_from": "nvfp4"}) == 5


def test_a_matmul_in_bf16_rescales_nothing_and_others_once_a_tile_of_k():
    found = {name: facts(to_text(RECIPES[name])).matmuls["fprop"] for name in ("mxfp4_train", "deepseek_v3")}
    assert found["mxfp4_train"].rescales == 0
    assert found["deepseek_v3"].rescales == LAYER.in_ // 128
