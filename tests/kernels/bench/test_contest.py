"""Contract: a contest times the plan's kernel beside every counterpart there is, and reports the fastest of
torch's ops that compute at least what was asked for, by name.
"""

from dataclasses import replace

import pytest
import torch
from triton.errors import TritonError

from kernels.bench.contest import _turns, contest, first_times, race
from kernels.bench.job import Cache, GemmJob, Into
from kernels.bench.operands import Operands
from kernels.bench.peers.torch_ops import Bf16Op, ScaledOp, bf16_peer
from kernels.bench.timing import Load, order
from kernels.device import HOPPER, INTERPRETER, current_device
from kernels.gemm.meaning import Arithmetic
from kernels.gemm.plan import plan_simple

RAN: list[str] = []
LOADED: list[str] = []


class StandIn:
    """A turn that runs its launches once and takes as long as TIMES says."""

    def __init__(self, contender):
        self.name, self._launches = contender.name, contender.launches

    def times_us(self):
        RAN.append(self.name)
        for launch in self._launches:
            launch()
        return [TIMES.get(self.name, 10.0)]

    def load(self):
        LOADED.append(self.name)
        return Load(1400.0, 700.0) if self.name == "gemm" else Load(1200.0, 650.0)


TIMES = {"slow op": 8.0, "fast op": 5.0, "tl.dot_scaled": 35.0}
TURNS = ["gemm", "bf16 torch.mm", "slow op", "fast op"]
NO_L2 = {"l2_bytes": 0}
"""Of a device: one set of buffers is enough for it."""


@pytest.fixture(autouse=True)
def ops(monkeypatch):
    """Two ops that torch has for anything, and room for what ran."""
    RAN.clear()
    LOADED.clear()
    made = tuple(ScaledOp(name, lambda a, b: lambda: torch.ones(())) for name in ("slow op", "fast op"))
    monkeypatch.setattr("kernels.bench.contest.scaled_ops", lambda a, b, plan: made)
    return made


def held(job, simple_too=False, device=None, between=lambda done: None):
    """The contest of a job on what is here, planned as for a device."""
    device = device or replace(current_device(), **NO_L2)
    asked = (job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), device, job.accumulation)
    plan = plan_simple(*asked)
    other = replace(plan.blocks, group=plan.blocks.group + 1)
    simple = replace(plan, blocks=other) if simple_too else None
    operands = Operands.of(job, current_device())
    return contest(job, plan, simple, operands, device, between, turn_of=StandIn)


def job(matmul="wgrad", **fields):
    return GemmJob(recipe="rowwise", matmul=matmul, m=40, n=20, k=70, **{"runs": 3, **fields})


def in_turns(rounds):
    return [TURNS[place] for number in range(rounds) for place in order(len(TURNS), number)]


def test_the_fastest_of_torchs_ops_is_the_one_reported():
    times = held(job())
    assert (times.torch_scaled.median_us, times.torch_op) == (5.0, "fast op (the fastest of 2)")
    assert (times.gemm.median_us, times.gemm.runs, times.note) == (10.0, 3, "")
    assert times.load == Load(1400.0, 700.0)
    assert times.peer_load == Load(1200.0, 650.0), "that of the fast op"
    assert (times.turns, times.bf16_op) == (3, "bf16 torch.mm")
    assert [*in_turns(3), *["quantize"] * 3] == RAN, "what is cool to run, runs apart"


def test_a_hot_turn_is_as_long_and_as_late_as_the_job_says(monkeypatch):
    asked = []
    monkeypatch.setattr("kernels.bench.contest.HotTurn", lambda *given: asked.append(given))
    late = replace(job(), turn_ms=50, settle_ms=100)
    _turns(late, INTERPRETER)("contender")
    assert asked == [("contender", 50_000.0, 100_000.0)]


def test_a_cold_turn_is_as_late_as_the_job_says(monkeypatch):
    asked = []
    monkeypatch.setattr("kernels.bench.contest.flush_buffer", lambda l2_bytes: "flush")
    monkeypatch.setattr("kernels.bench.contest.ColdTurn", lambda *given: asked.append(given))
    _turns(replace(job(cache=Cache.COLD), settle_ms=70), INTERPRETER)("contender")
    assert asked == [("contender", "flush", 70_000.0)]


