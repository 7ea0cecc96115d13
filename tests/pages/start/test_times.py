"""The time of a layer comes from rows of one layer, and is theirs."""

from dataclasses import replace

import pytest

from fp8core.linear import MATMULS
from kernels.measure.jobs import Cache, GemmJob
from pages.start.times import layer_times
from tests.kernels.measure.made_up import changed
from tests.pages.gemm_rows import gpu_row, timing


def rows(recipe: str, size: int, *matmuls: str, **changes):
    jobs = [GemmJob(recipe=recipe, matmul=name, m=size, n=size, k=size, **changes) for name in matmuls]
    return [gpu_row(job) for job in jobs]


def test_the_recorded_rows_have_a_layer_with_all_matmuls():
    times = layer_times()
    assert times.matmuls == tuple(matmul.title for matmul in MATMULS.values())
    assert times.where.startswith("Recorded on ")
    assert times.bf16_us > times.gemm_us > times.quantize_us > 0


@pytest.mark.usefixtures("stand_in_workers")
def test_of_recorded_layers_the_largest_whole_one_is_told(recorded):
    assert layer_times() is None
    recorded(*rows("rowwise", 128, "fprop", "dgrad"))
    assert layer_times() is None, "a matmul is missing"
    recorded(*rows("rowwise", 64, *MATMULS), *rows("rowwise", 256, *MATMULS, cache=Cache.COLD))
    recorded(*rows("mxfp8", 64, *MATMULS))
    times = layer_times()
    assert (times.recipe, times.layer.tokens) == (rows("rowwise", 64, "fprop")[0].job.recipe_data.title, 64)
    assert (times.bf16_us, times.gemm_us, times.quantize_us) == (600.0, 300.0, 150.0)
    assert times.times_faster == pytest.approx(600 / 450)


@pytest.mark.usefixtures("stand_in_workers")
def test_of_two_gpus_that_one_with_most_rows_is_told(recorded):
    all_rows = rows("rowwise", 64, *MATMULS)
    fewer = [replace(row, machine=replace(row.machine, name="A Card")) for row in all_rows]
    recorded(*fewer, *all_rows, *rows("rowwise", 64, "fprop", cache=Cache.COLD))
    assert layer_times().where == f"Recorded on {all_rows[0].machine.name}"


@pytest.mark.usefixtures("on_gpu")
def test_a_run_of_this_session_comes_before_what_is_recorded(recorded, measured_here):
    recorded(*rows("rowwise", 64, *MATMULS))
    newest, other = rows("mxfp8", 64, "wgrad")[0], rows("mxfp8", 128, "fprop")[0]
    older = changed(newest, bf16=timing(999.0))
    measured_here(newest, other, older, *rows("mxfp8", 64, "fprop"))
    times = layer_times()
    assert times.where.startswith("GPU: ")
    assert times.matmuls == ("Fprop", "Wgrad")
    assert times.bf16_us == 400.0
