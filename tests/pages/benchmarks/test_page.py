"""Benchmarks without a browser: which rows are drawn, against whom, and what is said where there are none."""

from dataclasses import replace

import pytest

from fp8core.inputs import InputKind
from kernels.measure.jobs import Cache, GemmJob
from pages.benchmarks import data, ratios
from pages.benchmarks.charts.rows import NO_OP
from pages.benchmarks.controls import SHOW
from pages.kit.gemm.results import Origin
from pages.kit.inert import plain
from tests.kernels.measure.made_up import changed
from tests.kernels.worker.stand_in import row as interpreted_row
from tests.pages.benchmarks.page import JOB, PAGE, rows_of, word
from tests.pages.gemm_rows import gpu_row, run_until, timing
from tests.pages.texts import is_quiet, texts

H200 = "nvidia_h200"


pytestmark = pytest.mark.usefixtures("stand_in_workers")


def dots(at) -> list[dict]:
    """The points of the ratios."""
    return rows_of(at, "points")


def named(at, name) -> list[float]:
    """The ratios of the points with this name."""
    return [dot["ratio"] for dot in dots(at) if dot["name"] == name]


@pytest.mark.parametrize("section", SHOW.options)
def test_every_section_says_in_a_sentence_that_nothing_is_recorded(open_app, section):
    at = open_app(PAGE, bench_show=section)
    assert not at.exception
    assert any(" recorded" in info.value for info in at.info)


def test_a_point_is_the_ratio_to_torch_s_op_of_the_same_run(open_app, recorded):
    op = timing(90.0, "torch._scaled_mm, fast")
    peers = {"simple": timing(150.0), "dot_scaled": timing(350.0), "torch": op}
    recorded(gpu_row(JOB, **peers))
    at = open_app(PAGE)
    (point,) = dots(at)
    assert point["ratio"] == pytest.approx(0.9)
    assert point["low"] == pytest.approx(0.9 * 0.98 / 1.05)
    assert point["high"] == pytest.approx(0.9 * 1.05 / 0.98)
    assert "Recorded on NVIDIA H200, 2026-11-20, torch 2.11.0, triton 3.6.0" in texts(at)
    assert word(point, "measured with") == "hot L2, 20 turns of 20 ms, 1350 MHz, 690 W"
    assert word(point, "times as fast as") == (
        "0.90× torch._scaled_mm, fast, 2.00× bf16, 1.50× the simple kernel, 3.50× tl.dot_scaled"
    )


def test_without_an_op_of_torch_s_the_peer_is_bf16_and_the_page_says_so(open_app, recorded):
    job = replace(JOB, recipe="mxfp8")
    recorded(gpu_row(job, torch=None, note="torch has none"))
    at = open_app(PAGE)
    assert not dots(at)
    (head,) = rows_of(at, "heads")
    assert (head["title"], head["none"], head["mean_bf16"]) == ("MXFP8", NO_OP, pytest.approx(2.0))
    assert f"MXFP8 is **2.00 times as fast as bf16**. {NO_OP}." in texts(at)


def test_only_gaussian_rows_of_a_gpu_with_a_time_and_a_peer_have_a_point(open_app, recorded, measured_here):
    recorded(
        gpu_row(JOB, torch=None, bf16=None),
        gpu_row(replace(JOB, m=8192), ours=None),
        gpu_row(replace(JOB, input=InputKind.HEAVY_TAIL)),
    )
    measured_here(changed(interpreted_row(JOB), bf16=timing(9.0)))
    at = open_app(PAGE)
    assert not at.get("vega_lite_chart")
    assert "No Fprop of such a shape is recorded with hot L2" in texts(at)


def test_the_newest_of_the_same_gemm_counts_and_of_a_day_the_later_in_the_file(open_app, recorded):
    again, other = replace(JOB, seed=7, runs=99), replace(JOB, m=8192)
    recorded(gpu_row(again, ours=timing(45.0), date="2026-11-22"), gpu_row(JOB, ours=timing(60.0)))
    recorded(gpu_row(other, ours=timing(100.0)), gpu_row(other, ours=timing(60.0)))
    assert [point["ratio"] for point in dots(open_app(PAGE))] == [pytest.approx(2.0), pytest.approx(1.5)]


def test_the_mean_is_geometric_over_the_shapes(open_app, recorded):
    recorded(gpu_row(JOB, ours=timing(45.0)), gpu_row(replace(JOB, m=8192), ours=timing(180.0)))
    at = open_app(PAGE)
    assert [bar["ratio"] for bar in dots(at)] == [pytest.approx(2.0), pytest.approx(0.5)]
    assert rows_of(at, "heads")[0]["mean"] == pytest.approx(1.0)
    assert "Per tensor, hybrid's is on average **as fast**" in texts(at)


def test_hot_and_cold_the_matmuls_and_the_sizes_are_apart(open_app, recorded):
    recorded(
        gpu_row(JOB),
        gpu_row(replace(JOB, cache=Cache.COLD), ours=timing(90.0)),
        gpu_row(replace(JOB, matmul="wgrad"), ours=timing(30.0)),
        gpu_row(replace(JOB, m=256), ours=timing(45.0)),
    )
    ratios = [
        [round(bar["ratio"], 3) for bar in dots(open_app(PAGE, **address))]
        for address in ({}, {"cache": "cold"}, {"matmul": "wgrad"}, {"bench_size": "skinny"})
    ]
    assert ratios == [[0.9], [1.0], [3.0], [2.0]]


