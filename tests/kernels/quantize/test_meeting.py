"""Contract: programs that meet give the bits of those that find the whole tensor's amax in a pass before."""

import pytest
import torch

from kernels.device import HOPPER
from kernels.quantize import both, launch, meeting, quantize, quantize_both
from kernels.quantize.both_plan import plan_both
from tests.kernels.cases import ON_GPU, WHERE, sample
from tests.kernels.quantize.pairs import PAIRS, assert_equal, pair

MEET = ("per_tensor-x", "per_tensor-dy", "nvfp4-w", "nvfp4_1x16-w")
SHAPES = ((130, 260), (16, 7168)) if ON_GPU else ((60, 130),)


def forget():
    """Plans and tapes are kept by what was asked, and how many programs run at once is none of it."""
    for cached in (plan_both, meeting.plan_meeting):
        cached.cache_clear()
    launch.TAPES.forget()
    both.TAPES.forget()


@pytest.fixture
def alone(monkeypatch):
    """What lets programs meet, or not."""

    def meet(on):
        monkeypatch.undo()
        if not on:
            for module in (launch, both):
                monkeypatch.setattr(module, "meeting_programs", lambda device, *specs: 0)
        forget()

    yield meet
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize("name", MEET)
def test_those_that_meet_find_what_a_pass_finds(alone, name):
    operands = pair(*PAIRS[name])

    def run():
        made = []
        for shape in SHAPES:
            x = torch.from_numpy(sample("nan", shape)).bfloat16().to(WHERE)
            made += [quantize(x, operand) for operand in operands]
            made += quantize_both(x, *operands)
        return made

    alone(False)
    expected = run()
    alone(True)
    for one, other in zip(run(), expected, strict=True):
        assert_equal(one, other)


def test_none_meet_under_a_delayed_scale():
    spec = pair(*PAIRS["per_tensor_delayed-x"])[0].spec
    assert meeting.meeting_programs(HOPPER, spec) == 0 < meeting.meeting_programs(HOPPER)


@pytest.mark.gpu
def test_programs_meet_over_and_over_and_in_a_graph(alone):
    operand = pair(*PAIRS["per_tensor-x"])[0]
    xs = [torch.randn(256, 7168, device="cuda").bfloat16() for _ in range(4)]
    alone(False)
    expected = [quantize(x, operand) for x in xs]
    alone(True)
    for _ in range(1000):
        made = [quantize(x, operand) for x in xs]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = [quantize(x, operand) for x in xs]
    for _ in range(100):
        graph.replay()
    for one, two, other in zip(made, captured, expected, strict=True):
        assert_equal(one, other)
        assert_equal(two, other)
