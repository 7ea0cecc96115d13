"""Live GEMM without a browser: what the page shows, refuses, runs and keeps."""

import math
import re
from dataclasses import replace

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.measure.jobs import GemmJob
from kernels.measure.rows import Prediction
from pages.kit.gemm.presets import refusal
from pages.kit.gemm.results import Origin, Result, as_csv
from pages.live_gemm.words import error_sentence, percent
from tests.kernels.worker.gates import Gate
from tests.kernels.worker.stand_in import Act, job, row
from tests.pages.gemm_rows import gpu_row, record, run_until
from tests.pages.live_gemm.page import PAGE, SMALL, first_row, headings, run_job
from tests.pages.recipe_chooser import recipe_list
from tests.pages.texts import is_quiet, press, texts

pytestmark = pytest.mark.usefixtures("stand_in_workers")


def test_without_a_gpu_the_page_opens_on_the_recorded_shape_and_runs_a_small_one(open_app, tmp_path):
    usual = GemmJob(recipe="deepseek_v3", matmul="fprop", m=4096, n=4096, k=7168)
    record(tmp_path, [gpu_row(usual), gpu_row(replace(usual, m=256, n=256, k=512))])
    at = open_app(PAGE)
    assert [at.number_input(key=key).value for key in "mnk"] == [4096, 4096, 7168]
    assert at.button(key="run").label == "Run 256³ on this CPU"
    assert at.query_params == {}
    assert len(at.get("vega_lite_chart")) == 2
    words = texts(at)
    assert "Recorded on the NVIDIA H200: **2.00 times as fast as bf16**" in words
    assert "Press Run to multiply 256³ here." in words
    (heading,) = headings(at)
    assert "not the shape above" not in heading


@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_and_matmul_is_described_and_is_run_or_refused(open_app, on_gpu, recipe, matmul):
    at = open_app(PAGE, recipe=recipe, matmul=matmul)
    assert not at.exception
    dims = MATMULS[matmul]
    assert [at.number_input(key=key).label for key in "mnk"] == [
        f"M: {dims.m.value}",
        f"N: {dims.n.value}",
        f"K: {dims.k.value}, summed",
    ]
    words = texts(at)
    assert f"**A** is {dims.a.value}[" in words
    assert f"**B** is {dims.b.value}[" in words
    shape = {key: at.number_input(key=key).value for key in "mnk"}
    reason = refusal(GemmJob(recipe=recipe, matmul=matmul, **shape), has_gpu=True)
    assert at.button(key="run").disabled == (reason is not None)
    assert [info.value for info in at.info if info.value == reason] == [reason] * (reason is not None)
    link = next(link.proto for link in at.get("page_link") if link.proto.query_string)
    address = {"recipe": recipe, "matmul": matmul}
    assert all(f"{key}={value}" in link.query_string for key, value in address.items())


def test_one_button_runs_a_small_shape_where_the_interpreter_cannot_run_the_chosen_one(open_app):
    at = open_app(PAGE, recipe="mxfp8", m="8192")
    assert at.button(key="run").label == "Run 256³ on this CPU"
    assert "without a GPU" in texts(at)
    run_job(at)
    assert at.query_params == {"recipe": "mxfp8", "m": "256", "n": "256", "k": "256"}
    assert at.button(key="run").label == "Run on this CPU"
    assert "this CPU computes the same codes and sums, **3.75% error**" in texts(at)


@pytest.mark.parametrize("machine", ["stand_in_workers", "on_gpu"])
def test_a_combination_that_does_not_exist_is_refused_with_the_planner_s_reason(open_app, request, machine):
    request.getfixturevalue(machine)
    at = open_app(PAGE, recipe="deepseek_v3", accumulation="fast")
    assert not at.exception
    assert "256" not in at.button(key="run").label, "a small shape is at fault just as well"
    if machine == "on_gpu":
        assert at.button(key="run").disabled
        assert "fast accumulation keeps one sum in the tensor core" in texts(at)


def test_the_layer_s_shape_is_set_for_the_matmul(open_app):
    at = open_app(PAGE, matmul="wgrad")
    at.selectbox(key="gemm_shape").set_value("Layer: 4096 tokens, 4096 → 14336").run()
    assert [at.number_input(key=key).value for key in "mnk"] == [14336, 4096, 4096]


def test_the_panel_tells_how_many_are_ahead_and_stop_takes_the_run_out(open_app, stand_in_workers):
    first = stand_in_workers.queue.submit(job(Act.HANG), "somebody else")
    at = open_app(PAGE, **SMALL)
    at.button(key="run").click().run()
    text = at.get("progress")[0].proto.text
    assert "waiting, 1 ahead of you" in text
    press(at, "Stop")
    run_until(at, is_quiet)
    assert "Stopped on request" in texts(at)
    stand_in_workers.queue.stop(first)


