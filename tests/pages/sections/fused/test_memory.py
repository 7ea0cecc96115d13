"""The words on the memory that a layer holds for its backward pass."""

import pytest

from fp8core.linear import LayerShape
from fp8core.recipes import RECIPES
from pages.sections.fused.memory import notice


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        (1024, "all of these 2 recipes hold more than bf16"),
        (4096, "1 of these 2 recipes holds more than bf16"),
        (16384, "none of these 2 recipes hold more than bf16"),
    ],
)
def test_all_or_none_of_the_recipes_is_no_figure(tokens, told) -> None:
    recipes = [RECIPES["deepseek_v3"], RECIPES["mxfp4"]]
    assert told in notice(recipes, LayerShape(tokens, 4096, 8192))
