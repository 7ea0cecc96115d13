"""Contract: code is compiled ahead of a check without a GPU and kept on disk, in processes that leave room
for others, survive a bad task and leave nothing behind.
"""

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from kernels.check.compiling import room
from kernels.check.compiling.helpers import Helpers
from kernels.check.compiling.room import room_for_helpers
from kernels.paths import TOP
from tests.kernels.check.helper_tasks import LONG_S, ended, note
from tests.sweeps import exhaustive

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
    for is_known in (False, True) if codes is GEMM else (False,):
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


GIB = 1 << 30


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
