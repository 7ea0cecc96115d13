"""Contract: run on real kernels, every line of correctness passes, and a kernel that is wrong in one bit, one
element or one run fails its line with the place; a wrong product is not timed.
"""

import dataclasses

import numpy as np
import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.bench.job import GemmJob
from kernels.check import casts, products, quantizers, speed
from kernels.check.bounds import accumulator_on
from kernels.check.job import CheckJob
from kernels.check.names import BF16, COPY, FP8
from kernels.check.reading import Reading
from kernels.check.report import Group, Verdict
from kernels.check.run import run
from kernels.check.steps import PREDICTED, check_steps
from kernels.device import BLACKWELL, HOPPER, DeviceKind, Unsupported, current_device
from kernels.gemm.bodies import refusal
from kernels.gemm.meaning import Arithmetic, Summation
from kernels.gemm.plan import plan_gemm
from tests.kernels.cases import ON_GPU
from tests.kernels.check.reports import A100, H200, INTERPRETED
from tests.kernels.check.stand_in import StandIn, passed

interpreted_only = pytest.mark.skipif(ON_GPU, reason="it looks at what the interpreter gives")


@pytest.fixture(scope="module")
def report():
    return run(CheckJob(), None if ON_GPU else StandIn((INTERPRETED,)))


def test_every_line_of_correctness_passes(report):
    assert report.finished
    wrong = [line for line in report.lines if line.verdict is Verdict.FAIL]
    assert wrong == []
    assert [line.name for line in report.of_group(Group.CASTS)] == ["e4m3", "e5m2"]
    assert [line.name for line in report.of_group(Group.QUANTIZERS)] == list(RECIPES)
    gemms = [line.name for line in report.of_group(Group.GEMMS)]
    assert gemms == [f"{recipe} {matmul}" for matmul in MATMULS for recipe in RECIPES]
    for group in (Group.CASTS, Group.QUANTIZERS, Group.GEMMS, Group.DETERMINISM):
        assert {line.verdict for line in report.of_group(group)} == {Verdict.PASS}


@interpreted_only
def test_the_interpreter_is_neither_timed_nor_predicted(report):
    (line,) = report.of_group(Group.ACCUMULATOR)
    assert line.verdict is Verdict.NOT_SUPPORTED
    assert report.of_group(Group.SPEED) == ()
    assert report.exit_code == 2


@pytest.mark.parametrize("quick", [False, True])
def test_a_quick_check_is_of_fprop_only(quick):
    matmuls = {"fprop"} if quick else set(MATMULS)
    steps = check_steps(CheckJob(quick=quick), H200, "")
    names = {name for step in steps for name in step.names if step.group is Group.GEMMS}
    assert names == {f"{recipe} {matmul}" for recipe in RECIPES for matmul in matmuls}
    timed = [name for step in steps for name in step.names if step.group is Group.SPEED]
    assert set(timed) == {COPY, BF16, FP8} | names
    assert len(set(timed)) == len(timed)


def test_all_bf16_numbers_and_all_codes_are_cast():
    line = casts.check_casts(FORMATS["e4m3"], current_device())
    nans = 2 * 127
    assert line.figures[0].value == 256 + (1 << 16) - nans


def test_a_wrong_code_fails_the_cast(monkeypatch):
    real = casts.encoded

    def off_by_one(format_, x, device):
        codes = real(format_, x, device)
        codes[300] ^= 1
        return codes

    monkeypatch.setattr(casts, "encoded", off_by_one)
    line = casts.check_casts(FORMATS["e5m2"], current_device())
    assert line.verdict is Verdict.FAIL
    assert line.detail.startswith("1 numbers get another code")
    monkeypatch.setattr(casts, "encoded", real)
    monkeypatch.setattr(casts, "decoded", lambda format_, device: np.zeros(256))
    line = casts.check_casts(FORMATS["e5m2"], current_device())
    assert line.verdict is Verdict.FAIL
    assert "codes are misread" in line.detail


@pytest.mark.parametrize("part", ["codes", "scale"])
def test_a_wrong_bit_fails_the_quantizer(monkeypatch, part):
    real = quantizers.quantize

    def flipped(*arguments, **options):
        made = real(*arguments, **options)
        whole = getattr(made, part).clone()
        whole.view(torch.uint8 if part == "codes" else torch.int32)[-1, -1] ^= 1
        return dataclasses.replace(made, **{part: whole})

    monkeypatch.setattr(quantizers, "quantize", flipped)
    fprop = (MATMULS["fprop"],)
    line = quantizers.check_quantizers(RECIPES["mxfp8"], fprop, current_device(), {})
    assert line.verdict is Verdict.FAIL
    assert "of 2 operands differ. Fprop, A: " in line.detail
    assert "the kernel says" in line.detail