def test_a_live_bar_stands_beside_the_recorded_one_and_leaves_its_mean_alone(
    open_app, recorded, measured_here
):
    recorded(gpu_row(JOB))
    measured_here(gpu_row(JOB, ours=timing(45.0), date="2026-11-30"), gpu_row(JOB, ours=timing(10.0)))
    at = open_app(PAGE)
    assert named(at, "4096 × 4096 × 7168") == [pytest.approx(0.9)]
    assert named(at, "4096 × 4096 × 7168, here") == [pytest.approx(2.0)]
    assert "**10% slower**" in texts(at)
    assert plain("GPU: NVIDIA H200, 2026-11-30") in texts(at)


def test_a_live_bar_of_another_gpu_says_of_which_beside_the_recorded_one(open_app, recorded, measured_here):
    machine = replace(gpu_row(JOB).machine, name="NVIDIA L40S")
    measured_here(gpu_row(JOB, ours=timing(45.0), machine=machine))
    assert named(open_app(PAGE), "4096 × 4096 × 7168, here") == [pytest.approx(2.0)]
    recorded(gpu_row(JOB))
    at = open_app(PAGE)
    assert named(at, "4096 × 4096 × 7168") == [pytest.approx(0.9)]
    assert named(at, "4096 × 4096 × 7168, here on NVIDIA L40S") == [pytest.approx(2.0)]
    assert plain("GPU: NVIDIA L40S") in texts(at)
    at.selectbox(key="gpu").set_value("nvidia_l40s").run()
    assert [bar["ratio"] for bar in dots(at)] == [pytest.approx(2.0)]


def test_deepgemm_is_quoted_beside_the_rows_of_its_gemm_and_nowhere_else(open_app, recorded):
    recorded(gpu_row(replace(JOB, recipe="deepseek_v3")), gpu_row(JOB))
    at = open_app(PAGE)
    (other,) = rows_of(at, "others")
    assert (other["name"], round(other["ratio"], 2)) == ("DeepGEMM", 1.15)
    of_blocks = texts(open_app(PAGE, bench_family="family_blocks"))
    assert "DeepSeek-V3's is on average **10% slower**; DeepGEMM's is faster still." in of_blocks
    words = texts(at)
    assert "(NVIDIA H200, 2026-11-20; github.com/deepseek-ai/DeepGEMM, measured by this project)" in words
    for address in ({"bench_family": "family_per_tensor"}, {"bench_size": "skinny"}, {"matmul": "dgrad"}):
        assert "DeepGEMM" not in texts(open_app(PAGE, **address))


@pytest.mark.parametrize("section", ["ratios", "roofline", "any_shape"])
def test_without_a_gpu_the_button_says_why_it_cannot_run_and_one_gpu_is_no_choice(
    open_app, recorded, section
):
    recorded(gpu_row(JOB))
    at = open_app(PAGE, bench_show=section)
    assert at.button(key="run_benchmark").disabled
    assert "This server has no GPU" in texts(at)
    assert not [box for box in at.selectbox if box.key == "gpu"]


def test_with_a_gpu_a_recipe_can_be_run_or_the_page_says_why_not(open_app, on_gpu, monkeypatch):
    for reason in (None, "It cannot."):
        monkeypatch.setattr(ratios, "refusal", lambda job, *, has_gpu, why=reason: why)
        at = open_app(PAGE)
        assert at.button(key="run_benchmark").disabled == (reason is not None)
        assert reason is None or reason in texts(at)
        assert "There is no GPU" not in texts(at)


def test_the_button_runs_what_the_controls_say_through_the_queue(open_app, on_gpu, stand_in_workers):
    jobs = []
    submit = stand_in_workers.queue.submit
    stand_in_workers.queue.submit = lambda job, *who, **how: (jobs.append(job), submit(job, *who, **how))[1]
    at = open_app(PAGE, recipe="rowwise", matmul="wgrad", cache="cold", bench_shape="layer_64")
    at.button(key="run_benchmark").click().run()
    run_until(at, is_quiet)
    assert not at.exception
    assert jobs == [GemmJob(recipe="rowwise", matmul="wgrad", m=14336, n=4096, k=64, cache=Cache.COLD)]


def test_the_files_hold_every_row_of_the_gpu_newest_first(open_app, recorded, measured_here):
    other = gpu_row(JOB, machine=replace(gpu_row(JOB).machine, name="NVIDIA L40S"))
    recorded(gpu_row(JOB), gpu_row(replace(JOB, recipe="mxfp8", cache=Cache.COLD)), other)
    measured_here(gpu_row(replace(JOB, matmul="wgrad")), interpreted_row(JOB))
    at = open_app(PAGE, gpu=H200)
    assert [button.proto.label for button in at.get("download_button")] == ["CSV"]
    every = data.every_result(H200)
    recipes = [one.row.job.recipe for one in every if one.origin is Origin.RECORDED]
    assert recipes == ["mxfp8", "per_tensor"]
