"""Contract: a matmul may save the copy of the first one that reads the tensor, turned to its own dims."""

import pytest

from fp8core.linear import Side
from fp8core.recipes import RECIPES
from fp8core.recipes.plain import to_plain
from pages.design.draft import first_read


def read(recipe: str, matmul: str, side: Side):
    return first_read(to_plain(RECIPES[recipe]), matmul, side)


def test_the_tile_is_turned_where_the_summed_dim_is_another() -> None:
    data = to_plain(RECIPES["deepseek_v3"])
    found = read("deepseek_v3", "wgrad", Side.B)
    assert data["fprop"]["a"]["tile"] == {"mn": 1, "k": 128}
    assert found["tile"] == {"mn": 128, "k": 1}
    assert found["format"] == data["fprop"]["a"]["format"]


@pytest.mark.parametrize(
    ("recipe", "matmul", "side", "why"),
    [
        ("mxfp8", "fprop", Side.A, "it is the first reader itself"),
        ("mxfp4_train", "wgrad", Side.B, "Fprop reads x in bf16"),
        ("nvfp4", "wgrad", Side.A, "Dgrad rounds dy stochastically"),
        ("per_tensor_delayed", "wgrad", Side.B, "its scale has a history"),
    ],
)
def test_a_copy_that_cannot_be_saved_is_not_offered(recipe, matmul, side, why) -> None:
    assert read(recipe, matmul, side) is None, why


def test_a_copy_of_nearest_rounding_can_be_saved() -> None:
    assert read("nvfp4", "wgrad", Side.B) is not None