def test_progress_goes_forward_only():
    for asked in (job(), mx()):
        said: list[float] = []
        held(asked, device=replace(HOPPER, **NO_L2) if asked.recipe == "mxfp8" else None, between=said.append)
        assert said == sorted(said)
        assert said[0] == 0.0
        assert len(set(said)) > asked.runs
        assert said[-1] < 1


def test_the_simple_kernel_runs_where_it_is_another_one():
    assert held(job()).simple is None
    assert held(job(), simple_too=True).simple.median_us == 10.0
    assert "simple" in RAN


def test_where_torch_has_no_op_its_sentence_is_told(monkeypatch):
    monkeypatch.setattr("kernels.bench.contest.scaled_ops", lambda a, b, plan: "torch has none")
    times = held(job())
    assert (times.torch_scaled, times.torch_op, times.note) == (None, "", "torch has none")
    assert LOADED == ["gemm", "gemm", "bf16 torch.mm"], "then bf16 is the peer"


def mx(matmul="fprop", **fields):
    return replace(job(matmul, **fields), recipe="mxfp8")


@pytest.fixture
def asked(monkeypatch):
    """The kernels that launches ask for, in order; a launch of one that is in `fails` raises what it says."""
    kernels: list[Arithmetic] = []
    fails: dict[Arithmetic, Exception] = {}

    def noted(a, b, plan, *, out, accumulate):
        kernels.append(plan.meaning.arithmetic)
        if plan.meaning.arithmetic in fails:
            raise fails[plan.meaning.arithmetic]
        return out

    monkeypatch.setattr("kernels.bench.contest.gemm", noted)
    return kernels, fails


