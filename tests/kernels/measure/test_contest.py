"""Contract: a contest times the plan's kernel beside every counterpart there is, and reports the fastest of
torch's ops that compute at least what was asked for, by name.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from triton.errors import TritonError

from kernels.device import HOPPER, current_device
from kernels.gemm.numerics import Arithmetic
from kernels.gemm.plan import plan_simple
from kernels.measure.gemm import contest
from kernels.measure.jobs import GemmJob, Into
from kernels.measure.operands import Operands
from kernels.measure.rows import Peer
from kernels.measure.timing import order
from kernels.measure.torch_peers import TorchOp, bf16_ops, bf16_peer
from kernels.nvml import Gauges

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
        clock_mhz, power_w = (1400.0, 700.0) if self.name == "ours" else (1200.0, 650.0)
        return Gauges(clock_mhz=clock_mhz, power_w=power_w)


TIMES = {"slow op": 8.0, "fast op": 5.0, "tl.dot_scaled": 35.0}
TURNS = ["ours", "bf16 torch.mm", "slow op", "fast op"]
NO_L2 = {"l2_bytes": 1}
"""Of a device: one set of buffers is enough for it."""


@pytest.fixture(autouse=True)
def ops(monkeypatch):
    """Two ops that torch has for anything, and room for what ran."""
    RAN.clear()
    LOADED.clear()
    made = tuple(TorchOp(name, lambda a, b: lambda: torch.ones(())) for name in ("slow op", "fast op"))
    monkeypatch.setattr("kernels.measure.gemm.scaled_ops", lambda a, b, plan: made)
    monkeypatch.setattr("kernels.measure.gemm.turns_of", lambda job, device: StandIn)
    return made


def held(job, simple_too=False, device=None, between=lambda done: None):
    """The contest of a job on what is here, planned as for a device."""
    device = device or replace(current_device(), **NO_L2)
    asked = (job.spec, job.mnk, device, job.accumulation)
    plan = plan_simple(*asked)
    other = replace(plan.blocks, group=plan.blocks.group + 1)
    simple = replace(plan, blocks=other) if simple_too else None
    operands = Operands.of(job, current_device())
    by_peer, note = contest(job, plan, simple, operands, device, between)
    return SimpleNamespace(by_peer=by_peer, note=note)


def job(matmul="wgrad", **fields):
    return GemmJob(recipe="rowwise", matmul=matmul, m=40, n=20, k=70, **{"runs": 3, **fields})


def in_turns(rounds):
    return [TURNS[place] for number in range(rounds) for place in order(len(TURNS), number)]


def test_the_fastest_of_torchs_ops_is_the_one_reported():
    times = held(job())
    ours, torch_op, bf16 = (times.by_peer[peer] for peer in (Peer.OURS, Peer.TORCH, Peer.BF16))
    assert (torch_op.median_us, torch_op.op) == (5.0, "fast op (the fastest of 2)")
    assert (ours.median_us, ours.runs, times.note) == (10.0, 3, "")
    assert (ours.clock_mhz, ours.power_w) == (1400.0, 700.0)
    assert (torch_op.clock_mhz, torch_op.power_w) == (1200.0, 650.0)
    assert (bf16.op, bf16.clock_mhz) == ("bf16 torch.mm", None)
    assert [*in_turns(3), *["quantize"] * 3] == RAN, "what is cool to run, runs apart"


def mx(matmul="fprop", **fields):
    return replace(job(matmul, **fields), recipe="mxfp8")


@pytest.fixture
def asked(monkeypatch):
    """The kernels that launches ask for, in order; a launch of one that is in `fails` raises what it says."""
    kernels: list[Arithmetic] = []
    fails: dict[Arithmetic, Exception] = {}

    def noted(a, b, plan, *, out, accumulate):
        kernels.append(plan.numerics.arithmetic)
        if plan.numerics.arithmetic in fails:
            raise fails[plan.numerics.arithmetic]
        return out

    monkeypatch.setattr("kernels.measure.gemm.gemm", noted)
    return kernels, fails


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
    assert (times.by_peer.get(Peer.DOT_SCALED), times.note) == (None, f"tl.dot_scaled was not timed: {said}")
    assert [*in_turns(1), "quantize"] == RAN
    assert times.by_peer[Peer.TORCH].median_us == 5.0
    monkeypatch.setattr("kernels.measure.gemm.scaled_ops", lambda a, b, plan: "torch has none")
    both = held(mx(runs=1), device=replace(HOPPER, **NO_L2))
    assert both.note == f"torch has none; tl.dot_scaled was not timed: {said}"


def test_accumulating_adds_every_contender_s_product_into_d(ops):
    only = held(job(into=Into.ACCUMULATE, runs=1), simple_too=True)
    assert only.by_peer[Peer.TORCH].op == "fast op, then D.add_ of it (the fastest of 2)"
    out = torch.full((2, 2), 5.0)
    assert ops[0].launch(None, None, out, Into.ACCUMULATE)() is out
    assert out.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    assert ops[0].launch(None, None, out, Into.NEW)().tolist() == 1.0
    a, b = torch.ones(2, 3, dtype=torch.bfloat16), torch.ones(2, 3, dtype=torch.bfloat16)
    first, *_ = bf16_ops(a, b, out, Into.ACCUMULATE)
    assert first.launch(a, b, out, Into.ACCUMULATE)().tolist() == [[9.0, 9.0], [9.0, 9.0]]
    assert bf16_peer(a, b)().tolist() == [[3.0, 3.0], [3.0, 3.0]]
