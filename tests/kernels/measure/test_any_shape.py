"""Contract: a seed draws the same layers for everybody, and each is timed beside torch's fastest op."""

from concurrent.futures import Future
from dataclasses import replace
from math import inf

import pytest

from fp8core.linear import MATMULS
from kernels.device import HOPPER, Unsupported, current_device
from kernels.gemm import gemm
from kernels.gemm.plan import plan_gemm, plan_simple
from kernels.measure import random_draw
from kernels.measure.jobs import GemmJob
from kernels.measure.random_draw import Runs, Task, measure, timed
from kernels.measure.random_shapes import AnyShapeDraw, AnyShapeJob, draw_shapes, percentile, spread
from kernels.measure.records import GEMMS, RANDOM_SHAPES
from kernels.measure.rows import Peer
from tests.kernels.cases import ON_GPU
from tests.kernels.measure.made_up import DRAWN as ROW
from tests.kernels.measure.made_up import changed

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
    """A GPU whose GEMMs have rows by a function."""
    monkeypatch.setattr(random_draw, "require_gpu", lambda: HOPPER)
    monkeypatch.setattr(random_draw, "timed", times)


def test_a_draw_times_the_gemms_of_its_seed_and_tells_each_new_one(monkeypatch):
    asked, told = [], []
    stand_in(
        monkeypatch,
        lambda gemm, device, between: asked.append(gemm) or (replace(ROW, job=gemm), ()),
    )
    draw = measure(JOB, progress=lambda *step: told.append(step), stopped=lambda: False)
    layers = draw_shapes(4, 3)
    assert [(gemm.m, gemm.n, gemm.k) for gemm in asked] == [MATMULS["wgrad"].mnk(layer) for layer in layers]
    assert [row.job.m for row in draw.rows] == [layer.out for layer in layers]
    assert [step[0] for step in told] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert [step[2] and step[2].done for step in told[:-1]] == [None, 1, 2, 3]


def test_a_draw_goes_on_from_where_it_was(monkeypatch):
    asked = []
    stand_in(monkeypatch, lambda gemm, device, between: asked.append(gemm) or (ROW, ()))
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


class SlowGrouping:
    """A turn that launches once; blocks in groups of 9 take half as long as the plan's, torch thrice."""

    def __init__(self, contender):
        self.name, self._launches = contender.name, contender.launches

    def times_us(self):
        for launch in self._launches:
            launch()
        return [{"ours": 2000.0, "0": 1000.0}.get(self.name, 6000.0)]


@pytest.mark.skipif(ON_GPU, reason="the plan's variant must take a group of 9")
def test_other_blocks_take_turns_with_the_plan_s_and_their_best_decides_the_regret(monkeypatch):
    monkeypatch.setattr(random_draw, "turns_of", lambda job, device: SlowGrouping)
    monkeypatch.setattr(random_draw, "scaled_ops", lambda a, b, plan: "torch has none")
    device = replace(current_device(), l2_bytes=0)
    job = GemmJob(recipe="rowwise", matmul="wgrad", m=40, n=20, k=70, runs=2)
    plan = plan_gemm(job.recipe_data.wgrad, job.mnk, device, job.accumulation)
    other = replace(plan.blocks, group=9)
    row, samples = timed(job, device, others=[other])
    assert {each.blocks: each.us for each in samples} == {plan.blocks: 2000.0, other: 1000.0}
    assert (row.regret, row.ratio, row.plan) == (1.0, 3.0, plan.record)
    assert {peer: one.runs for peer, one in row.times.items()} == {Peer.OURS: 2, Peer.BF16: 2}
    assert timed(job, device)[0].regret is None


def test_blocks_that_fail_or_give_another_product_are_not_timed(monkeypatch):
    """The compiler's pool is a function here."""
    device = replace(current_device(), l2_bytes=0)
    job = GemmJob(recipe="rowwise", matmul="wgrad", m=40, n=20, k=70, runs=2)
    plan = plan_simple(job.recipe_data.wgrad, job.mnk, device, job.accumulation)
    good, failing, wrong = (replace(plan.blocks, group=group) for group in (2, 3, 5))
    asked = []

    class Pool:
        def submit(self, call, job, blocks, may_spill):
            future = Future()
            future.set_result("no" if blocks == failing else "")
            return future

    def product(a, b, plan):
        return gemm(a, b, plan) * (2 if plan.blocks == wrong else 1)

    def noted(job, device, others):
        asked.append(others)
        return (ROW, ())

    monkeypatch.setattr(random_draw, "gemm", product)
    monkeypatch.setattr(random_draw, "timed", noted)
    tasks = [
        Task(job, plan, (plan.blocks, good, failing, wrong)),
        Task(job, replace(plan, blocks=failing), (failing, good)),
    ]
    runs = Runs(tasks, device, Pool())
    found = [each and each[0] for each in runs.timings(inf)]
    assert (found, asked) == ([ROW, None], [[good]])
    assert [fault.split(": ", 1)[1] for fault in runs.faults] == [
        f"{failing.title}: no",
        f"{wrong.title}: D is far from that of the built-in blocks",
        f"{failing.title}: no",
    ]


@pytest.mark.alone
@pytest.mark.gpu
def test_a_draw_runs_on_this_gpu():
    draw = measure(replace(JOB, count=3), progress=lambda *step: None, stopped=lambda: False)
    assert draw.left_out == ()
    assert all(0.01 < row.ratio < 100 for row in draw.rows)
    assert all("torch._scaled_mm" in row.times[Peer.TORCH].op for row in draw.rows)


def test_a_draw_has_torch_s_op_and_a_gemm_its_errors(tmp_path):
    with pytest.raises(ValueError, match="timed beside torch's op"):
        RANDOM_SHAPES.record(changed(ROW, bf16=None), tmp_path)
    with pytest.raises(ValueError, match="has the errors of its D"):
        GEMMS.record(ROW, tmp_path)


def test_a_draw_is_summed_up_by_its_percentiles():
    found = spread([4.0, 1.0, 2.0])
    assert (found.count, found.worst, found.median, found.best) == (3, 1.0, 2.0, 4.0)
    assert found.p10 == pytest.approx(1.2)
    assert found.geometric_mean == pytest.approx(2.0)
    assert spread([]) is None
    assert [percentile([5, 0, 10], part) for part in (0, 0.25, 0.5, 1)] == [0, 2.5, 5, 10]
