"""Contract: helper processes do each task once; one that dies, hangs or is stopped costs nobody else
anything, and none is left behind.
"""

import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from kernels.check.compiling.helpers import Helpers
from tests.kernels.check.commands import command
from tests.kernels.check.compiling.helper_tasks import LONG_S, ended, note


def wait_for(path: Path) -> str:
    until = time.monotonic() + LONG_S
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return path.read_text()


@pytest.mark.parametrize("bad", ["die", "fail"])
def test_each_task_is_done_once_and_one_that_ends_its_process_takes_no_other_along(tmp_path, capfd, bad):
    told = []
    helpers = Helpers(partial(note, tmp_path), ["a", bad, "b", "c"], 2)
    helpers.wait(LONG_S, told.append)
    helpers.stop()
    found = {path.name: int(path.read_text()) for path in tmp_path.iterdir()}
    assert set(found) == {"a", "b", "c"}
    assert helpers.left == 1
    assert sorted(told, reverse=True) == told
    assert not any(psutil.pid_exists(pid) for pid in found.values())
    assert capfd.readouterr() == ("", "")


def test_what_hangs_is_waited_for_a_while_and_ended_with_all_that_it_started(tmp_path):
    helpers = Helpers(partial(note, tmp_path), ["hang", "a"], 1)
    pids = [int(pid) for pid in wait_for(tmp_path / "hang").split()]
    began = time.monotonic()
    helpers.wait(0.3, print)
    helpers.stop()
    assert time.monotonic() - began < LONG_S / 4
    assert helpers.left == 2
    assert all(ended(pid) for pid in pids)


ORPHAN = """
import sys, time
from functools import partial
from pathlib import Path
from kernels.check.compiling.helpers import Helpers
from tests.kernels.check.compiling.helper_tasks import note
Helpers(partial(note, Path(sys.argv[1])), ["a"], 1).wait(60, print)
Helpers(partial(note, Path(sys.argv[1])), ["b", *["c"] * 10**5], 1)
time.sleep(60)
"""


def test_a_helper_ends_after_the_task_at_hand_where_its_parent_is_gone(tmp_path):
    with command(["-c", ORPHAN, str(tmp_path)]):
        pid = int(wait_for(tmp_path / "b"))
    assert ended(pid)