def test_samples_are_bf16_numbers_with_what_is_hard():
    x = quantizers.sample("broken", (80, 144))
    assert np.array_equal(torch.from_numpy(x).bfloat16().float().numpy(), x, equal_nan=True)
    assert np.isnan(x).any()
    assert np.isinf(x).any()
    wide = quantizers.sample("wide", (80, 144))
    assert np.isfinite(wide).all()
    assert (wide[:, :36] == 0).all()
    assert (np.abs(wide[wide != 0]) < np.finfo(np.float32).tiny).any()


@pytest.mark.parametrize(("outputs", "sampled"), [(1, 1), (10, 16), (16, 16), (PREDICTED, 80 * 48)])
@interpreted_only
def test_at_least_as_many_outputs_are_compared_as_asked_for(outputs, sampled):
    product = products.multiply("rowwise", "fprop", outputs, current_device())
    assert (product.sampled, product.outputs) == (sampled, 80 * 48)


def broken_gemm(monkeypatch, change) -> products.Product:
    real, runs = products.gemm, iter(range(products.RUNS))

    def wrong(a, b, plan, *, out):
        real(a, b, plan, out=out)
        change(out, next(runs))
        return out

    monkeypatch.setattr(products, "gemm", wrong)
    return products.multiply("rowwise", "wgrad", PREDICTED, current_device())


def scaled(out, run):
    out *= 1.1


def unwritten(out, run):
    out[3, 5] = torch.nan


def changing(out, run):
    out[3, 5] *= 1 + run * 1e-6


def test_a_result_beyond_its_bound_fails(monkeypatch):
    line = products.product_line(broken_gemm(monkeypatch, scaled), "n", "here")
    assert line.verdict is Verdict.FAIL
    assert "times its bound on here: D[" in line.detail


def test_the_bound_is_where_a_result_begins_to_fail():
    found = {worst: products.product_line(foretold(worst=worst), "n", "here") for worst in (1.0, 1.01)}
    assert [line.verdict for line in found.values()] == [Verdict.PASS, Verdict.FAIL]


def test_an_unwritten_output_fails(monkeypatch):
    line = products.product_line(broken_gemm(monkeypatch, unwritten), "n", "here")
    assert (line.verdict, line.detail.startswith("1 of ")) == (Verdict.FAIL, True)


def test_runs_that_differ_fail(monkeypatch):
    product = broken_gemm(monkeypatch, changing)
    line = products.determinism_line([product], "n")
    assert (line.verdict, line.detail) == (Verdict.FAIL, "3 runs gave different bits: rowwise wgrad.")


def foretold(**change) -> products.Product:
    found = {"name": "rowwise fprop", "outputs": 9, "sampled": 9, "unwritten": 0, "worst": 0.5, "place": ""}
    found |= {"repeats": True, "predicted": 9, "unlike": 0, "first": ""}
    return products.Product(**found | change)


def test_the_model_s_line_counts_every_gemm():
    line = products.accumulator_line([foretold(), foretold()], "n")
    assert (line.verdict, line.figures[0].value) == (Verdict.PASS, 18)
    line = products.accumulator_line([foretold(), foretold(unlike=2, first="D[0, 1]: x")], "n")
    assert line.verdict is Verdict.FAIL
    assert line.detail == "2 of 18 outputs differ from the model. rowwise fprop, D[0, 1]: x."


def test_what_the_model_says_is_compared_bit_by_bit(monkeypatch):
    plan = plan_gemm(RECIPES["rowwise"].fprop, (4, 4, 64), HOPPER, Summation.RECIPE)
    model = np.array([[1.0, np.nan], [-0.0, 2.0]], np.float32)
    monkeypatch.setattr(products, "predict", lambda plan, a, b: model)
    places = np.array([7, 8])
    got = model.copy()
    same = products._against_model(plan, None, None, got, HOPPER, places, places)
    assert same == (4, 0, "")
    got[1, 0] = 0.0
    outputs, unlike, first = products._against_model(plan, None, None, got, HOPPER, places, places)
    assert (outputs, unlike, first) == (4, 1, "D[8, 7]: the model says -0.0, the GPU 0.0")
    assert products._against_model(plan, None, None, got, BLACKWELL, places, places) == (0, 0, "")


