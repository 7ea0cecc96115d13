"""Contract: the tuner keeps what it has finished through any stop, drops what does not compile, finds wrong
bits, and without a GPU says so in one sentence.
"""

import argparse
import dataclasses
import math

import pytest
from triton.runtime.errors import OutOfResources

from kernels.device import HOPPER, INTERPRETER
from kernels.gemm.blocks import Blocks
from kernels.gemm.tuned import read_table
from kernels.measure import tune as tune
from kernels.measure.jobs import Cache, GemmJob
from kernels.measure.tune import Tuner, TuneState
from kernels.measure.tune_job import SHAPES, TuneJob, jobs, launch_once, simple_plan
from kernels.measure.tune_search import Outcome, coarse
from tests.kernels.gemm.tuned_rows import FAST, MEASUREMENT, SPLIT, row
from tests.sweeps import some_values


def test_a_state_survives_a_stop_in_the_middle_of_a_write(tmp_path):
    state = TuneState.beside(tmp_path / "sm_90.json")
    assert state.read() == {}
    state.append("one", MEASUREMENT, [row(SPLIT, 9.0)])
    with state.path.open("a") as handle:
        handle.write('{"key": "cut')
    assert state.read() == {"one": (row(SPLIT, 9.0),)}
    state.append("two", MEASUREMENT, [row(FAST, 8.0)])
    assert state.read() == {"one": (row(SPLIT, 9.0),), "two": (row(FAST, 8.0),)}
    assert [path.name for path in tmp_path.iterdir()] == ["sm_90.unfinished.jsonl"]
    state.path.write_text("{}\n")
    with pytest.raises(ValueError, match="line 1 is not a finished GEMM: 'measurement'; delete the file"):
        state.read()


@pytest.fixture
def tuner(tmp_path, monkeypatch):
    """(a tuner of three GEMMs, them, the table's path); the search gives one plan and stops where told."""
    path = tmp_path / "sm_90.json"
    wanted = dict(list(jobs(HOPPER, {"64-tokens": SHAPES["64-tokens"]}).items())[:3])
    monkeypatch.setattr(tune, "measurement_of", lambda device: MEASUREMENT)
    searched = []

    def make(budget=math.inf, check_only=False, stop_at="", wrong=()):
        options = argparse.Namespace(out=path, budget=budget, check_only=check_only)
        made = Tuner(options, HOPPER, compilers=None)

        def find(title, job):
            if stop_at and title.startswith(stop_at):
                raise KeyboardInterrupt
            searched.append(title)
            times = {} if check_only else {SPLIT: 9.0, FAST: 8.0}
            return Outcome(times=times, cold=times, wrong=list(wrong))

        monkeypatch.setattr(made, "_search", find)
        return made

    return make, wanted, path, searched


def test_a_stopped_tuner_goes_on_where_it_stopped(tuner, capsys):
    make, wanted, path, searched = tuner
    assert make(stop_at="2/3").run(wanted) == 130
    assert len(searched) == 1
    assert {plan.blocks for plan in read_table(path)} == {SPLIT, FAST}
    assert make().run(wanted) == 0
    assert len(searched) == 3
    assert len(read_table(path)) == 6
    assert not TuneState.beside(path).path.exists()
    assert make().run(wanted) == 0
    assert len(searched) == 6, "a finished run leaves nothing to go on from"
    assert "8.0 µs, warp-specialized schedule" in capsys.readouterr().out


def test_a_spent_budget_and_wrong_bits_have_their_exit_codes(tuner, capsys):
    make, wanted, path, searched = tuner
    assert make(budget=0).run(wanted) == 3
    assert searched == []
    assert make(wrong=["D[0, 0] is wrong"]).run(wanted) == 1
    assert capsys.readouterr().err.count("D[0, 0] is wrong") == 3
    path.unlink()
    assert make(check_only=True).run(wanted) == 0
    assert not path.exists()


SMALL = GemmJob(recipe="deepseek_v3", matmul="fprop", m=70, n=130, k=300)


@pytest.mark.parametrize(
    "error", [OutOfResources(300, 227, "shared memory"), RuntimeError("no\nmore"), AssertionError()]
)
def test_blocks_that_the_compiler_refuses_are_dropped(monkeypatch, error):
    from kernels.measure import tune_job as tune_job

    def fail(*arguments):
        raise error

    monkeypatch.setattr(tune_job, "launch", fail)
    fault = launch_once(SMALL, simple_plan(SMALL, INTERPRETER).blocks)
    assert fault.startswith("simple schedule, block ")
    assert "\n" not in fault


def test_blocks_that_give_other_bits_are_found_out(monkeypatch):
    from kernels.device import current_device
    from kernels.measure import tune_job as tune_job

    bench = TuneJob(SMALL, current_device())
    blocks = Blocks(block_m=64, block_n=64, block_k=128, warps=4, stages=2)
    assert bench.fault(blocks) == ""
    assert bench.fault(dataclasses.replace(blocks, split_k=2)) == ""
    original = tune_job.gemm

    def wrong(a, b, plan, out):
        original(a, b, plan, out=out)
        out[3, 5] += plan.blocks == blocks
        return out

    monkeypatch.setattr(tune_job, "gemm", wrong)
    assert "D[3, 5] is " in bench.fault(blocks)
    blocks = dataclasses.replace(blocks, split_k=3)
    monkeypatch.setattr(tune_job, "gemm", lambda *args, out, **kwargs: original(*args, out=out) * 0)
    assert bench.fault(blocks).endswith("D is far from what it is with K in one run")


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["rowwise-fprop", "deepseek_v3-wgrad", "mxfp8-dgrad"])
def test_every_candidate_gives_the_right_bits_on_a_gpu_and_takes_some_time(name, request):
    from kernels.device import current_device

    recipe, matmul = name.split("-")
    job = GemmJob(recipe=recipe, matmul=matmul, m=192, n=1024, k=3000)
    bench = TuneJob(job, current_device())
    tries = coarse(bench.plan, (job.m, job.n, job.k), current_device())
    assert {blocks.split_k for blocks in tries} > {1}
    tries = some_values(tries, request, 8)
    assert [bench.fault(blocks) for blocks in tries] == [""] * len(tries)
    for cache in Cache:
        times = bench.times_us(tries[:3], cache=cache, runs=2, turn_ms=1, settle_ms=1)
        assert all(time > 0 for time in times.values())
