"""Contract: every GEMM of a draw is timed beside torch's best, or left out with its reason; what is done once
is not done again.
"""

from dataclasses import replace

import pytest

from fp8core.linear import MATMULS
from kernels.bench.any_shape import draw_shapes
from kernels.bench.any_shape import measure as any_shape
from kernels.bench.any_shape.job import AnyShapeDraw, AnyShapeJob
from kernels.bench.any_shape.measure import measure, timed
from kernels.bench.contest import Times
from kernels.bench.job import GemmJob
from kernels.bench.machine import Timing
from kernels.device import HOPPER, Unsupported, current_device
from tests.kernels.bench.any_shape.made_up import ROW

JOB = AnyShapeJob(recipe="rowwise", matmul="wgrad", count=4, seed=3)
SMALL = GemmJob(recipe="rowwise", matmul="fprop", m=3, n=16, k=32, seed=5)


def us(time):
    return Timing(median_us=time, p20_us=time, p80_us=time, runs=1)


@pytest.fixture
def race(monkeypatch):
    """A race without a GPU. It gives the times, and keeps the operands."""
    held = []

    def take(times):
        monkeypatch.setattr(any_shape, "race", lambda *given: held.append(given) or times)
        return held

    return take


def test_a_row_has_the_times_of_the_race_and_the_plan_that_ran(race):
    held = race(
        Times(gemm=us(2.0), bf16=us(4.0), bf16_op="bf16", torch_scaled=us(3.0), torch_op="op", turns=7)
    )
    row = timed(SMALL, current_device())
    assert (row.ours_us, row.peer, row.peer_us, row.ratio, row.turns) == (2.0, "op", 3.0, 1.5, 7)
    assert (row.mnk, row.seed, row.flop) == ((3, 16, 32), 5, 2 * 3 * 16 * 32)
    _, plan, operands, *_ = held[0]
    assert (row.body, row.blocks_title) == (plan.body.value, plan.blocks.title)
    assert operands.a.shape == (3, 32)
    assert operands.b.shape == (16, 32)
    assert 0.8 < operands.a.float().std() < 1.2


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
