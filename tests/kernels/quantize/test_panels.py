"""Contract: programs that go from panel to panel give the reference's bits, and leave zeros behind."""

import pytest
import torch

from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
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
SHAPES = ((1030, 130), (4096, 64), (8192, 1200)) if ON_GPU else ((600, 130), (1000, 33))


@pytest.fixture
def panels(monkeypatch):
    """What lets programs go from panel to panel, or not."""

    def share(on):
        monkeypatch.undo()
        if on:
            shared = {"plan_meeting": lambda spec, mn, k, programs, **how: meeting.plan_panels(spec, mn, k)}
            for name, value in shared.items():
                monkeypatch.setattr(launch, name, value)
        launch.TAPES.forget()

    yield share
    monkeypatch.undo()
    launch.TAPES.forget()


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


def test_columns_come_in_panels_where_no_program_holds_one():
    plan = meeting.plan_panels(DOWN.spec, 8192, 8192)
    assert plan.members * plan.block_k == 8192
    assert plan.reads(DOWN.spec) == 1
    assert meeting.plan_panels(DOWN.spec, 8192, 256) is None
    assert meeting.plan_panels(RECIPES["per_tensor_delayed"].fprop.a, 8192, 8192) is None


@pytest.mark.gpu
def test_panels_come_over_and_over_and_in_a_graph(panels):
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
