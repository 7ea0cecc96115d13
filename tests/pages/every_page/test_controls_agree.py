"""Contract: a key that several pages share is one control, so a value carried over means the same on each."""

import importlib
from pathlib import Path

from pages.kit.widgets import Control

TOP = Path(__file__).resolve().parents[3]


def test_a_key_names_one_control_everywhere() -> None:
    by_key: dict[str, set[int]] = {}
    for path in sorted((TOP / "pages").glob("*/**/*.py")):
        name = path.relative_to(TOP).with_suffix("").as_posix().replace("/", ".")
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, Control):
                by_key.setdefault(value.key, set()).add(id(value))
    assert {"recipe", "matmul", "m", "row"} <= by_key.keys()
    assert [key for key, controls in by_key.items() if len(controls) > 1] == []
