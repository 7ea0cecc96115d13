"""Benchmarks' other sections: the roofs and what lies under them, a scale's cost."""

from dataclasses import replace

import pytest

from fp8core.costs import matmul_rescales
from fp8core.recipes import RECIPES
from fp8core.recipes.text import to_text
from kernels.gemm.numerics import Summation
from kernels.measure.jobs import MATMUL_SIDE
from kernels.measure.rows import Peer
from pages.benchmarks import cost as benchmarks_cost
from tests.kernels.measure.made_up import CEILINGS
from tests.pages.benchmarks.page import JOB, PAGE, rows_of
from tests.pages.gemm_rows import gpu_row, timing
from tests.pages.texts import texts

pytestmark = pytest.mark.usefixtures("stand_in_workers")


def roofs(at) -> dict[str, float]:
    """The flats of the roofline: their speed by label."""
    return {row["label"]: row["speed"] for row in rows_of(at, "labels")}


def ceilings(**changes):
    times = {peer: changes.pop(peer, timing) for peer, timing in CEILINGS.times.items()}
    times = {peer: timing for peer, timing in times.items() if timing}
    return replace(CEILINGS, machine=gpu_row(JOB).machine, times=times, **changes)


def test_the_roofline_has_measured_ceilings_and_the_gpu_s_datasheet(open_app, recorded):
    recorded(gpu_row(JOB, bytes=JOB.flop // 1000), ceilings(bf16=CEILINGS.times[Peer.FP8]), ceilings())
    at = open_app(PAGE, bench_show="roofline")
    hopper = {"fp8 datasheet": 1979.0, "bf16 datasheet": 989.0}
    assert roofs(at) == {"fp8 measured": 1250.0, "bf16 measured": 650.0, **hopper}
    share = gpu_row(JOB).tflop_s / 1250
    assert f"Per tensor, hybrid, reaches **{share:.0%} of torch's best fp8 speed** here." in texts(at)
    assert "The tensor cores limit all of them." in texts(at)


def test_gemms_left_of_the_ridge_are_counted(open_app, recorded):
    few = replace(JOB, m=16)
    recorded(gpu_row(JOB, bytes=JOB.flop // 1000), gpu_row(few, bytes=few.flop // 30), ceilings())
    assert "Memory limits 1 of 2: they lie left of the ridge." in texts(open_app(PAGE, bench_show="roofline"))


def test_without_ceilings_the_roofline_says_how_to_measure_them(open_app, recorded):
    recorded(gpu_row(JOB))
    at = open_app(PAGE, bench_show="roofline")
    assert "No ceilings of this GPU are measured yet" in texts(at)
    assert f"reaches **{gpu_row(JOB).tflop_s:,.0f} TFLOP/s** here." in texts(at)
    assert set(roofs(at)) == {"fp8 datasheet", "bf16 datasheet"}


def test_ceilings_alone_are_a_roofline_and_without_fp8_they_have_one_roof(open_app, recorded):
    recorded(ceilings(fp8=None, note="no op"))
    assert set(roofs(open_app(PAGE, bench_show="roofline"))) == {
        "bf16 measured",
        "fp8 datasheet",
        "bf16 datasheet",
    }


def test_ceilings_measured_here_come_before_recorded_ones(open_app, recorded, measured_here):
    recorded(gpu_row(JOB), ceilings())
    measured_here(ceilings(bf16=timing(2 * MATMUL_SIDE**3 / 700e6)))
    assert roofs(open_app(PAGE, bench_show="roofline"))["bf16 measured"] == 700.0


def test_another_gpu_s_ceilings_are_no_roof_over_this_one_s_rows(open_app, recorded, measured_here):
    recorded(gpu_row(JOB))
    measured_here(CEILINGS)
    at = open_app(PAGE, bench_show="roofline")
    assert set(roofs(at)) == {"fp8 datasheet", "bf16 datasheet"}
    at.selectbox(key="gpu").set_value("a_gpu").run()
    assert roofs(at) == {"fp8 measured": 1250.0, "bf16 measured": 650.0}


def test_a_row_of_this_gpu_measured_here_counts_before_the_recorded_one(open_app, recorded, measured_here):
    recorded(*recipes_rows())
    other = replace(gpu_row(JOB).machine, name="NVIDIA L40S")
    measured_here(gpu_row(JOB, ours=timing(20.0), machine=other))
    assert costs(open_app(PAGE, bench_show="cost"))["Per tensor, hybrid"] == 0.5
    measured_here(gpu_row(JOB, ours=timing(20.0)))
    assert costs(open_app(PAGE, bench_show="cost"))["Per tensor, hybrid"] == pytest.approx(0.1)


def scales_along_k(recipe: str) -> int:
    """How often the GEMM of JOB rescales an output element."""
    return matmul_rescales(RECIPES[recipe], JOB.matmul_data, JOB.matmul_data.layer(JOB.m, JOB.n, JOB.k))


FINEST = max(RECIPES, key=scales_along_k)


def recipes_rows():
    """Every recipe, at 100 µs and 50 µs of quantization where bf16 takes 200; the finest twice as long."""
    slow = {FINEST: {"ours": timing(200.0), "torch": None}}
    return [gpu_row(replace(JOB, recipe=recipe), **slow.get(recipe, {})) for recipe in RECIPES]


def costs(at) -> dict[str, float]:
    return {row["name"]: row["end"] for row in rows_of(at, "bars") if row["part"] == "matmul"}


def test_the_cost_of_the_scale_is_over_bf16_or_over_one_scale_a_tensor(open_app, recorded):
    recorded(*recipes_rows())
    at = open_app(PAGE, bench_show="cost")
    assert not at.exception
    titles = [recipe.title for recipe in RECIPES.values()]
    assert list(costs(at)) == [benchmarks_cost.BF16, *titles]
    matmuls = [1.0 if name == FINEST else 0.5 for name in RECIPES]
    assert list(costs(at).values()) == [1.0, *matmuls]
    sentence = f"With {scales_along_k(FINEST)} scales along K, the matmul of {RECIPES[FINEST].title} takes"
    assert f"{sentence} **2.00 times as long** as with one scale per tensor." in texts(at)
    assert list(at.dataframe[0].value["× per tensor"]) == [0.5 / cost for cost in matmuls]


def test_the_reader_s_own_recipe_comes_last_among_the_costs(open_app, recorded, measured_here):
    recorded(*recipes_rows())
    lines = [to_text(replace(RECIPES["rowwise"], remark=remark)) for remark in ("newer", "older")]
    measured_here(
        *(
            gpu_row(replace(JOB, recipe="own", own=line), ours=timing(time))
            for line, time in zip(lines, (40.0, 60.0), strict=True)
        )
    )
    ends = costs(open_app(PAGE, bench_show="cost"))
    assert len(ends) == 1 + len(RECIPES) + 1
    assert list(ends.items())[-1] == ("Per row, your own", pytest.approx(0.2))


def test_a_slower_clock_in_one_run_changes_no_cost(open_app, recorded):
    slower = gpu_row(JOB, ours=timing(130.0), quantize=timing(65.0), bf16=timing(260.0))
    recorded(*recipes_rows()[1:], slower)
    assert costs(open_app(PAGE, bench_show="cost"))["Per tensor, hybrid"] == pytest.approx(0.5)


def test_the_cost_is_of_the_recipe_itself_and_of_the_shape_asked_for(open_app, recorded):
    promoted = replace(JOB, accumulation=Summation.PROMOTED)
    recorded(gpu_row(JOB), gpu_row(promoted, ours=timing(10.0)), gpu_row(replace(JOB, m=8192)))
    assert costs(open_app(PAGE, bench_show="cost"))["Per tensor, hybrid"] == 0.5
    assert not open_app(PAGE, bench_show="cost", bench_shape="4096x4096x4096").get("vega_lite_chart")


def test_a_row_without_quantization_times_has_the_matmul_alone(open_app, recorded):
    recorded(gpu_row(JOB, quantize=None))
    (bf16, own) = rows_of(open_app(PAGE, bench_show="cost"), "ends")
    assert (bf16["quantize"], own["quantize"]) == ("", "")
