"""A stage's script is its module and what it imports, once each, in order; its data say what Python heard."""

import base64
from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from pages.kit.stage.stage import Stage, bundle, floats

MODULE = (
    'import { path } from "./svg.js";\nimport { player } from "./player.js";\nexport function stage() {}\n'
)


def test_a_module_comes_after_what_it_imports_and_nothing_comes_twice(tmp_path):
    path = tmp_path / "own.js"
    path.write_text(MODULE, encoding="utf-8")
    script = bundle(path)
    for name in ("path", "isStill", "player", "stage"):  # player.js imports svg.js as well
        assert script.count(f"function {name}(") + script.count(f"const {name} =") == 1
    assert script.index("isStill =") < script.index("function player(") < script.index("function stage(")
    assert not [line for line in script.splitlines() if line.startswith(("import ", "export "))]


def test_a_module_that_does_not_exist_is_an_error(tmp_path):
    path = tmp_path / "own.js"
    path.write_text(MODULE.replace("player.js", "piano.js"), encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=r"piano\.js"):
        bundle(path)


def test_numbers_travel_as_float32():
    numbers = np.array([[0.5, -3.0], [2.0**-20, 448.0]])
    assert np.array_equal(np.frombuffer(base64.b64decode(floats(numbers)), "<f4"), numbers.ravel())


@pytest.mark.parametrize(
    ("state", "heard"),
    [
        (None, 0),  # before the stage is drawn first
        ({}, 0),  # no hand has moved
        ({"move": {"at": 3, "number": 41}}, 41),
        ({"move": "nothing that a stage sends"}, 0),
    ],
)
def test_a_stage_is_told_which_of_its_moves_python_has_heard(monkeypatch, state, heard):
    calls, moves = [], []
    one = Stage("one", Path("one.js"))
    monkeypatch.setitem(vars(one), "_component", lambda **mounted: calls.append(mounted))
    monkeypatch.setattr(st, "session_state", {"one": state, "other": {"move": {"number": 99}}})
    one.mount({"at": 7}, key="one", on_change=moves.append)
    assert calls[0]["data"] == {"at": 7, "heard": heard}
    calls[0]["on_move_change"]()
    assert moves == ([state["move"]] if heard else [])
