"""Contract: a command answers arguments that it cannot use with one line that has the wrong value in it."""

import sys
from collections.abc import Callable
from functools import partial
from runpy import run_module

import pytest

from kernels import moved
from kernels.check.__main__ import main as check
from kernels.measure.__main__ import main as measure
from kernels.train.__main__ import main as train
from tests.kernels.check.stand_in import StandIn

COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "measure": measure,
    "check": partial(check, machine=StandIn()),
    "train": train,
}
WRONG = {
    "measure": {
        "bench": "'bench'",
        "gemm --shape -1 2 3": "-1",
        "gemm --runs 0": "0",
        "gemm --settle-ms -1": "-1",
        "gemm --turn-ms 0": "0",
        "gemm --seed -1": "-1",
        "gemm --accumulate": "needs an fp32 D, and Fprop",
        "gemm --recorded --turn-ms 9": "--turn-ms",
        f"gemm --record --folder {__file__}/rows": f"{__file__}/rows",
        "quantizer --tensor 0 8": "0",
        "ceilings --runs 0": "0",
        "layer --minutes 0": "0",
        "layer --turn-ms 0": "0",
        "random --count -4": "-4",
        "random --seed -1": "-1",
        "tune --workers 0": "0",
        "probe --outputs 0": "0",
    },
    "check": {
        "--device 7": "7",
        "--device -1": "-1",
        "--device x": "'x'",
        "--fast": "--fast",
        "--json --markdown": "--markdown",
        f"--json {__file__}/a.json": __file__,
        "--markdown /tmp": "/tmp is a folder",
        "--seed 5": "--soak",
        "--soak 0": "0",
        "--soak --seed -1": "-1",
        "--processes 2": "--soak",
        "--soak --processes 0": "0",
    },
    "train": {
        "--recipe fp7": "'fp7'",
        "--seeds -1": "-1",
        "--steps 0": "0",
        f"--tensors {__file__}": "test_command_lines.py",
        "--minutes 0": "0",
        "--text /nowhere/poem.txt": "poem.txt",
    },
}
CASES = [(name, arguments, value) for name, wrong in WRONG.items() for arguments, value in wrong.items()]
USAGE = {"measure": 2, "check": 64, "train": 2}
"""Exit codes of a command that cannot use its arguments."""


@pytest.mark.parametrize(("name", "arguments", "value"), CASES)
def test_an_argument_that_cannot_be_used_is_answered_in_one_line(name, arguments, value, capsys):
    assert COMMANDS[name](arguments.split()) == USAGE[name]
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"kernels.{name}: ")
    assert err.count("\n") == 1
    assert value in err


@pytest.mark.parametrize("name", moved.NOW)
def test_an_older_name_says_in_one_line_where_it_went(name, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name])
    monkeypatch.delitem(sys.modules, f"{name}.__main__", raising=False)  # run_module warns of it
    with pytest.raises(SystemExit) as end:
        run_module(name, run_name="__main__")
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert err.startswith(f"{name} is now python -m kernels.measure ")
    assert err.count("\n") == 1
