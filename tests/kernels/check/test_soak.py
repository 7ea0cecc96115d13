"""Contract: a soak draws GEMMs and quantizers of all recipes, launches each thousands of times on operands
that change, and fails where one launch gives other bits than the first.
"""

import json
import sys
from functools import partial
from itertools import count
from types import SimpleNamespace

import pytest
import torch

from fp8core.recipes import RECIPES
from kernels.check import products, soak
from kernels.check.__main__ import USAGE, main
from kernels.check.report import Verdict
from kernels.check.soak import CASES, soak_jobs, soak_plan
from kernels.device import HOPPER, Unsupported, current_device
from kernels.gemm.blocks import FEW, Variant
from kernels.gemm.plan import plan_gemm
from kernels.measure import quantizer
from kernels.measure.exactness import bits
from kernels.measure.jobs import GemmJob, Into, QuantizerJob, QuantizerKernel
from tests.kernels.check.stand_in import StandIn, step

BATCHES = 6


def test_a_seed_draws_its_own_jobs_of_every_recipe_few_tokens_first():
    jobs = soak_jobs(0, 600)
    assert jobs == soak_jobs(0, 600) != soak_jobs(1, 600)
    gemms = [job for job in jobs if isinstance(job, GemmJob)]
    quantizers = [job for job in jobs if isinstance(job, QuantizerJob)]
    assert {job.recipe for job in quantizers} == set(RECIPES)
    assert {job.kernel for job in quantizers} == set(QuantizerKernel)
    assert {job.matmul for job in gemms} == {"fprop", "dgrad", "wgrad"}
    assert {job.into for job in gemms} == set(Into)
    few = [min(job.m, job.n, job.k) <= FEW for job in gemms]
    assert few == sorted(few, reverse=True)
    assert 0 < few.count(False) < few.count(True)


def test_every_second_gemm_has_any_blocks_that_the_chooser_may_choose():
    jobs = [job for job in soak_jobs(0, 200) if isinstance(job, GemmJob)]
    others = []
    for job in jobs:
        chosen = plan_gemm(job.spec, job.mnk, HOPPER, job.accumulation)
        if (plan := soak_plan(job, HOPPER)) != chosen:
            assert job.seed % 2
            others.append(plan)
    assert len(others) > len(jobs) / 3
    assert {plan.variant for plan in others} >= {*Variant} - {Variant.NATIVE_MX, Variant.PROMOTED_REUSE}
    assert any(plan.blocks.persistent and plan.blocks.split_k > 1 for plan in others)


def soaked(job):
    return soak.soak_line(job, job.title, "here", current_device())


JOBS = {type(job): job for job in soak_jobs(0, 20, small=True)}


@pytest.mark.parametrize("kind", [GemmJob, QuantizerJob])
def test_a_launch_with_other_bits_fails(monkeypatch, kind):
    assert soaked(JOBS[kind]).verdict is Verdict.PASS
    real, launches = soak.other_bits, []

    def once_wrong(run, *arguments):
        def flipped(number):
            tensors = run(number)
            launches.append(number)
            bits(tensors[0]).bitwise_xor_(len(launches) == 7)
            return tensors

        return real(flipped, *arguments)

    monkeypatch.setattr(soak, "other_bits", once_wrong)
    line = soaked(JOBS[kind])
    assert line.verdict is Verdict.FAIL
    assert line.detail.startswith("1 of ")
    assert len(set(launches)) > 1, "operands change"


def test_a_first_product_that_is_wrong_fails(monkeypatch):
    real = products.gemm
    monkeypatch.setattr(products, "gemm", lambda *operands, out: real(*operands, out=out).add_(100.0))
    line = soaked(JOBS[GemmJob])
    assert line.verdict is Verdict.FAIL
    assert "times its bound" in line.detail or "the model says" in line.detail


def test_first_copies_that_are_wrong_fail(monkeypatch):
    """Each part of a job in turn: the computed result, its copies together, its operands alone."""
    computed = next(
        job
        for job in soak_jobs(0, 60, small=True)
        if isinstance(job, QuantizerJob) and job.kernel is not QuantizerKernel.QUANTIZE
    )
    assert soaked(computed).verdict is Verdict.PASS
    for name, fault in (("result", "result in bf16 differs"), ("ours", "launch for each copy")):
        real = getattr(quantizer, name)
        monkeypatch.setattr(quantizer, name, partial(spoiled, real, name))
        line = soaked(computed)
        assert line.verdict is Verdict.FAIL
        assert fault in line.detail
        monkeypatch.undo()
    monkeypatch.setattr("kernels.check.quantizers.compare", lambda *_: (1, 1, "the first"))
    assert "differ from the reference" in soaked(computed).detail


def spoiled(real, name, job, *arguments):
    """Another first bit of a result, or of the first copy."""
    value = real(job, *arguments)
    if name == "result":
        bits(value)[0, 0] ^= 1
        return value

    def run(inputs):
        copies = value(inputs)
        first = copies if not isinstance(copies, tuple) else copies[0]
        bits(first.tensors[0])[0, 0] ^= 1
        return copies

    return run


def test_several_processes_soak_at_once_and_a_lost_one_is_a_failure(monkeypatch, capsys):
    monkeypatch.setattr("kernels.check.__main__.soak_steps", lambda *_, seed, count: (step(f"seed {seed}"),))
    main(["--soak", "1", "--processes", "2", "--json"], machine=StandIn())
    own, other = json.loads(capsys.readouterr().out)["reports"]
    assert own["lines"][-1]["name"] == "seed 0"
    assert other["finished"]
    assert other["lines"][-1]["name"] != "seed 0"
    monkeypatch.setattr(sys, "executable", "false")
    assert main(["--soak", "1", "--processes", "2"], machine=StandIn()) == 1
    assert "the soak of seed 1,000,000 in another process ended with code 1" in capsys.readouterr().err


def test_the_command_soaks_as_many_cases_as_it_is_told(monkeypatch, capsys):
    monkeypatch.setattr(
        "kernels.check.__main__.soak_steps", lambda *_, seed, count: (step(f"{count} of {seed}"),)
    )
    assert main(["--soak", "--seed", "3"], machine=StandIn()) == 0
    assert f"{CASES} of 3" in capsys.readouterr().out
    assert main(["--soak", "7"], machine=StandIn()) == 0
    assert "7 of 0" in capsys.readouterr().out
    clock = count(0.0, 50.0)
    monkeypatch.setattr("kernels.check.__main__.time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert main(["--soak", "7", "--minutes", "2"], machine=StandIn()) == 0
    out = capsys.readouterr().out
    assert [f"7 of {seed}" in out for seed in range(4)] == [True, True, True, False]
    assert main(["--minutes", "2"], machine=StandIn()) == USAGE


@pytest.mark.gpu
@pytest.mark.parametrize("batch", range(BATCHES))
def test_thousands_of_launches_on_changing_operands_give_equal_bits(batch):
    wrong = []
    for job in soak_jobs(20261127, CASES)[batch::BATCHES]:
        try:
            line = soaked(job)
        except Unsupported:
            continue
        if line.verdict is not Verdict.PASS:
            wrong.append(f"{line.name}: {line.detail}")
    torch.cuda.empty_cache()
    assert not wrong
