"""Contract: programs that meet give the bits of those that find the whole tensor's amax in a pass before."""

from itertools import product

import pytest
import torch

from kernels.device import current_device
from kernels.quantize import both, launch, meeting, quantize, quantize_both
from kernels.quantize.both_plan import plan_both
from tests.kernels.cases import ON_GPU, WHERE, sample
from tests.kernels.quantize.same_bits import PAIRS, assert_equal, pair

# One program, as in the interpreter, has nothing to find with others in a scale of its own amax alone.
MEET = (
    *(pytest.param(name, marks=pytest.mark.gpu) for name in ("per_tensor-x", "per_tensor-dy")),
    *("per_tensor_delayed-x", "nvfp4-w", "nvfp4_1x16-w"),
)
ODD, EVEN = ((130, 260), (16, 7168)), ((256, 768), (1536, 256), (64, 128), (96, 1040))
"""Shapes of x. Kernels store 128 bits at once only where rows are multiples of 16 long."""
SHAPES = (*ODD, *EVEN) if ON_GPU else ((30, 70), (60, 30))
TYPES = (torch.bfloat16, torch.float32, torch.float16) if ON_GPU else (torch.bfloat16,)


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
                monkeypatch.setattr(module, "meeting_programs", lambda device: 0)
        forget()

    yield meet
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize("name", MEET)
def test_those_that_meet_find_what_a_pass_finds(alone, name):
    operands = pair(*PAIRS[name])
    delayed = operands[0].spec.scale_rule.history
    history = torch.tensor([2.0, 1.0], device=WHERE) if delayed else None

    def run():
        made = []
        for shape, dtype in product(SHAPES, TYPES):
            x = torch.from_numpy(sample("wide" if shape in EVEN else "nan", shape)).to(WHERE, dtype)
            made += [quantize(x, operand, history=history) for operand in operands]
            made += quantize_both(x, *operands, history=history)
        return made

    alone(False)
    expected = run()
    alone(True)
    specs = [operand.spec for operand in operands]
    programs = meeting.meeting_programs(current_device())
    assert sum(plan_both(*specs, *shape, programs=programs).along.meets for shape in SHAPES) >= 2
    for one, other in zip(run(), expected, strict=True):
        assert_equal(one, other)


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
