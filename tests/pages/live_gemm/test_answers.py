"""Contract: Live GEMM shows what belongs to the question, says what is recorded nearby, and which recorded
lines it could not read; a line above an interpreter's run, and one above a GPU's times, says whose they are.
"""

from dataclasses import replace

import pytest

from fp8core.inputs import InputKind
from kernels.gemm.numerics import Summation
from kernels.measure.jobs import Cache, GemmJob
from pages.kit.gemm.results import Origin, Result
from pages.live_gemm.results import to_show
from tests.kernels.worker.stand_in import Act, job, row
from tests.pages.gemm_rows import gpu_row, record
from tests.pages.live_gemm.page import PAGE, SMALL, first_row, headings, run_job
from tests.pages.texts import texts

pytestmark = pytest.mark.usefixtures("stand_in_workers")


def test_a_result_of_another_seed_says_so_and_one_of_another_shape_is_not_shown(open_app):
    at = open_app(PAGE, **SMALL)
    run_job(at)
    assert "This run differs from the controls" not in texts(at)
    at.number_input(key="seed").set_value(int(Act.SLOW)).run()
    assert f"This run differs from the controls: seed is {int(Act.FINE)}." in texts(at)
    at.number_input(key="k").set_value(32).run()
    assert "Nothing has been run yet for **M × N × K = 64 × 64 × 32**" in texts(at)
    assert list(at.dataframe[0].value["M × N × K"]) == ["64 × 64 × 64"]


JOB = GemmJob(recipe="mxfp8", matmul="fprop", m=64, n=64, k=64)


def test_where_nothing_answers_the_nearest_is_shown_as_another(open_app, tmp_path):
    record(tmp_path, [gpu_row(replace(JOB, accumulation=Summation.REFOLDED))])
    at = open_app(PAGE, recipe="mxfp8", **SMALL)
    assert "This run differs from the controls: accumulation is refolded, not bit-exact." in texts(at)
    record(tmp_path, [gpu_row(replace(JOB, recipe="rowwise"))])
    at = open_app(PAGE, recipe="mxfp8", **SMALL)
    assert "No GEMM of MXFP8, Fprop, is recorded for a GPU." in texts(at)


def test_recorded_rows_come_nearest_first(open_app, tmp_path):
    own_job = GemmJob(recipe="mxfp8", matmul="fprop", m=4096, n=4096, k=4096)
    record(
        tmp_path,
        [gpu_row(replace(own_job, m=8192)), gpu_row(own_job), gpu_row(replace(own_job, recipe="rowwise"))],
    )
    at = open_app(PAGE, recipe="mxfp8", matmul="fprop", m="4096", n="4096", k="4096")
    assert "Recorded on NVIDIA H200" in texts(at)
    assert "2026-11-20, torch 2.11.0, triton 3.6.0" in texts(at)
    assert "This run differs from the controls" not in texts(at)
    values = first_row(at)
    ratios = values["× bf16"], values["× bf16, all"], values["× torch"]
    assert ratios == pytest.approx((2.0, 4 / 3, 0.9))
    assert list(at.dataframe[0].value["M × N × K"]) == ["4096 × 4096 × 4096", "8192 × 4096 × 4096"]


def test_the_times_of_another_shape_say_so_above_an_interpreter_s_run(open_app, tmp_path):
    record(tmp_path, [gpu_row(replace(JOB, m=4096, n=4096, k=7168))])
    at = open_app(PAGE, recipe="mxfp8", **SMALL)
    run_job(at)
    assert "Triton's interpreter on this CPU" in texts(at)
    times, error = headings(at)
    assert "4096 × 4096 × 7168, not the shape above" in times
    assert "not the shape" not in error


def test_an_interpreter_s_run_stands_apart_from_the_recorded_one_of_its_gemm(open_app, tmp_path):
    record(tmp_path, [gpu_row(JOB)])
    at = open_app(PAGE, recipe="mxfp8", **SMALL)
    run_job(at)
    times, error = headings(at)
    assert times.startswith("□ **Recorded on NVIDIA H200**")
    assert error.startswith("■ **Triton's interpreter on this CPU**")
    assert "not the shape above" not in times + error
    assert "**3.75% error**. The times are the NVIDIA H200's, recorded." in texts(at)


def test_only_a_run_of_the_gemm_asked_for_is_shown_its_very_job_first():
    own_job = job(Act.FINE)
    older = Result(row(own_job), Origin.HERE)
    newer = Result(row(replace(own_job, seed=own_job.seed + 90)), Origin.HERE)
    other = Result(gpu_row(replace(own_job, m=9)), Origin.HERE)
    assert to_show(own_job, [other, newer, older], []) == [older]
    assert to_show(replace(own_job, runs=7), [other, newer, older], []) == [newer]
    cold = Result(gpu_row(replace(own_job, cache=Cache.COLD)), Origin.RECORDED)
    assert to_show(own_job, [other, older], [cold]) == [older, cold]
    for change in ({"m": 10}, {"n": 9}, {"k": 9}, {"recipe": "rowwise"}, {"input": InputKind.HEAVY_TAIL}):
        assert to_show(replace(own_job, **change), [other, newer, older], [cold]) == [], change


BAD_LINE = b'{"job": \x00'


@pytest.mark.parametrize(
    ("page", "query"),
    [(PAGE, {}), ("pages/benchmarks.py", {}), ("pages/accumulation.py", {"sum_show": "cost"})],
    ids=["live gemm", "benchmarks", "accumulation"],
)
def test_a_bad_line_of_the_record_is_told_and_the_rest_is_shown(open_app, tmp_path, page, query):
    own_job = GemmJob(recipe="deepseek_v3", matmul="fprop", m=4096, n=4096, k=7168)
    record(tmp_path, [gpu_row(own_job)])
    path = tmp_path / "h200.jsonl"
    path.write_bytes(path.read_bytes() + (BAD_LINE + b"\n") * 5 + path.read_bytes())
    at = open_app(page, **query)
    assert not at.exception
    (warning,) = at.warning
    assert "h200.jsonl, line 2\\: the line is not JSON" in warning.value
    assert warning.value.endswith("- And 2 more.")
    path.write_bytes(path.read_bytes().replace(BAD_LINE + b"\n", b""))
    assert not at.run().warning
