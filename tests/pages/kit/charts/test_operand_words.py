"""Contract: the names that people use follow from tiles and scale rules."""

import pytest

from fp8core.linear import FPROP, LayerTensor, Side
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE
from pages.kit.charts.operand_words import granularity, operand_name, scale_name

X, W = LayerTensor.X, LayerTensor.W


@pytest.mark.parametrize(
    ("tensor", "tile", "name"),
    [
        (X, (WHOLE, WHOLE), "tensor-wise"),
        (X, (1, WHOLE), "row-wise, token-wise"),
        (X, (WHOLE, 1), "row-wise, channel-wise"),
        (W, (1, WHOLE), "row-wise, channel-wise"),
        (X, (1, 32), "group-wise"),
        (X, (128, 1), "group-wise"),
        (W, (128, 128), "block-wise"),
    ],
    ids=str,
)
def test_a_tile_has_the_name_that_people_use(tensor, tile, name) -> None:
    assert granularity(tensor, tile) == name


def test_a_scale_is_named_by_its_format_and_levels() -> None:
    named = {name: scale_name(RECIPES[name].fprop.a.scale_rule) for name in ("mxfp8", "nvfp4", "rowwise")}
    assert named == {
        "mxfp8": "E8M0, or ue8m0",
        "nvfp4": "two-level: e4m3 under fp32",
        "rowwise": "fp32",
    }


def test_an_operand_in_bf16_has_no_scale() -> None:
    assert operand_name(X, RECIPES["mxfp4_train"].operand(FPROP, Side.A)) == "bf16: no scale"
