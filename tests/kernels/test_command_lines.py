"""Contract: a command answers arguments that it cannot use with one line that has the wrong value in it."""

from collections.abc import Callable
from functools import partial

import pytest

from kernels.bench.__main__ import main as bench
from kernels.check.cli import main as check
from kernels.train.__main__ import main as train
from kernels.tune.__main__ import main as tune
from tests.kernels.check.stand_in import StandIn

COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "bench": bench,
    "check": partial(check, machine=StandIn()),
    "train": train,
    "tune": tune,
}
WRONG = {
    "bench": {
        "--shape -1 2 3": "-1",
        "--runs 0": "0",
        "--settle-ms -1": "-1",
        "--turn-ms 0": "0",
        "--seed -1": "-1",
        "--accumulate": "--matmul wgrad",
        "--ceilings --eager": "--eager",
        "--recorded --turn-ms 9": "--turn-ms",
        f"--record --folder {__file__}/rows": f"{__file__}/rows",
    },
    "check": {
        "--device 7": "7",
        "--device -1": "-1",
        "--device x": "'x'",
        "--fast": "--fast",
        "--json --markdown": "--markdown",
        "--json /no/such/folder/a.json": "/no/such/folder",
        "--seed 5": "--soak",
        "--soak 0": "0",
        "--soak --seed -1": "-1",
    },
    "train": {
        "--recipe fp7": "'fp7'",
        "--seeds -1": "-1",
        "--steps 0": "0",
        f"--resume {__file__}/state": "test_command_lines.py",
        f"--tensors {__file__}": "test_command_lines.py",
        "--minutes 0": "0",
        "--text /nowhere/poem.txt": "poem.txt",
    },
    "tune": {
        "--random -4": "-4",
        "--workers 0": "0",
        "--budget nan": "nan",
        "--fit --samples /nowhere.jsonl": "/nowhere",
    },
}
CASES = [(name, arguments, value) for name, wrong in WRONG.items() for arguments, value in wrong.items()]
USAGE = {"bench": 2, "check": 64, "train": 2, "tune": 2}
"""Exit codes of a command that cannot use its arguments."""


@pytest.mark.parametrize(("name", "arguments", "value"), CASES)
def test_an_argument_that_cannot_be_used_is_answered_in_one_line(name, arguments, value, capsys):
    assert COMMANDS[name](arguments.split()) == USAGE[name]
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"kernels.{name}: ")
    assert err.count("\n") == 1
    assert value in err
