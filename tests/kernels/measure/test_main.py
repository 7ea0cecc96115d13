"""Contract: the bench prints what it measured as a table or JSON, and records rows of a GPU."""

from dataclasses import replace

import pytest

from fp8core.recipes import RECIPES
from kernels.device import current_device
from kernels.gemm.numerics import ScaleAt, Summation, numerics_of
from kernels.measure import gemm as measure
from kernels.measure.__main__ import main as command
from kernels.measure.jobs import Cache
from kernels.measure.records import GEMMS
from tests.kernels.cases import ON_GPU
from tests.kernels.measure.made_up import ROW


def main(arguments):
    return command(["gemm", *arguments])


SMALL = ["--shape", "40", "20", "70", "--runs", "2"]


def table_of(capsys) -> list[str]:
    """The lines before the geometric means, which a GPU's times have."""
    return capsys.readouterr().out.partition("\n\n")[0].splitlines()


@pytest.fixture
def planned(monkeypatch):
    """Jobs are planned, and then have a made-up row."""

    def row_of(job, **rest):
        measure.plan_of(job, current_device())
        return replace(ROW, job=job)

    monkeypatch.setattr(measure, "measure", row_of)


def test_the_table_has_a_line_for_every_job(planned, capsys):
    assert main(["--recipe", "all", *SMALL]) == 0
    lines = table_of(capsys)
    assert len(lines) == 1 + len(RECIPES)
    for text, recipe in zip(lines[1:], RECIPES, strict=True):
        assert text.split()[:2] == [recipe, "fprop"]
        assert "40 × 20 × 70" in text


def test_a_refused_job_is_reported_and_the_rest_goes_on(planned, capsys):
    assert main(["--recipe", "all", "--accumulation", "fast", *SMALL]) == 1
    lines = table_of(capsys)
    assert len(lines) == 1 + len(RECIPES)
    in_loop = [
        recipe.name
        for recipe in RECIPES.values()
        if numerics_of(recipe.fprop, current_device(), Summation.RECIPE).scale_at is ScaleAt.K_LOOP
    ]
    assert [text.split()[0] for text in lines if "fast accumulation keeps one sum" in text] == in_loop
    assert 0 < len(in_loop) < len(RECIPES)


def test_every_recorded_gemm_is_measured_again_in_the_way_in_which_it_was(monkeypatch, tmp_path):
    late = replace(ROW, job=replace(ROW.job, cache=Cache.COLD, runs=4, settle_ms=100))
    for row in (ROW, late, ROW):
        GEMMS.record(row, tmp_path)
    asked = []
    monkeypatch.setattr(measure, "RECORDS", tmp_path)
    monkeypatch.setattr(measure, "run_jobs", lambda options, jobs, *rest, **more: asked.extend(jobs) or 0)
    assert main(["--recorded"]) == 0
    assert asked == [ROW.job, late.job]


@pytest.mark.skipif(ON_GPU, reason="its rows are a GPU's")
def test_the_interpreters_figures_are_not_recorded(tmp_path, capsys):
    assert main(["--record", "--folder", str(tmp_path), *SMALL]) == 2
    assert "these come from Triton interpreter" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    machine = replace(ROW.machine, capability=None)
    with pytest.raises(ValueError, match="keeps rows of a GPU"):
        GEMMS.record(replace(ROW, machine=machine), tmp_path)


def jobs_of(monkeypatch, capsys, *arguments):
    """The jobs that a command line asks for; each is answered with a row that took 2 µs."""
    asked = []

    def answered(job, **rest):
        asked.append(job)
        return replace(ROW, job=job)

    monkeypatch.setattr("kernels.measure.gemm.measure", answered)
    assert main([*arguments, "--json"]) == 0
    capsys.readouterr()
    return asked


def test_hot_cold_and_sustained_reach_the_job(monkeypatch, capsys):
    both = jobs_of(monkeypatch, capsys, "--cache", "all", "--sustained")
    assert [job.cache for job in both] == [Cache.HOT, Cache.COLD]
    assert {(job.runs, job.turn_ms, job.settle_ms) for job in both} == {(7, 250, 100)}
    (cold,) = jobs_of(monkeypatch, capsys, "--cache", "cold", "--sustained", "--runs", "3")
    assert (cold.cache, cold.runs, cold.turn_ms) == (Cache.COLD, 3, 250)
    late, plain = (jobs_of(monkeypatch, capsys, *given)[0] for given in (("--settle-ms", "70"), ()))
    assert (late.settle_ms, plain.settle_ms, plain.turn_ms) == (70, 0, 20)


def test_ctrl_c_keeps_what_was_measured(monkeypatch, capsys):
    from kernels.measure import gemm as measuring

    real = measuring.measure

    def once(job, **rest):
        if job.matmul == "dgrad":
            raise KeyboardInterrupt
        return real(job, **rest)

    monkeypatch.setattr(measuring, "measure", once)
    assert main(["--matmul", "all", "--json", *SMALL]) == 130
    assert len(capsys.readouterr().out.splitlines()) == 1
