"""Contract: run on real kernels, every line of correctness passes, and a kernel that is wrong in one bit, one
element or one run fails its line with the place; a wrong product is not timed.
"""

from inspect import signature

import pytest
import torch

from fp8core.linear import MATMULS, Matmul
from fp8core.recipes import RECIPES
from kernels.check import products
from kernels.check.products import accumulator_on
from kernels.check.quantizers import launch_quantizer
from kernels.check.report import COPY, TORCH_BF16, TORCH_FP8, CheckJob, Group, Verdict
from kernels.check.run import run
from kernels.check.steps import (
    PREDICTED,
    Call,
    DistinctGemm,
    Step,
    check_steps,
    distinct_gemms,
    multiplied_as,
    name_of,
    operands_by_family,
)
from kernels.device import BLACKWELL, HOPPER, current_device
from kernels.gemm.numerics import Arithmetic, Summation
from kernels.gemm.plan import plan_gemm
from kernels.paths import TOP
from tests.kernels.cases import ON_GPU
from tests.kernels.check.reports import H200, INTERPRETED
from tests.kernels.check.stand_in import StandIn


@pytest.fixture(scope="module")
def report():
    """On a GPU a full check; in the interpreter a quick one, of FEW recipes."""
    if ON_GPU:
        return run(CheckJob())
    return run(CheckJob(quick=True), StandIn((INTERPRETED,)), plan=few_steps)


FEW = ("deepseek_v3", "nvfp4")


def few_steps(*given) -> tuple[Step, ...]:
    named = (Group.QUANTIZERS, Group.GEMMS)
    return tuple(
        step for step in check_steps(*given) if step.group not in named or step.names[0].split()[0] in FEW
    )


def test_every_line_of_correctness_passes(report):
    assert report.finished
    wrong = [line for line in report.lines if line.verdict is Verdict.FAIL]
    assert wrong == []
    assert [line.name for line in report.of_group(Group.CASTS)] == ["e4m3", "e5m2"]
    recipes = [name for name in RECIPES if ON_GPU or name in FEW]
    assert [line.name for line in report.of_group(Group.QUANTIZERS)] == recipes
    gemms = [line.name for line in report.of_group(Group.GEMMS)]
    cases = distinct_gemms(asked(report.job))
    assert gemms == [case.name for case in cases if case.recipe.name in recipes]
    for group in (Group.CASTS, Group.QUANTIZERS, Group.GEMMS, Group.DETERMINISM):
        assert {line.verdict for line in report.of_group(group)} == {Verdict.PASS}


def asked(job: CheckJob) -> list[Matmul]:
    return [MATMULS["fprop"]] if job.quick else list(MATMULS.values())


def test_each_gemm_is_checked_or_another_one_that_a_kernel_reads_alike():
    cases = distinct_gemms(MATMULS.values())
    told = [name for case in cases for name in (case.name, *case.others)]
    assert sorted(told) == sorted(name_of(r, m) for r in RECIPES.values() for m in MATMULS.values())
    by_name = {case.name: case for case in cases}
    assert "per_tensor_delayed fprop" in by_name["per_tensor fprop"].others
    assert "mxfp8 dgrad" in by_name["mxfp8 fprop"].others
    assert len({multiplied_as(case.recipe.spec(case.matmul)) for case in cases}) == len(cases)
    line = products.product_line(foretold(), "here", by_name["mxfp8 fprop"].others)
    assert "mxfp8 dgrad" in line.detail
    assert line.detail.endswith("are multiplied alike.")
    line = products.product_line(foretold(), "here", ("rowwise dgrad",))
    assert line.detail.endswith(" rowwise dgrad is multiplied alike.")


@pytest.mark.parametrize("quick", [False, True])
def test_a_quick_check_is_of_fprop_only(quick):
    expected = {case.name for case in distinct_gemms(asked(CheckJob(quick=quick)))}
    steps = check_steps(CheckJob(quick=quick), H200, "")
    names = {name for step in steps for name in step.names if step.group is Group.GEMMS}
    assert names == expected
    assert [step.names for step in steps if step.group is Group.QUANTIZERS] == [(name,) for name in RECIPES]
    timed = [name for step in steps for name in step.names if step.group is Group.SPEED]
    quantizers = set(operands_by_family(asked(CheckJob(quick=quick))[0]))
    assert {operand.split()[0] for operand in quantizers} >= {"per_tensor", "rowwise", "deepseek_v3", "mxfp8"}
    assert set(timed) == {COPY, TORCH_BF16, TORCH_FP8} | quantizers | names
    assert len(set(timed)) == len(timed)


