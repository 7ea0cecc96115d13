"""Contract: every GEMM of a draw is timed beside torch's best, or left out with its reason; what is done once
is not done again.
"""

from dataclasses import replace

import pytest

from fp8core.linear import MATMULS
from kernels.bench.any_shape import draw_shapes
from kernels.bench.any_shape import measure as any_shape
from kernels.bench.any_shape.job import MOST_SHAPES, AnyShapeDraw, AnyShapeJob
from kernels.bench.any_shape.measure import measure, timed
from kernels.bench.ceilings.limits import Impossible, Limits
from kernels.bench.contest import Times
from kernels.bench.job import GemmJob
from kernels.bench.machine import Timing
from kernels.bench.measure import StoppedEarly
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


def test_where_torch_has_no_op_bf16_is_the_peer(race):
    race(Times(gemm=us(2.0), bf16=us(4.0), bf16_op="bf16 torch.mm", note="torch has none"))
    row = timed(SMALL, current_device())
    assert (row.peer, row.peer_us) == ("bf16 torch.mm", 4.0)


def test_a_time_that_no_gpu_reaches_is_no_row(race, monkeypatch):
    race(Times(gemm=us(2.0), bf16=us(1e-9), bf16_op="bf16"))
    monkeypatch.setattr(any_shape, "limits_of", lambda device: Limits(tflop_s=1000.0, source="a test"))
    with pytest.raises(Impossible, match="more than this GPU can do"):
        timed(SMALL, current_device())


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


def test_a_draw_stops_within_a_gemm(monkeypatch):
    stand_in(monkeypatch, lambda gemm, device, between: between(0.5))
    stops = iter([False, True])
    with pytest.raises(StoppedEarly):
        measure(JOB, progress=lambda *step: None, stopped=lambda: next(stops))


@pytest.mark.skipif(current_device().capability is not None, reason="this machine has a GPU")
def test_without_a_gpu_there_is_no_speed():
    with pytest.raises(Unsupported, match="speed is a GPU's"):
        measure(JOB, progress=lambda *step: None, stopped=lambda: False)


@pytest.mark.alone
@pytest.mark.gpu
def test_a_draw_runs_on_this_gpu():
    draw = measure(replace(JOB, count=3), progress=lambda *step: None, stopped=lambda: False)
    assert draw.left_out == ()
    assert all(0.01 < row.ratio < 100 for row in draw.rows)
    assert all("torch._scaled_mm" in row.peer for row in draw.rows)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"recipe": "own"}, "unknown recipe 'own'"),
        ({"matmul": "x"}, "unknown matmul 'x'"),
        ({"count": 0}, f"one draw is of 1 to {MOST_SHAPES} shapes, got 0"),
        ({"count": MOST_SHAPES + 1}, "shapes, got"),
        ({"seed": -1}, "the seed is a whole number"),
    ],
    ids=str,
)
def test_what_is_no_draw_is_refused(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(JOB, **fields)
