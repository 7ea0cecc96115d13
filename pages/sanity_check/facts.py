"""Facts of the page "Sanity check" for the lesson: what a check covers."""

from collections.abc import Callable, Mapping

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from pages.kit.widgets import Value
from pages.sanity_check.controls import EXTENT

CONTROLS = (EXTENT,)

FACTS: dict[str, Callable[[Mapping[str, Value]], float | int | str]] = {
    "recipes": lambda _settings: len(RECIPES),
    "matmuls": lambda _settings: len(MATMULS),
}
