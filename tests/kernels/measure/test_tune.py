"""Contract: the tuner keeps what it has finished through a stop, drops what does not compile, finds wrong
bits, and without a GPU says so in one sentence.
"""

import argparse
import dataclasses

import pytest
from triton.runtime.errors import OutOfResources

from kernels.device import HOPPER, INTERPRETER
from kernels.gemm.blocks import Blocks
from kernels.gemm.tuned import read_table
from kernels.measure import tune
from kernels.measure.jobs import Cache, GemmJob
from kernels.measure.tune import SHAPES, Outcome, TuneJob, coarse, jobs, simple_plan
from kernels.precompile import launch_gemm
from tests.kernels.gemm.tuned_rows import FAST, MEASUREMENT, SPLIT
from tests.sweeps import some_values


@pytest.fixture
def tuner(tmp_path, monkeypatch):
    """(a tuner of three GEMMs, the table's path, titles searched); the search gives one plan and stops where
    it is to.
    """
    path, searched = tmp_path / "sm_90.json", []
    wanted = dict(list(jobs(HOPPER, {"64-tokens": SHAPES["64-tokens"]}).items())[:3])
    monkeypatch.setattr(tune, "measurement_of", lambda device: MEASUREMENT)

    def run(again=False, stop_at="", wrong=()):
        def find(title, *rest):
            if stop_at and title.startswith(stop_at):
                raise KeyboardInterrupt
            searched.append(title)
            times = {SPLIT: 9.0, FAST: 8.0}
            return Outcome(times=times, cold=times, wrong=list(wrong))

        monkeypatch.setattr(tune, "_searched", find)
        return tune.tune(argparse.Namespace(out=path, again=again, variants=[]), HOPPER, None, wanted)

    return run, path, searched


def test_a_stopped_tuner_goes_on_where_it_stopped(tuner, capsys):
    run, path, searched = tuner
    assert run(stop_at="2/3") == 130
    assert len(searched) == 1
    assert {plan.blocks for plan in read_table(path)} == {SPLIT, FAST}
    assert run() == 0
    assert len(searched) == 3
    assert len(read_table(path)) == 6
    assert run() == 0
    assert len(searched) == 3, "all were tuned today"
    assert run(again=True) == 0
    assert len(searched) == 6
    assert "8.0 µs, warp-specialized schedule" in capsys.readouterr().out


def test_wrong_bits_have_their_exit_code(tuner, capsys):
    run, _, _ = tuner
    assert run(wrong=["D[0, 0] is wrong"]) == 1
    assert capsys.readouterr().err.count("D[0, 0] is wrong") == 3


SMALL = GemmJob(recipe="deepseek_v3", matmul="fprop", m=70, n=130, k=300)


@pytest.mark.parametrize(
    "error", [OutOfResources(300, 227, "shared memory"), RuntimeError("no\nmore"), AssertionError()]
)
def test_blocks_that_the_compiler_refuses_are_dropped(monkeypatch, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr("kernels.gemm.launch.launch", fail)
    fault = launch_gemm(SMALL, simple_plan(SMALL, INTERPRETER).blocks)
    assert fault.startswith("simple schedule, block ")
    assert "\n" not in fault


def test_blocks_that_give_other_bits_are_found_out(monkeypatch):
    from kernels.device import current_device

    bench = TuneJob(SMALL, current_device())
    blocks = Blocks(block_m=64, block_n=64, block_k=128, warps=4, stages=2)
    assert bench.fault(blocks) == ""
    assert bench.fault(dataclasses.replace(blocks, split_k=2)) == ""
    original = tune.gemm

    def wrong(a, b, plan, out):
        original(a, b, plan, out=out)
        out[3, 5] += plan.blocks == blocks
        return out

    monkeypatch.setattr(tune, "gemm", wrong)
    assert "D[3, 5] is " in bench.fault(blocks)
    assert "D[3, 5] is " in TuneJob(SMALL, current_device()).fault(blocks), "the simple kernel's D is right"
    blocks = dataclasses.replace(blocks, split_k=3)
    monkeypatch.setattr(tune, "gemm", lambda *args, out, **kwargs: original(*args, out=out) * 0)
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
