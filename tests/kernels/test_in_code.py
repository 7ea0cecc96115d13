"""Contract: the texts that run a recipe in the kernels, and train in it, run as they stand."""

from dataclasses import replace

import pytest

from fp8core.recipes import RECIPES
from fp8core.recipes.text import OWN_NAME
from pages.kit.in_code.texts import our_texts


@pytest.mark.parametrize("name", ["per_tensor", "mxfp4_train"])
def test_the_text_to_copy_multiplies(name) -> None:
    scope: dict[str, object] = {}
    exec(compile(our_texts(RECIPES[name])[1].code, "<text to copy>", "exec"), scope)
    found = scope["y"] if "y" in scope else scope["dx"]
    assert bool(found.isfinite().all())


@pytest.mark.parametrize("name", ["deepseek_v3", OWN_NAME])
def test_the_text_to_copy_trains(name) -> None:
    recipe = replace(RECIPES["deepseek_v3"], name=name)
    text, scope = our_texts(recipe)[2].code, {}
    exec(compile(text, "<text to copy>", "exec"), scope)
    assert (f'recipe="{name}"' in text) == (name in RECIPES)
    assert all(bool(parameter.grad.isfinite().all()) for parameter in scope["model"].parameters())
