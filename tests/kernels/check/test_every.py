"""Contract: a check of everything has each distinct operand and product, keeps its lines as they come and
goes on from them; a wrong bit on any shape fails its line with the place.
"""

import dataclasses
import json

import pytest
import torch

from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from kernels.check import products, quantizers
from kernels.check.cases import distinct_gemms, distinct_operands
from kernels.check.cli import main
from kernels.check.every.kept import KeptLines, gpu_of
from kernels.check.every.products import multiply_anew
from kernels.check.every.quantizers import compare_anew
from kernels.check.every.steps import every_steps
from kernels.check.facts import Facts
from kernels.check.job import CheckJob
from kernels.check.report import Group, Verdict
from kernels.check.run import run
from kernels.device import current_device
from tests.kernels.check.reports import ADA, H200, INTERPRETED
from tests.kernels.check.stand_in import StandIn, passed, plan_of, step

GEMMS = {case.name: case for case in distinct_gemms(MATMULS.values())}
OPERANDS = {case.name: case for case in distinct_operands(MATMULS.values())}


def test_every_operand_of_every_recipe_is_compared_once():
    operands = [own.operand for own in OPERANDS.values()]
    asked = {
        recipe.operand(matmul, side)
        for recipe in RECIPES.values()
        for matmul in MATMULS.values()
        for side in Side
    }
    assert len(operands) == len(set(operands))
    assert set(operands) == asked - {None}


def test_each_case_is_a_step_and_a_gpu_times_it_on_every_shape():
    there = {(step.group, name) for step in every_steps(H200, "", 0) for name in step.names}
    steps = every_steps(H200, "", 0)
    assert len(there) == len(steps), "names of lines are unique in their group"
    assert {name for group, name in there if group is Group.QUANTIZERS} == set(OPERANDS)
    assert {name for group, name in there if group is Group.GEMMS} == set(GEMMS)
    timed = [name for group, name in there if group is Group.SPEED]
    assert sum(name.endswith("quantized") for name in timed) == len(OPERANDS)
    for shape in ("4096 × 4096 × 7168", "8192³", *(f"{m} × 14336 × 4096" for m in (16, 32, 64))):
        assert sum(name.endswith(f", {shape}") for name in timed) == len(GEMMS)
    interpreted = every_steps(INTERPRETED, "", 0)
    assert {step.group for step in interpreted} == {Group.QUANTIZERS, Group.GEMMS}


def kept_run(path, *steps, facts: Facts = H200, seed: int = 0):
    kept = KeptLines(path, seed)
    report = run(
        CheckJob(),
        StandIn((facts,)),
        plan=plan_of(*steps),
        progress=lambda done, note, so_far: kept.keep(so_far),
        so_far=kept.so_far(CheckJob(), gpu_of(facts)),
    )
    kept.keep(report)
    return report


def counted(name: str, runs: list[str]):
    return step(name, lambda: [runs.append(name) or passed(Group.GEMMS, name)])


def interrupted():
    raise KeyboardInterrupt


def test_lines_are_kept_as_they_come_and_the_next_run_goes_on(tmp_path):
    path, runs = tmp_path / "lines.jsonl", []
    assert not kept_run(path, counted("a", runs), step("b", interrupted), counted("c", runs)).finished
    assert [json.loads(text)["line"]["name"] for text in path.read_text().splitlines()] == ["a"]
    steps = [counted(name, runs) for name in "abc"]
    report = kept_run(path, *steps)
    assert runs == ["a", "b", "c"]
    assert [line.name for line in report.of_group(Group.GEMMS)] == ["a", "b", "c"]
    assert report.exit_code == 0
    kept_run(path, *steps, seed=1)
    kept_run(path, *steps, facts=ADA)
    assert runs == list("abc") * 3, "another seed or another GPU begins anew"
    assert len(path.read_text().splitlines()) == 9


def test_a_line_that_was_cut_off_is_run_again_and_another_file_is_refused(tmp_path):
    path, runs = tmp_path / "lines.jsonl", []
    kept_run(path, counted("a", runs), counted("b", runs))
    path.write_text(path.read_text()[:-20])
    kept_run(path, counted("a", runs), counted("b", runs))
    assert runs == ["a", "b", "b"]
    path.write_text('{"job": 1}\n')
    with pytest.raises(ValueError, match=r"lines\.jsonl, line 1 is no line of this check"):
        KeptLines(path, 0).so_far(CheckJob(), "")


def test_the_command_keeps_what_it_had_time_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("kernels.check.cli.every_steps", lambda facts, uuid, seed: (step(f"of {seed}"),))
    path = tmp_path / "lines.jsonl"
    assert main(["--every", str(path), "--seed", "3", "--seconds", "0"], machine=StandIn()) == 130
    assert not path.exists()
    assert main(["--every", str(path), "--seed", "3"], machine=StandIn()) == 0
    assert json.loads(path.read_text())["line"]["name"] == "of 3"
    assert "As it should be." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seconds", "5"], "--seed and --seconds go with --every FILE"),
        (["--seed", "-1", "--every", "f"], "the seed is a whole number from 0 to 2**32 - 1, got -1"),
    ],
    ids=["without a file", "a bad seed"],
)
def test_arguments_that_do_not_fit_are_told(arguments, sentence, capsys):
    assert main(arguments, machine=StandIn()) == 64
    assert capsys.readouterr().err == f"kernels.check: {sentence}\n"


def test_a_seed_draws_its_own_shapes_and_they_are_all_right():
    own, told = OPERANDS["mxfp6_e3m2 fprop A"], set()
    for seed in (1, 1, 2):
        line = compare_anew(own, current_device(), seed)
        assert line.verdict is Verdict.PASS, line.detail
        told.add(line.figures[0].value)
    assert len(told) == 2


def test_a_wrong_bit_on_one_shape_fails_the_quantizer(monkeypatch):
    real, made = quantizers.quantized, []

    def flipped(*arguments, **options):
        made.append(real(*arguments, **options))
        whole = made[-1].codes.clone(memory_format=torch.contiguous_format)
        whole.view(torch.uint8)[0, 0] ^= len(made) == 2
        return dataclasses.replace(made[-1], codes=whole)

    monkeypatch.setattr(quantizers, "quantized", flipped)
    line = compare_anew(OPERANDS["rowwise fprop A"], current_device(), 0)
    assert line.verdict is Verdict.FAIL
    rows, columns = made[1].shape
    assert f"{rows} × {columns}: code [0, 0] is" in line.detail


@pytest.mark.parametrize("name", ["nvfp4 fprop", "rowwise_hp_wgrad wgrad"])
def test_a_product_is_right_on_all_shapes_or_fails_with_the_shape(monkeypatch, name):
    line = multiply_anew(GEMMS[name], current_device(), 0, "here")
    assert (line.verdict, line.detail.startswith("3 shapes")) == (Verdict.PASS, True)
    real, runs = products.gemm, []

    def wrong(a, b, plan, *, out):
        real(a, b, plan, out=out)
        runs.append(out.shape)
        out += 100.0 * (len(runs) > products.RUNS)
        return out

    monkeypatch.setattr(products, "gemm", wrong)
    line = multiply_anew(GEMMS[name], current_device(), 0, "here")
    m, n = runs[products.RUNS]
    assert line.verdict is Verdict.FAIL
    assert line.detail.startswith(f"{m} × {n} × ")
