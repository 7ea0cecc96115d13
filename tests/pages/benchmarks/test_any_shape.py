"""Benchmarks' section of random shapes: the drawn GEMMs, what sums them up, and a draw on this server."""

from dataclasses import replace

import pytest

from kernels.measure.random_shapes import AnyShapeDraw, AnyShapeJob, LeftOut
from kernels.measure.records import RANDOM_SHAPES
from kernels.measure.rows import Peer, Timing
from pages.benchmarks.charts.points import RANDOM_TITLES
from tests.kernels.measure.made_up import DRAWN
from tests.kernels.worker.gates import Gate
from tests.pages.benchmarks.page import PAGE, rows_of, word
from tests.pages.gemm_rows import run_until
from tests.pages.texts import texts

pytestmark = pytest.mark.usefixtures("stand_in_workers")

OP = "torch._scaled_mm, one scale a row"


def gemm(m=256, ratio=1.0, recipe="rowwise", matmul="fprop", gpu="NVIDIA H200", peer=Peer.TORCH, **changes):
    """A drawn Fprop on an H200 that is so many times as fast as torch's op."""
    times = {Peer.OURS: Timing(median_us=100.0, runs=5), peer: Timing(median_us=100.0 * ratio, runs=5, op=OP)}
    return replace(
        DRAWN,
        job=replace(DRAWN.job, recipe=recipe, matmul=matmul, m=m),
        machine=replace(DRAWN.machine, name=gpu),
        times=times,
        **{"regret": None, **changes},
    )


@pytest.fixture
def recorded(tmp_path):
    def record(*gemms):
        for one in gemms:
            RANDOM_SHAPES.record(one, tmp_path)

    return record


@pytest.fixture
def section(open_app):
    return lambda **address: open_app(PAGE, bench_show="any_shape", **address)


def points(at) -> list[tuple[str, float]]:
    return [(point["series"], round(point["speed"], 3)) for point in rows_of(at, "points")]


def table(at) -> list[dict]:
    (frame,) = at.dataframe
    return frame.value.to_dict("records")


def test_without_a_draw_the_section_says_how_to_make_one(section):
    at = section(matmul="wgrad")
    assert not at.exception
    assert "No Wgrad of random shapes is recorded on this GPU yet" in texts(at)
    assert "python -m kernels.measure random --count 200 --record" in texts(at)
    assert not at.get("vega_lite_chart")


def test_a_point_is_a_drawn_gemm_with_its_ratio_and_its_words(section, recorded):
    recorded(gemm(ratio=0.8, regret=0.031, commit="abc1234"))
    at = section()
    assert not at.exception
    (point,) = rows_of(at, "points")
    assert (point["series"], point["speed"], point["here"]) == ("Per row", pytest.approx(0.8), False)
    assert point["intensity"] == pytest.approx(DRAWN.job.flop / DRAWN.bytes)
    shape, _, peer, kernel, regret, where = (word(point, title, RANDOM_TITLES) for title in RANDOM_TITLES[1:])
    assert (shape, peer, regret) == ("256 × 128 × 512", f"80 µs, {OP}", "3.1%")
    assert kernel == "64 × 128 × 64"
    assert where == "Recorded on NVIDIA H200, 2026-11-23, torch 1, commit abc1234, seed 7"


def test_the_percentiles_of_each_recipe_stand_beside_the_points(section, recorded):
    recorded(
        *(gemm(m, ratio) for m, ratio in ((1, 0.5), (2, 1.0), (3, 2.0))), gemm(recipe="mxfp8", ratio=4.0)
    )
    at = section()
    first, second = table(at)
    assert {name: value for name, value in first.items() if "lost" not in name} == {
        "recipe": "Per row",
        "shapes": 3,
        "worst": 0.5,
        "10th percentile": pytest.approx(0.6),
        "median": 1.0,
        "geometric mean": pytest.approx(1.0),
    }
    assert (second["recipe"], second["geometric mean"]) == ("MXFP8", pytest.approx(4.0))
    assert "On 1 random shape, MXFP8 is **4.00 times as fast as torch's best**" in texts(at)
    assert "The slowest: 0.50, Per row, 1 × 128 × 512." in texts(at)


def test_what_the_blocks_lost_is_told_where_somebody_searched(section, recorded):
    recorded(gemm(1, regret=0.0), gemm(2, regret=0.1), gemm(3, recipe="mxfp8"))
    first, second = table(section())
    assert first["lost, median"] == pytest.approx(5.0)
    assert first["lost, 95th percentile"] == pytest.approx(9.5)
    assert second["lost, median"] != second["lost, median"], "empty"


def test_the_newest_row_of_a_gemm_counts_and_bf16_is_named_as_a_peer(section, recorded):
    recorded(gemm(ratio=0.5), gemm(ratio=0.9), gemm(recipe="mxfp8", peer=Peer.BF16, ratio=0.7))
    assert points(section()) == [("Per row", 0.9), ("MXFP8 ÷ bf16", 0.7)]


def test_the_choosers_leave_out_other_recipes_matmuls_and_gpus(section, recorded):
    recorded(
        gemm(ratio=1.1),
        gemm(recipe="mxfp8", ratio=1.2),
        gemm(matmul="dgrad", ratio=1.3),
        gemm(gpu="NVIDIA B200", ratio=1.4),
    )
    h200 = {"gpu": "nvidia_h200"}
    assert points(section(bench_family="family_mx", **h200)) == [("MXFP8", 1.2)]
    assert points(section(matmul="dgrad", **h200)) == [("Per row", 1.3)]
    at = section(**h200)
    at.selectbox(key="gpu").set_value("nvidia_b200").run()
    assert points(at) == [("Per row", 1.4)]


def test_draws_of_this_session_are_apart_from_recorded_ones(section, recorded, measured_here):
    recorded(gemm(ratio=1.1))
    job = AnyShapeJob(recipe="rowwise", matmul="fprop", count=1)
    measured_here(AnyShapeDraw(job=job, rows=(gemm(ratio=1.3, gpu="NVIDIA H100"),)))
    at = section()
    assert points(at) == [("Per row", 1.1), ("Per row, here", 1.3)]
    assert [point["here"] for point in rows_of(at, "points")] == [False, True]


def test_a_shape_that_could_not_be_timed_is_named_with_its_reason(section, measured_here):
    job = AnyShapeJob(recipe="rowwise", matmul="fprop", count=5)
    lacking = tuple(LeftOut(m=m, n=2, k=3, reason="no <b>kernel</b>") for m in range(1, 6))
    measured_here(AnyShapeDraw(job=job, rows=(), left_out=lacking))
    at = section()
    assert "Drawn here and not timed: 1 × 2 × 3 (no " in texts(at)
    assert "<b>" not in texts(at)
    assert " and 2 more." in texts(at)
    assert "not timed" not in texts(section(matmul="dgrad"))


def test_the_button_draws_the_shapes_of_the_seed_and_shows_them_as_they_come(section, on_gpu, gates):
    gates.close(Gate.JOB)
    at = section(recipe="rowwise", draw_seed="5", draw_count="10", matmul="dgrad")
    at.button(key="run_benchmark").click().run()
    run_until(at, lambda at: at.get("vega_lite_chart"))
    assert points(at) == [("Per row ÷ bf16, here", 2.0)]
    assert "Any shape: Per row, Dgrad, 10 shapes of seed 5" in at.get("progress")[0].proto.text
    gates.open(Gate.JOB)
    run_until(at, lambda at: not at.get("progress"))
    assert not at.exception
    assert len(points(at)) == 10
    assert table(at)[0]["shapes"] == 10
