"""Contract: what a check's steps launch is compiled ahead of it, in processes that need no GPU. They begin
with the first kernel that is missing, have ended before times are taken, and change no verdict.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from triton import knobs

from kernels.check.compiling import ahead, room
from kernels.check.compiling.ahead import Ahead
from kernels.check.compiling.helpers import Helpers
from kernels.check.compiling.room import free_bytes, room_for_helpers
from kernels.check.job import CheckJob
from kernels.check.report import Group, Verdict
from kernels.check.run import run
from kernels.check.steps import Step
from kernels.device import HOPPER
from kernels.paths import TOP
from tests.kernels.check.commands import command
from tests.kernels.check.compiling.helper_tasks import LONG_S, ended, note
from tests.kernels.check.reports import H200
from tests.kernels.check.stand_in import StandIn, passed, step
from tests.kernels.check.stand_in import plan_of as steps_of
from tests.sweeps import exhaustive

JOB = CheckJob()


class StandInHelpers:
    """Helpers that do nothing, and note what is asked of them."""

    def __init__(self, made: "list[StandInHelpers]", work, tasks, count):
        self.work, self.tasks, self.count, self.told = work, [*tasks], count, []
        made.append(self)

    def wait(self, patience_s, tell):
        self.told.append("wait")
        tell(1)

    def stop(self):
        self.told.append("stop")


@pytest.fixture
def made(monkeypatch) -> list[StandInHelpers]:
    """The helpers that are begun, on what passes for an H200."""
    begun: list[StandInHelpers] = []
    monkeypatch.setattr(ahead, "Helpers", partial(StandInHelpers, begun))
    monkeypatch.setattr(ahead, "current_device", lambda: HOPPER)
    return begun


def launching(*hits: bool) -> Callable[[], Iterator]:
    """A step's run that compiles kernels, or finds them."""

    def run_it():
        for hit in hits:
            if knobs.compilation.listener is not None:
                knobs.compilation.listener(src=None, cache_hit=hit)
        yield passed(Group.GEMMS, "a")

    return run_it


CODED = partial(step, codes=lambda device: ("one", "two", "one"))
TIMED = partial(step, group=Group.SPEED)


def helped(*steps: Step, facts=H200, helpers: int = 2, **rest):
    with_helpers = partial(Ahead, helpers=helpers)
    return run(JOB, StandIn((facts,)), plan=steps_of(*steps), helped=with_helpers, **rest)


def test_helpers_begin_with_the_first_kernel_that_is_missing_and_end_before_times_are_taken(made):
    seen, notes = [], []

    def fast():
        seen.append((list(made[0].told), knobs.compilation.listener))
        return [passed(Group.SPEED, "fast")]

    report = helped(
        CODED("a", launching(True, False, False)),
        CODED("b", codes=lambda device: ("three", device)),
        TIMED("fast", fast),
        TIMED("faster"),
        progress=lambda done, told, so_far: notes.append(told),
    )
    assert {line.verdict for line in report.lines} == {Verdict.PASS}
    (helpers,) = made
    assert (helpers.tasks, helpers.count) == (["one", "two", "three", HOPPER], 2)
    assert seen == [(["wait", "stop"], None)]
    assert helpers.told == ["wait", "stop"]
    assert notes == ["gemms: a", "gemms: b", "compiling: 1 left", "speed: fast", "speed: faster", "done"]


COMPILE = """
import json, sys
from kernels.bench.job import GemmJob
from kernels.check.compiling.ahead import compiled
from kernels.check.compiling.codes import CastCode, GemmCode, QuantizerCode
from kernels.device import HOPPER, current_device
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from triton import knobs

found = []
knobs.compilation.listener = lambda **told: found.append([told["src"].name, told["cache_hit"]])
for code in CODES:
    compiled(HOPPER, code)
import torch
print(json.dumps([found, current_device() == HOPPER, HOPPER.place, torch.cuda.is_initialized()]))
"""
FEW = """(
    CastCode(FORMATS["e4m3"]),
    QuantizerCode(
        operand=RECIPES["deepseek_v3"].operand(MATMULS["fprop"], Side.A), shape=(256, 256), seed=0, steps=1
    ),
)"""
GEMM = """(GemmCode(GemmJob(recipe="deepseek_v3", matmul="fprop", m=256, n=256, k=256)),)"""


@pytest.mark.parametrize(
    ("codes", "kernels"),
    [
        pytest.param(FEW, ["encode_kernel", "quantize_kernel"], id="few"),
        pytest.param(GEMM, ["quantize_kernel", "specialized_gemm_kernel"], id="gemm", marks=exhaustive),
    ],
)
def test_without_a_gpu_code_is_compiled_for_one_and_kept_on_disk(tmp_path, codes, kernels):
    env = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    env |= {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(TOP), *sys.path])}
    for is_known in (False, True):
        command = [sys.executable, "-c", COMPILE.replace("CODES", codes)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        found, is_hopper, place, opened = json.loads(done.stdout)
        assert {name for name, _ in found} == {*kernels}
        assert {hit for _, hit in found} == {is_known}
        assert (is_hopper, place, opened) == (True, "cpu", False)


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


GIB = 1 << 30
MEMINFO = f"MemTotal:  {64 * GIB >> 10} kB\nMemAvailable:  {48 * GIB >> 10} kB\nHugePages_Total: 0\n"


@pytest.mark.parametrize(
    ("cores", "free", "count"),
    [
        (1, 64 * GIB, 0),
        (2, 64 * GIB, 0),
        (4, 64 * GIB, 3),
        (16, 6 * GIB, 3),
        (16, 0, 0),
        (99, 999 * GIB, 15),
    ],
)
def test_helpers_leave_a_core_and_half_of_the_memory(monkeypatch, cores, free, count):
    monkeypatch.setattr(room, "cores", lambda: cores)
    monkeypatch.setattr(room, "free_bytes", lambda: free)
    assert room_for_helpers() == count


@pytest.mark.parametrize(
    ("limit", "free"), [(None, 48), ("max", 48), (str(8 * GIB), 4), (str(2 * GIB), 0), (str(999 * GIB), 48)]
)
def test_memory_is_free_where_the_container_has_it_too(tmp_path, limit, free):
    (tmp_path / "meminfo").write_text(MEMINFO)
    if limit is not None:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text(f"{5 * GIB}\n")
        (tmp_path / "memory.stat").write_text(f"anon 1\ninactive_file {GIB}\n")
    assert free_bytes(tmp_path / "meminfo", tmp_path) == free * GIB
