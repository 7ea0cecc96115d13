"""Facts of the page "Tile layouts" against counts by hand."""

import pytest

from pages.kit.lesson.facts import fact


def test_a_tile_of_one_k_is_rescaled_after_every_product():
    along_k = {"show": "rule", "a_m": "1", "a_k": "128"}
    assert fact("tile_layouts.chosen_rescales", along_k) == 4096 // 128
    assert fact("tile_layouts.chosen_rescales", along_k | {"a_m": "128", "a_k": "1"}) == 4096


def test_six_copies_of_a_byte_weigh_as_much_as_bf16_and_their_scales_more():
    mxfp8 = {"recipe": "mxfp8"}
    assert fact("tile_layouts.copies", mxfp8) == 6
    assert fact("tile_layouts.bytes_of_bf16", mxfp8) == pytest.approx(1 + 1 / 32)
    assert fact("tile_layouts.scale_share", mxfp8) == pytest.approx(1 / 32)


def test_tiles_of_x_turn_with_the_summed_axis():
    assert fact("tile_layouts.x_tile", {"matmul": "fprop"}) == "1 × 128"
    assert fact("tile_layouts.x_tile", {"matmul": "wgrad"}) == "128 × 1"
    assert fact("tile_layouts.x_tile", {"matmul": "dgrad"}) == "none"
    assert fact("tile_layouts.k_axis", {"matmul": "wgrad"}) == "tokens"


def test_nvfp4_spends_half_a_bit_on_scales():
    assert fact("tile_layouts.operand_bits", {"recipe": "nvfp4"}) == pytest.approx(4.5, abs=1e-5)