@pytest.mark.parametrize("count", [len(RECIPES), len(RECIPES) * len(MATMULS)])
def test_all_gemms_together_predict_enough_outputs(count):
    m, n, _ = products.MNK
    each = -(-PREDICTED // count)
    side = products.isqrt(each - 1) + 1
    rows, columns = products._spread(m, side), products._spread(n, side)
    assert rows.size * columns.size * count >= PREDICTED
    for places, size in ((rows, m), (columns, n)):
        assert (np.diff(places) > 0).all()
        assert 0 <= places[0] <= places[-1] < size


@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("device", [HOPPER, BLACKWELL], ids=lambda device: device.name)
def test_what_is_compared_is_planned_as_what_is_timed(recipe, matmul, device):
    m, n, k = products.MNK
    compared = products.plan_of(GemmJob(recipe=recipe, matmul=matmul, m=m, n=n, k=k), device)
    timed = speed.speed_job(recipe, matmul)
    assert compared == plan_gemm(compared.meaning.spec, (timed.m, timed.n, timed.k), device, Summation.RECIPE)
    if not compared.body.is_simple:
        reason = refusal(compared.body, compared.meaning, products.MNK, device)
        assert not reason, "the same kernel takes the sizes that are compared"


def test_a_bound_is_of_the_gpu_s_own_tensor_core():
    fp8 = plan_gemm(RECIPES["deepseek_v3"].fprop, (64, 64, 256), HOPPER, Summation.RECIPE)
    mx = plan_gemm(RECIPES["mxfp8"].fprop, (64, 64, 256), HOPPER, Summation.RECIPE)
    assert mx.meaning.arithmetic is Arithmetic.DEQUANTIZED
    names = {c: accumulator_on(fp8, c).name for c in ((8, 9), (9, 0), (10, 0), (12, 0))}
    assert list(names.values()) == ["ada_fp8", "hopper_promoted", "blackwell_fp8", "blackwell_fp8"]
    assert accumulator_on(mx, (8, 9)).name == "ampere_half"
    assert accumulator_on(mx, (9, 0)).name == accumulator_on(mx, (12, 0)).name == "hopper_bf16"
    assert {accumulator_on(fp8, c).promotion for c in names} == {fp8.meaning.promotion}


@interpreted_only
def test_a_wrong_product_is_not_timed_and_the_right_ones_take_turns_with_torch(monkeypatch):
    turns = []

    def take_turns(job, jobs, *rest, **options):
        turns.append(set(jobs))
        return speed.Timed(times=dict.fromkeys((BF16, FP8, *jobs), 1e6), refused={}, reading=Reading())

    def multiply(recipe, matmul, outputs, device):
        if recipe == "mxfp8":
            raise RuntimeError("compile error")
        if recipe == "deepseek_v3":
            raise Unsupported("not here")
        return foretold(name=recipe, worst=2.0 if recipe == "rowwise" else 0.5)

    monkeypatch.setattr(speed, "time_copy", lambda *rest: passed(Group.SPEED, COPY))
    monkeypatch.setattr(speed, "take_turns", take_turns)
    monkeypatch.setattr(products, "multiply", multiply)

    def plan(*arguments):
        return [s for s in check_steps(*arguments) if s.group in (Group.GEMMS, Group.SPEED)]

    report = run(CheckJob(), StandIn(), plan=plan)
    speeds = {line.name: line.verdict for line in report.of_group(Group.SPEED)}
    wrong = {f"{recipe} {matmul}" for recipe in ("rowwise", "mxfp8") for matmul in MATMULS}
    assert {name for name, verdict in speeds.items() if verdict is Verdict.NOT_RUN} == wrong
    matmuls = [{f"{recipe} {matmul}" for recipe in RECIPES} - wrong for matmul in MATMULS]
    assert turns == matmuls, "torch's are timed once, with ours of the first matmul"


@interpreted_only
def test_torch_s_matmuls_are_timed_where_ours_do_not_run(monkeypatch):
    turns = []

    def take_turns(job, jobs, *rest, with_fp8):
        turns.append((set(jobs), with_fp8))
        return speed.Timed(times={BF16: 1e6}, refused={FP8: "torch has none"}, reading=Reading())

    monkeypatch.setattr(speed, "time_copy", lambda *rest: passed(Group.SPEED, COPY))
    monkeypatch.setattr(speed, "take_turns", take_turns)
    report = run(CheckJob(quick=True), StandIn((A100,)))
    speeds = {line.name: line.verdict for line in report.of_group(Group.SPEED)}
    assert turns == [(set(), True)]
    assert (speeds[BF16], speeds[FP8]) == (Verdict.PASS, Verdict.NOT_SUPPORTED)


def test_operands_lie_where_the_kernels_run():
    device = current_device()
    operands = products.drawn(speed.speed_job("rowwise", "wgrad"), device)
    assert operands.a.is_cuda == (device.kind is DeviceKind.GPU)
    assert operands.a.dtype == torch.bfloat16