def test_every_call_of_a_full_check_is_of_a_function_that_takes_it():
    """Steps of speed run on a GPU alone, so nothing else would find a wrong name here."""
    steps = check_steps(CheckJob(), H200, "")
    for call in (each for step in steps for each in (step.run, step.codes) if isinstance(each, Call)):
        signature(call.function).bind(*call.arguments, HOPPER)
    for function, *arguments in (code for step in steps for code in step.codes(HOPPER)):
        signature(function).bind(*arguments)


def test_the_manual_says_how_much_a_full_check_compiles():
    codes = [code for step in check_steps(CheckJob(), H200, "") for code in step.codes(HOPPER)]
    operands = {code[1] for code in codes if code[0] is launch_quantizer}
    figures = f"the kernels of {len(distinct_gemms(MATMULS.values()))} matmuls and {len(operands)} quantizers"
    assert figures in " ".join((TOP / "docs/check.md").read_text(encoding="utf-8").split())


def broken_gemm(monkeypatch, change) -> products.Product:
    real, runs = products.gemm, iter(range(products.RUNS))

    def wrong(a, b, plan, *, out):
        real(a, b, plan, out=out)
        change(out, next(runs))
        return out

    monkeypatch.setattr(products, "gemm", wrong)
    device = current_device()
    case = DistinctGemm(recipe=RECIPES["rowwise"], matmul=MATMULS["wgrad"], others=())
    job = case.job(products.checked_mnk(device))
    return products.multiply(job, products.plan_of(job, device), PREDICTED, device)


def scaled(out, run):
    out *= 1.1


def unwritten(out, run):
    out[3, 5] = torch.nan


def changing(out, run):
    out[3, 5] *= 1 + run * 1e-6


def test_a_result_beyond_its_bound_fails(monkeypatch):
    line = products.product_line(broken_gemm(monkeypatch, scaled), "here")
    assert line.verdict is Verdict.FAIL
    assert "times its bound on here: D[" in line.detail


def test_an_unwritten_output_fails(monkeypatch):
    line = products.product_line(broken_gemm(monkeypatch, unwritten), "here")
    assert (line.verdict, line.detail.startswith("1 of ")) == (Verdict.FAIL, True)


def test_runs_that_differ_fail(monkeypatch):
    product = broken_gemm(monkeypatch, changing)
    line = products.determinism_line([product], "n")
    assert (line.verdict, line.detail) == (Verdict.FAIL, "3 runs gave different bits: rowwise wgrad.")


def foretold(**change) -> products.Product:
    found = {"name": "rowwise fprop", "outputs": 9, "sampled": 9, "unwritten": 0, "worst": 0.5, "place": ""}
    found |= {"repeats": True, "prediction": None}
    return products.Product(**found | change)


def test_a_bound_is_of_the_gpu_s_own_tensor_core():
    fp8 = plan_gemm(RECIPES["deepseek_v3"].fprop, (64, 64, 256), HOPPER, Summation.RECIPE)
    mx = plan_gemm(RECIPES["mxfp8"].fprop, (64, 64, 256), HOPPER, Summation.RECIPE)
    assert mx.numerics.arithmetic is Arithmetic.DEQUANTIZED
    names = {c: accumulator_on(fp8, c).name for c in ((8, 9), (9, 0), (10, 0), (12, 0))}
    assert list(names.values()) == ["ada_fp8", "hopper_promoted", "blackwell_fp8", "blackwell_fp8"]
    assert accumulator_on(mx, (8, 9)).name == "ampere_half"
    assert accumulator_on(mx, (9, 0)).name == accumulator_on(mx, (12, 0)).name == "hopper_bf16"
    assert {accumulator_on(fp8, c).promotion for c in names} == {fp8.numerics.promotion}
    for recipe, unit in (("mxfp8", "blackwell_fp8"), ("nvfp4", "blackwell_fp4")):
        native = plan_gemm(RECIPES[recipe].fprop, (64, 64, 256), BLACKWELL, Summation.RECIPE)
        assert accumulator_on(native, BLACKWELL.capability).name == unit
