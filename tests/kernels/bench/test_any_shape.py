"""Contract: a seed draws the same layers for everybody, and each is timed beside torch's fastest op."""

from dataclasses import replace

import pytest

from fp8core.linear import MATMULS
from kernels.bench.any_shape import (
    any_shape_path,
    draw_shapes,
    percentile,
    read_any_shape,
    record_any_shape,
    spread,
)
from kernels.bench.any_shape import measure as any_shape
from kernels.bench.any_shape.job import AnyShapeDraw, AnyShapeJob
from kernels.bench.any_shape.measure import measure
from kernels.bench.ceilings.limits import Impossible
from kernels.bench.lines import Kept
from kernels.bench.records import read_records
from kernels.device import HOPPER, Unsupported
from tests.kernels.bench.any_shape.made_up import ROW

MANY = draw_shapes(2000, 1)


def test_a_seed_draws_the_same_layers_and_a_longer_draw_begins_with_them():
    assert draw_shapes(2000, 1) == MANY
    assert draw_shapes(60, 1) == MANY[:60]
    assert draw_shapes(60, 2) != MANY[:60]
    first = draw_shapes(1, 0)[0]
    assert (first.tokens, first.in_, first.out) == (3620, 1968, 896)
    assert draw_shapes(0, 0) == ()


JOB = AnyShapeJob(recipe="rowwise", matmul="wgrad", count=4, seed=3)


def stand_in(monkeypatch, times):
    """A GPU whose GEMMs are timed by a function."""
    monkeypatch.setattr(any_shape, "require_gpu", lambda: HOPPER)
    monkeypatch.setattr(any_shape, "timed", times)


def test_a_draw_times_the_gemms_of_its_seed_and_tells_each_new_one(monkeypatch):
    asked, told = [], []
    stand_in(monkeypatch, lambda gemm, device, between: asked.append(gemm) or replace(ROW, m=gemm.m))
    draw = measure(JOB, progress=lambda *step: told.append(step), stopped=lambda: False)
    layers = draw_shapes(4, 3)
    assert [(gemm.m, gemm.n, gemm.k) for gemm in asked] == [MATMULS["wgrad"].mnk(layer) for layer in layers]
    assert [row.m for row in draw.rows] == [layer.out for layer in layers]
    assert [step[0] for step in told] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert [step[2] and step[2].done for step in told[:-1]] == [None, 1, 2, 3]


def test_a_draw_goes_on_from_where_it_was(monkeypatch):
    asked = []
    stand_in(monkeypatch, lambda gemm, device, between: asked.append(gemm) or ROW)
    so_far = AnyShapeDraw(job=JOB, rows=(ROW, ROW, ROW))
    draw = measure(JOB, progress=lambda *step: None, stopped=lambda: False, so_far=so_far)
    assert (draw.done, len(asked)) == (4, 1)


def test_what_cannot_be_timed_is_left_out_with_its_reason(monkeypatch):
    errors = iter([Unsupported("no kernel"), MemoryError("too large")])

    def fail(gemm, device, between):
        raise next(errors)

    stand_in(monkeypatch, fail)
    draw = measure(replace(JOB, count=2), progress=lambda *step: None, stopped=lambda: False)
    assert ([left.reason for left in draw.left_out], draw.rows) == (["no kernel", "too large"], ())


@pytest.mark.alone
@pytest.mark.gpu
def test_a_draw_runs_on_this_gpu():
    draw = measure(replace(JOB, count=3), progress=lambda *step: None, stopped=lambda: False)
    assert draw.left_out == ()
    assert all(0.01 < row.ratio < 100 for row in draw.rows)
    assert all("torch._scaled_mm" in row.peer for row in draw.rows)


def test_rows_come_back_from_their_file_and_a_line_that_is_none_is_named(tmp_path):
    assert read_any_shape(tmp_path) == Kept(rows=(), bad=())
    other = replace(ROW, regret=None, commit="abc1234+", clock_mhz=1500.0)
    path = record_any_shape(ROW, tmp_path)
    assert record_any_shape(other, tmp_path) == path == any_shape_path(tmp_path, "A GPU")
    path.write_bytes(path.read_bytes() + b"{}\n")
    found = read_any_shape(tmp_path)
    assert found.rows == (ROW, other)
    assert [(bad.file, bad.line) for bad in found.bad] == [("a_gpu.jsonl", 3)]
    records = read_records(tmp_path)
    assert (records.rows, records.any_shape, records.bad) == ((), (ROW, other), found.bad)


def test_a_time_that_no_gpu_reaches_is_not_kept(tmp_path):
    fast = replace(ROW, gpu="NVIDIA H200", peer_us=1e-3)
    with pytest.raises(Impossible, match=r"^bf16 torch\.mm: .* TFLOP/s"):
        record_any_shape(fast, tmp_path)


def test_a_draw_is_summed_up_by_its_percentiles():
    found = spread([4.0, 1.0, 2.0])
    assert (found.count, found.worst, found.median, found.best) == (3, 1.0, 2.0, 4.0)
    assert found.p10 == pytest.approx(1.2)
    assert found.geometric_mean == pytest.approx(2.0)
    assert spread([]) is None
    assert [percentile([5, 0, 10], part) for part in (0, 0.25, 0.5, 1)] == [0, 2.5, 5, 10]
    for values, part in (([], 0.5), ([1], 1.5)):
        with pytest.raises(ValueError, match="a percentile needs"):
            percentile(values, part)
