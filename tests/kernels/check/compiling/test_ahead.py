"""Contract: what a check's steps launch is compiled ahead of it, in processes that need no GPU. They begin
with the first kernel that is missing, have ended before times are taken, and change no verdict.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from triton import knobs

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.check.compiling import ahead
from kernels.check.compiling.ahead import Ahead
from kernels.check.job import CheckJob
from kernels.check.quantizers import check_quantizers, quantizer_codes
from kernels.check.report import Group, Verdict
from kernels.check.run import run
from kernels.check.steps import Step
from kernels.device import HOPPER, INTERPRETER
from kernels.paths import TOP
from tests.kernels.cases import ON_GPU
from tests.kernels.check.commands import command
from tests.kernels.check.compiling.helper_tasks import LONG_S, ended
from tests.kernels.check.reports import H200
from tests.kernels.check.stand_in import StandIn, passed, step
from tests.kernels.check.stand_in import plan_of as steps_of
from tests.sweeps import exhaustive

JOB = CheckJob()
interpreted_only = pytest.mark.skipif(ON_GPU, reason="it looks at what the interpreter is given")


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


HELD = """
import sys, time
from pathlib import Path
from kernels.check import cli
from kernels.check.compiling import ahead
from kernels.device import HOPPER
from tests.kernels.check.compiling.helper_tasks import LONG_S, ended, noted
from tests.kernels.check.stand_in import StandIn, plan_of, slow, step
from triton import knobs

ahead.current_device, ahead.compiled, cli.room_for_helpers = lambda: HOPPER, noted, lambda: 2
folder = Path(sys.argv[1])
def held():
    knobs.compilation.listener(src=None, cache_hit=False)
    while not (folder / "hang").exists():
        time.sleep(0.05)
    return slow()
held_step = step("a", held, codes=lambda device: [(folder, "hang")])
sys.exit(cli.main([], machine=StandIn(), plan=plan_of(held_step)))
"""


def test_ctrl_c_in_a_terminal_ends_a_command_and_its_helpers_at_once(tmp_path):
    """A terminal tells all processes of the command."""
    with command(["-c", HELD, str(tmp_path)]) as process:
        assert process.stderr.readline() == "slow\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=LONG_S / 2)
    assert (process.returncode, err) == (130, "")
    assert "Not finished" in out
    assert all(ended(int(pid)) for pid in (tmp_path / "hang").read_text().split())


@pytest.fixture
def launched(monkeypatch) -> list[tuple]:
    """What decides on the code of each kernel that is launched: its name, arguments and constants."""
    from triton.runtime.interpreter import InterpretedFunction

    found, before = [], InterpretedFunction.run

    def seen(fact):
        if hasattr(fact, "dtype") and hasattr(fact, "data_ptr"):
            return str(fact.dtype), fact.data_ptr() % 16
        if isinstance(fact, int) and not isinstance(fact, bool):
            return ("1",) if fact == 1 else ("int", fact % 16 == 0)
        return repr(fact)

    def run_it(self, *arguments, **constants):
        words = {name: repr(fact) for name, fact in constants.items() if name != "grid"}
        found.append((self.fn.__name__, tuple(map(seen, arguments)), tuple(sorted(words.items()))))
        return before(self, *arguments, **constants)

    monkeypatch.setattr(InterpretedFunction, "run", run_it)
    return found


@interpreted_only
@pytest.mark.parametrize("name", ["per_tensor_delayed", "deepseek_v3", "nvfp4"])
def test_codes_launch_what_the_step_launches(launched, name):
    matmuls = (MATMULS["wgrad"],)
    check_quantizers(RECIPES[name], matmuls, INTERPRETER, {})
    by_step = set(launched)
    launched.clear()
    for code in quantizer_codes(RECIPES[name], matmuls, INTERPRETER):
        code.launch(INTERPRETER)
    assert set(launched) == by_step
    assert by_step


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