def test_a_run_fails_in_a_sentence_or_has_its_error_or_a_dash_and_says_that_it_was_interpreted(open_app):
    at = open_app(PAGE, seed=str(int(Act.KILLED)), **SMALL)
    run_job(at)
    assert "SIGKILL" in at.error[0].value
    at.number_input(key="seed").set_value(int(Act.NOT_A_NUMBER)).run()
    run_job(at)
    assert not at.exception
    assert "**– error**" in texts(at)
    at.number_input(key="seed").set_value(0).run()
    run_job(at)
    assert not at.error
    assert (first_row(at)["rel_err"], first_row(at)["SQNR"]) == pytest.approx((0.0375, 28.5), rel=1e-2)
    assert re.search(r"would be off by 3\.74%; the kernel's own .* is 0\.17%\.", texts(at))
    assert "Triton's interpreter on this CPU" in texts(at)
    assert "Nothing has been run yet" not in texts(at)


def test_a_result_that_comes_while_another_page_is_open_is_there_on_return(open_app, gates):
    gates.close(Gate.JOB)
    at = open_app(PAGE, recipe="mxfp8", seed=str(int(Act.HELD)), **SMALL)
    at.button(key="run").click().run()
    assert not is_quiet(at)
    assert "Press Run" not in texts(at), "its progress stands in the Notice's place"
    at.switch_page("pages/tile_layouts.py").run()
    gates.open(Gate.JOB)
    at.switch_page(PAGE).run()
    run_until(at, is_quiet)
    assert "**3.75% error**" in texts(at)
    assert (at.number_input(key="m").value, recipe_list(at).value) == (64, "mxfp8")


@pytest.mark.parametrize(
    ("quantization", "kernel", "says"),
    [
        (0.037, 0.001, "Nearly all of the error is quantization"),
        (0.01, 0.01, "Both"),
        (1e-5, 0.1, "the kernel's"),
    ],
)
def test_the_error_is_laid_at_the_right_door(quantization, kernel, says):
    assert says in error_sentence(
        gpu_row(job(Act.FINE), quantization_rel_err=quantization, kernel_rel_err=kernel)
    )


def test_an_error_without_a_size_is_no_percentage():
    assert [percent(value) for value in (math.nan, math.inf, 0.0, 0.0375)] == ["–", "∞", "0%", "3.75%"]


@pytest.mark.parametrize("changes", [{"error_map": ()}, {"error_map": ((),)}, {"worst": ()}, {"bf16": None}])
def test_a_row_with_parts_missing_is_shown(open_app, tmp_path, changes):
    own_job = GemmJob(recipe="mxfp8", matmul="fprop", m=4096, n=4096, k=7168)
    record(tmp_path, [gpu_row(own_job, **changes)])
    at = open_app(PAGE, recipe="mxfp8")
    assert not at.exception
    assert "**Speed**: 100 µs, the median of" in texts(at)


@pytest.mark.parametrize("text", ["3", "3.7.1", "-1.2", "4096.0", "x.y"])
def test_what_names_no_element_is_refused_in_a_sentence(open_app, tmp_path, text):
    record(tmp_path, [gpu_row(GemmJob(recipe="mxfp8", matmul="fprop", m=4096, n=4096, k=7168))])
    at = open_app(PAGE, recipe="mxfp8", element=text)
    assert at.warning[0].value.startswith(f"Got “{text}” as an element of D; needed is row.column")
    assert at.get("vega_lite_chart")


@pytest.mark.parametrize(
    ("equal", "says"), [(9, "all of 9 sampled outputs"), (7, "2 of 9 sampled outputs differ")]
)
def test_a_prediction_is_shown_with_what_came_of_it(open_app, tmp_path, equal, says):
    prediction = Prediction(outputs=9, equal=equal, first_difference="" if equal == 9 else "D[0, 1]: …")
    job = GemmJob(recipe="deepseek_v3", matmul="fprop", m=4096, n=4096, k=7168)
    record(tmp_path, [gpu_row(job, prediction=prediction)])
    assert says in texts(open_app(PAGE))


def test_csv_has_a_line_a_result():
    results = [
        Result(row(job(Act.NOT_A_NUMBER)), Origin.HERE),
        Result(gpu_row(job(Act.FINE), kernel_rel_err=math.inf), Origin.RECORDED),
    ]
    lines = as_csv(results).splitlines()
    assert [line.split(",")[0] for line in lines] == ["origin", "here", "recorded"]
    columns = {"rel_err", "gemm_median_us", "simple_median_us", "torch", "pid", "clock_mhz", "cache", "why"}
    assert columns <= set(lines[0].split(","))
