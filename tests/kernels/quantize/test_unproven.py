"""Contract: two ways to run that are off until this passes on a GPU give the bits of those that are on.

`plan.PATCHES` gives a warp all that a tile spans down the columns. `meeting.MEETS` lets the programs of a
small tensor find its amax together, in one launch.
"""

import pytest
import torch

from kernels.quantize import both, launch, meeting, plan, quantize, quantize_both
from kernels.quantize.both_plan import plan_both
from tests.kernels.cases import ON_GPU, WHERE, sample
from tests.kernels.quantize.pairs import PAIRS, SHARED, assert_equal, pair

WAYS = {"patches": (plan, "PATCHES"), "meets": (meeting, "MEETS")}
NAMES = tuple(name for name in PAIRS if name in SHARED)
WHEN = pytest.mark.gpu if ON_GPU else pytest.mark.exhaustive
"""On a GPU each time; in the interpreter it takes long, and nothing runs these ways yet."""
SHAPES = ((130, 260), (16, 7168)) if ON_GPU else ((130, 260),)
MEET = {f"{name}-{tensor}" for name in ("per_tensor", "per_tensor_delayed") for tensor in ("x", "dy")}
MEET |= {"nvfp4-w", "nvfp4_1x16-w"}
CASES = [(name, way) for name in NAMES for way in WAYS if way == "patches" or name in MEET]


def forget():
    """Plans and tapes are kept by what was asked, and the way is none of it."""
    for cached in (plan.plan_quantize, plan_both, meeting.plan_meeting):
        cached.cache_clear()
    launch.TAPES.forget()
    both.TAPES.forget()


@pytest.fixture
def switched(monkeypatch):
    """What turns a way on."""

    def on(way):
        monkeypatch.setattr(*WAYS[way], True)
        forget()

    yield on
    monkeypatch.undo()
    forget()


@WHEN
@pytest.mark.parametrize(("name", "way"), CASES)
def test_both_ways_give_the_same_bits(switched, name, way):
    operands = pair(*PAIRS[name])
    delayed = operands[0].spec.scale_rule.history
    histories = [torch.tensor([2.0, 1.0], device=WHERE), None] if delayed else [None]
    kinds = ("gaussian", "nan") if ON_GPU else ("nan",)
    cases = [(shape, kind, history) for shape in SHAPES for kind in kinds for history in histories]

    def run(shape, kind, history):
        x = torch.from_numpy(sample(kind, shape)).bfloat16().to(WHERE)
        own = [quantize(x, operand, history=history) for operand in operands]
        return *own, *quantize_both(x, *operands, history=history)

    before = [run(*case) for case in cases]
    switched(way)
    for _ in range(3 if ON_GPU else 1):
        for expected, case in zip(before, cases, strict=True):
            for one, other in zip(run(*case), expected, strict=True):
                assert_equal(one, other)


@pytest.mark.gpu
def test_programs_meet_over_and_over_and_in_a_graph(switched):
    operand = pair(*PAIRS["per_tensor-x"])[0]
    xs = [torch.randn(256, 7168, device="cuda").bfloat16() for _ in range(4)]
    expected = [quantize(x, operand) for x in xs]
    switched("meets")
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