def test_dot_scaled_runs_where_triton_emulates_it(asked):
    kernels, _ = asked
    times = held(mx(runs=1), device=replace(HOPPER, **NO_L2))
    assert (times.dot_scaled.median_us, times.gemm.median_us, times.note) == (35.0, 10.0, "")
    assert RAN[-1] == "tl.dot_scaled"
    assert kernels == [Arithmetic.NATIVE_MX, Arithmetic.DEQUANTIZED, Arithmetic.NATIVE_MX], (
        "tried, then timed apart"
    )
    assert held(job(runs=1), device=replace(HOPPER, **NO_L2)).dot_scaled is None
    assert held(mx(runs=1), device=replace(INTERPRETER, **NO_L2)).dot_scaled is None
    assert RAN.count("tl.dot_scaled") == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TritonError("out of resource: shared memory"), "TritonError: out of resource: shared memory"),
        (RuntimeError("PassManager::run failed\nmore"), "RuntimeError: PassManager::run failed"),
        (AssertionError(), "AssertionError: AssertionError"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_where_dot_scaled_fails_the_note_says_so_and_the_rest_stands(asked, monkeypatch, error, said):
    _, fails = asked
    fails[Arithmetic.NATIVE_MX] = error
    times = held(mx(runs=1), device=replace(HOPPER, **NO_L2))
    assert (times.dot_scaled, times.note) == (None, f"tl.dot_scaled was not timed: {said}")
    assert [*in_turns(1), "quantize"] == RAN
    assert times.torch_scaled.median_us == 5.0
    monkeypatch.setattr("kernels.bench.contest.scaled_ops", lambda a, b, plan: "torch has none")
    both = held(mx(runs=1), device=replace(HOPPER, **NO_L2))
    assert both.note == f"torch has none; tl.dot_scaled was not timed: {said}"


def test_where_memory_runs_out_under_dot_scaled_the_job_does_not_fit(asked):
    _, fails = asked
    fails[Arithmetic.NATIVE_MX] = torch.OutOfMemoryError("full")
    with pytest.raises(torch.OutOfMemoryError):
        held(mx(runs=1), device=replace(HOPPER, **NO_L2))


def test_a_race_is_of_the_kernel_and_torch_alone():
    asked, device = job(), replace(current_device(), **NO_L2)
    plan = plan_simple(
        asked.recipe_data.spec(asked.matmul_data),
        (asked.m, asked.n, asked.k),
        device,
        asked.accumulation,
    )
    times = race(asked, plan, Operands.of(asked, device), device, lambda done: None, turn_of=StandIn)
    assert [*in_turns(3)] == RAN
    assert LOADED == []
    assert (times.torch_op, times.quantize) == ("fast op (the fastest of 2)", None)


def test_an_empty_matmul_is_not_timed():
    times = held(GemmJob(recipe="rowwise", matmul="fprop", m=0, n=4, k=4))
    assert (times.gemm, times.note) == (None, "no times: an empty matmul")


def test_the_fastest_way_to_add_in_bf16_is_the_one_reported(monkeypatch):
    made = tuple(
        Bf16Op(name, lambda a, b, out: lambda: torch.ones(())) for name in ("slow bf16", "fast bf16")
    )
    monkeypatch.setattr("kernels.bench.contest.bf16_ops", lambda a, b, out, add_to: made)
    monkeypatch.setitem(TIMES, "fast bf16", 7.0)
    times = held(job(into=Into.ACCUMULATE, runs=1))
    assert (times.bf16.median_us, times.bf16_op) == (7.0, "fast bf16 (the fastest of 2)")


def test_accumulating_adds_every_contender_s_product_into_d(ops):
    only = held(job(into=Into.ACCUMULATE, runs=1), simple_too=True)
    assert only.torch_op == "fast op, then D.add_ of it (the fastest of 2)"
    out = torch.full((2, 2), 5.0)
    assert ops[0].launch(None, None, out, Into.ACCUMULATE)() is out
    assert out.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    assert ops[0].launch(None, None, out, Into.NEW)().tolist() == 1.0
    a, b = torch.ones(2, 3, dtype=torch.bfloat16), torch.ones(2, 3, dtype=torch.bfloat16)
    assert bf16_peer(a, b, out)().tolist() == [[9.0, 9.0], [9.0, 9.0]]
    assert bf16_peer(a, b, None)().tolist() == [[3.0, 3.0], [3.0, 3.0]]


@pytest.mark.parametrize("into", Into, ids=lambda into: into.value)
def test_both_kernels_add_into_zeros_where_the_job_does(monkeypatch, into):
    asked = []

    def noted(a, b, plan, *, out, accumulate):
        asked.append((accumulate, bool(accumulate and out.any())))
        return out

    monkeypatch.setattr("kernels.bench.contest.gemm", noted)
    held(job(into=into, runs=1), simple_too=True)
    adds = into is Into.ACCUMULATE
    assert asked[0] == (adds, False)
    assert {accumulate for accumulate, _ in asked} == {adds}
    assert len(asked) == 2


def test_a_cold_contest_needs_one_set_of_buffers_and_a_hot_one_enough_to_leave_the_l2(monkeypatch):
    copies = []
    monkeypatch.setattr(Operands, "copied", lambda own: copies.append(own) or own)
    device = replace(current_device(), l2_bytes=1 << 14)
    held(job(cache=Cache.COLD, runs=1), device=device)
    assert copies == []
    held(job(cache=Cache.HOT, runs=1), device=device)
    assert len(copies) > 1


def test_first_times_are_few_short_turns_of_the_kernel_bf16_and_quantizing(monkeypatch):
    asked = replace(job(runs=20), m=16, n=16, k=16)
    plan = plan_simple(
        asked.recipe_data.spec(asked.matmul_data),
        (asked.m, asked.n, asked.k),
        current_device(),
        asked.accumulation,
    )
    made = []
    monkeypatch.setattr(
        "kernels.bench.contest.HotTurn", lambda *given: made.append(given) or StandIn(given[0])
    )
    monkeypatch.setattr("kernels.bench.contest._FIRST_SETS", 2)
    device = replace(current_device(), l2_bytes=1 << 30)
    times = first_times(asked, plan, Operands.of(asked, current_device()), device, lambda done: None)
    assert {*RAN} == {"gemm", "bf16 torch.mm", "quantize"}
    assert (times.gemm.runs, times.quantize.runs, times.torch_scaled) == (3, 3, None)
    assert "careful answer" in times.note
    assert all(turn_us <= 5000 and len(one.launches) == 2 for one, turn_us, _ in made)
