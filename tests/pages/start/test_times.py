"""The time of a layer comes from rows of one layer, and is theirs."""

from dataclasses import replace

import pytest

from fp8core.linear import MATMULS
from kernels.measure.jobs import Cache, GemmJob
from kernels.measure.rows import Peer
from pages.start.times import timed_layer, total_us
from tests.kernels.measure.made_up import changed
from tests.pages.gemm_rows import gpu_row, timing


def rows(recipe: str, size: int, *matmuls: str, **changes):
    jobs = [GemmJob(recipe=recipe, matmul=name, m=size, n=size, k=size, **changes) for name in matmuls]
    return [gpu_row(job) for job in jobs]


def test_the_recorded_rows_have_a_layer_with_all_matmuls():
    layer = timed_layer()
    assert [one.row.job.matmul for one in layer] == [*MATMULS]
    assert layer[0].where.startswith("Recorded on ")
    assert total_us(layer, Peer.BF16) > total_us(layer, Peer.OURS) > total_us(layer, Peer.QUANTIZE) > 0


@pytest.mark.usefixtures("stand_in_workers")
def test_of_recorded_layers_the_largest_whole_one_is_told(recorded):
    assert not timed_layer()
    recorded(*rows("rowwise", 128, "fprop", "dgrad"))
    assert not timed_layer(), "a matmul is missing"
    recorded(*rows("rowwise", 64, *MATMULS), *rows("rowwise", 256, *MATMULS, cache=Cache.COLD))
    recorded(*rows("mxfp8", 64, *MATMULS))
    layer = timed_layer()
    assert {(one.row.job.recipe, one.row.job.m) for one in layer} == {("rowwise", 64)}
    assert total_us(layer, Peer.BF16) == 600.0
    assert total_us(layer, Peer.OURS, Peer.QUANTIZE) == 450.0


@pytest.mark.usefixtures("stand_in_workers")
def test_of_two_gpus_that_one_with_most_rows_is_told(recorded):
    all_rows = rows("rowwise", 64, *MATMULS)
    fewer = [replace(row, machine=replace(row.machine, name="A Card")) for row in all_rows]
    recorded(*fewer, *all_rows, *rows("rowwise", 64, "fprop", cache=Cache.COLD))
    assert timed_layer()[0].where == f"Recorded on {all_rows[0].machine.name}"


@pytest.mark.usefixtures("on_gpu")
def test_a_run_of_this_session_comes_before_what_is_recorded(recorded, measured_here):
    recorded(*rows("rowwise", 64, *MATMULS))
    newest, other = rows("mxfp8", 64, "wgrad")[0], rows("mxfp8", 128, "fprop")[0]
    older = changed(newest, bf16=timing(999.0))
    measured_here(newest, other, older, *rows("mxfp8", 64, "fprop"))
    layer = timed_layer()
    assert layer[0].where.startswith("GPU: ")
    assert [one.row.job.matmul for one in layer] == ["fprop", "wgrad"]
    assert total_us(layer, Peer.BF16) == 400.0
