"""Contract: The bench command prints what it measured as a table or as JSON, records rows of a GPU only,
a whole line at a time, and answers a bad argument with one sentence and an exit code.
"""

import dataclasses
import json

import pytest

from fp8core.recipes import RECIPES
from kernels.bench import main
from kernels.records import read_rows, record, slug
from kernels.rows import Row
from tests.kernels.cases import ON_GPU
from tests.kernels.test_rows import ROW

SMALL = ["--shape", "40", "20", "70", "--runs", "2"]


def test_the_table_has_a_line_for_every_job(capsys):
    assert main(["--recipe", "all", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(RECIPES)
    for line, recipe in zip(lines[1:], RECIPES, strict=True):
        assert line.split()[:2] == [recipe, "fprop"]
        assert "40 × 20 × 70" in line


def test_json_lines_are_rows(capsys):
    assert main(["--recipe", "mxfp8", "--matmul", "all", "--input", "heavy_tail", "--json", *SMALL]) == 0
    rows = [Row.from_dict(json.loads(line)) for line in capsys.readouterr().out.splitlines()]
    assert [row.job.matmul for row in rows] == ["fprop", "dgrad", "wgrad"]
    assert {row.job.input.value for row in rows} == {"heavy_tail"}


def test_a_refused_job_is_reported_and_the_rest_goes_on(capsys):
    assert main(["--recipe", "all", "--accumulation", "fast", *SMALL]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(RECIPES)
    assert [line.split()[0] for line in lines if "fast accumulation keeps one sum" in line] == ["deepseek_v3"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--shape", "-1", "2", "3"], "kernels.bench: M is a whole number from 0 to 65536, got -1\n"),
        (["--runs", "0"], "kernels.bench: runs is a whole number from 1 to 1000, got 0\n"),
        (["--seed", "-1"], "kernels.bench: the seed is a whole number from 0 to 2**32 - 1, got -1\n"),
    ],
)
def test_a_bad_argument_is_answered_in_a_sentence(capsys, arguments, sentence):
    assert main(arguments) == 2
    assert capsys.readouterr() == ("", sentence)


@pytest.mark.parametrize("arguments", [["--recipe", "fp8"], ["--shape", "1", "2"], ["--input", "noise"]])
def test_an_unknown_choice_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "usage: python -m kernels.bench" in capsys.readouterr().err


def test_records_are_whole_lines_in_a_file_of_the_gpu(tmp_path):
    folder = tmp_path / "bench"
    assert record(ROW, folder) == record(ROW, folder) == folder / "a_gpu.jsonl"
    assert list(read_rows(folder / "a_gpu.jsonl")) == [ROW, ROW]
    assert slug("NVIDIA H200 (SXM)") == "nvidia_h200_sxm"


@pytest.mark.skipif(ON_GPU, reason="its rows are a GPU's")
def test_the_interpreters_figures_are_not_recorded(tmp_path, capsys):
    assert main(["--record", "--folder", str(tmp_path), *SMALL]) == 2
    assert "come from Triton's interpreter" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    machine = dataclasses.replace(ROW.machine, capability=None)
    with pytest.raises(ValueError, match="keeps rows of a GPU"):
        record(dataclasses.replace(ROW, machine=machine), tmp_path)


def test_ctrl_c_keeps_what_was_measured(monkeypatch, capsys):
    from kernels import measure as measuring

    real = measuring.measure

    def once(job, **rest):
        if job.matmul == "dgrad":
            raise KeyboardInterrupt
        return real(job, **rest)

    monkeypatch.setattr(measuring, "measure", once)
    assert main(["--matmul", "all", "--json", *SMALL]) == 130
    assert len(capsys.readouterr().out.splitlines()) == 1
