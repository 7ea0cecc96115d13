"""Contract: the text that runs a recipe in the kernels runs as it stands."""

import pytest

from fp8core.recipes import RECIPES
from pages.kit.in_code.ours import kernels


@pytest.mark.parametrize("name", ["per_tensor", "mxfp4_train"])
def test_the_text_to_copy_multiplies(name) -> None:
    scope: dict[str, object] = {}
    exec(compile(kernels(RECIPES[name]).text, "<text to copy>", "exec"), scope)
    found = scope["y"] if "y" in scope else scope["dx"]
    assert bool(found.isfinite().all())
