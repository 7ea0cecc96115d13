"""Contract: a key that several pages share is one control, so a value carried over means the same on each."""

import importlib
import pkgutil

import pages.ui
from pages.ui.widgets import Control


def test_a_key_names_one_control_everywhere() -> None:
    by_key: dict[str, set[int]] = {}
    for module in pkgutil.iter_modules(pages.ui.__path__, "pages.ui."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Control):
                by_key.setdefault(value.key, set()).add(id(value))
    assert {"recipe", "matmul", "m", "d_row"} <= by_key.keys()
    assert [key for key, controls in by_key.items() if len(controls) > 1] == []
