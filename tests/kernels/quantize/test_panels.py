"""Contract: programs that share columns give the reference's bits, and leave zeros behind."""

import pytest
import torch

from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from kernels.device import HOPPER
from kernels.launching.zeros import zeros_of_stream
from kernels.quantize import launch, meeting, quantize
from tests.kernels.cases import ON_GPU, WHERE, sample
from tests.kernels.quantize.pairs import assert_equal
from tests.kernels.quantize.same_bits import assert_same_bits, both

DOWN = next(
    operand
    for matmul in MATMULS.values()
    for side in Side
    if (operand := RECIPES["rowwise"].operand(matmul, side)).k_is_rows
)
LONE = 64, 1024
"""A block of a panel that one program has for itself: the interpreter runs one after the other."""
SHAPES = ((1030, 130), (4096, 64), (8192, 200)) if ON_GPU else ((600, 130), (1000, 33))


def forget():
    meeting.plan_panels.cache_clear()
    launch.TAPES.forget()


@pytest.fixture
def panels(monkeypatch):
    """What lets programs share columns, or not."""

    def share(on):
        monkeypatch.undo()
        if not on:
            monkeypatch.setattr(launch, "plan_panels", lambda *arguments: None)
        elif not ON_GPU:
            monkeypatch.setattr(meeting, "PANEL", LONE)
        forget()

    yield share
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["normal", "nan"])
def test_codes_and_scales_are_the_references(panels, kind, shape):
    panels(True)
    x = torch.from_numpy(sample(kind, shape)).bfloat16().float().numpy()
    assert_same_bits(*both(x, DOWN))
    made = quantize(torch.from_numpy(x).bfloat16().to(WHERE), DOWN)
    panels(False)
    assert_equal(made, quantize(torch.from_numpy(x).bfloat16().to(WHERE), DOWN))
    assert not zeros_of_stream(made.scale.device).any()


def test_columns_are_shared_where_no_program_holds_one():
    plan = meeting.plan_panels(DOWN.spec, 8192, 8192, HOPPER)
    assert plan.members == 16
    assert plan.reads(DOWN.spec) == 1
    for mn, k in ((8192, 256), (8192, 512 * HOPPER.sms + 1)):
        assert meeting.plan_panels(DOWN.spec, mn, k, HOPPER) is None
    delayed = RECIPES["per_tensor_delayed"].fprop.a
    assert meeting.plan_panels(delayed, 8192, 8192, HOPPER) is None


@pytest.mark.gpu
def test_panels_are_shared_over_and_over_and_in_a_graph(panels):
    xs = [torch.randn(4096, 1000, device="cuda").bfloat16() for _ in range(3)]
    panels(False)
    expected = [quantize(x, DOWN) for x in xs]
    panels(True)
    for _ in range(500):
        made = [quantize(x, DOWN) for x in xs]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = [quantize(x, DOWN) for x in xs]
    for each in captured:
        each.codes.view(torch.uint8).fill_(255)
    for _ in range(50):
        graph.replay()
    for one, two, other in zip(made, captured, expected, strict=True):
        assert_equal(one, other)
        assert_equal(two, other)
