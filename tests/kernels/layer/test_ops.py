"""Contract: torch's own checks take the operators, torch.compile takes the layer, and amax is recorded."""

import copy

import pytest
import torch
from torch import nn
from torch.library import opcheck

from kernels.layer import convert_to_float8_training, linear
from kernels.layer.ops import gemm_add_op, gemm_op, quantize_op
from kernels.layer.plan import PLACES
from kernels.layer.record import record, record_now
from tests.kernels.cases import ON_GPU, WHERE
from tests.kernels.layer.by_hand import drawn
from tests.sweeps import exhaustive

# Dynamo itself instantiates what it warns about.
pytestmark = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")


def checked(op, *args) -> None:
    assert set(opcheck(op, args).values()) == {"SUCCESS"}


@pytest.mark.parametrize(
    ("recipe", "emulate"),
    [pytest.param("deepseek_v3", False, marks=[] if ON_GPU else exhaustive), ("nvfp4", True)],
)
def test_torch_s_own_checks_take_the_operators(recipe, emulate):
    x, w, dy = (each.detach() for each in drawn(17, 40, 24))
    seeds = torch.arange(PLACES, device=WHERE)
    checked(quantize_op, x, recipe, "x", "fprop+wgrad", seeds, None, emulate)
    of_x, of_w = (
        quantize_op(each, recipe, name, "fprop", seeds, None, emulate) for name, each in (("x", x), ("w", w))
    )
    checked(gemm_op, of_x, of_w, 40, recipe, "fprop", emulate)
    of_dy, of_x = (
        quantize_op(each, recipe, name, "wgrad", seeds, None, emulate)
        for name, each in (("dy", dy), ("x", x))
    )
    checked(gemm_add_op, torch.zeros(24, 40, device=WHERE), of_dy, of_x, 17, recipe, "wgrad", emulate)


def test_results_start_where_their_memory_does():
    """Inductor asserts that they start at 16 bytes."""
    x, history = drawn(17, 40, 24)[0].detach(), torch.zeros(4, device=WHERE)
    made = quantize_op(x, "per_tensor_delayed", "x", "fprop+wgrad", None, history)
    assert [part.storage_offset() for part in made] == [0] * 5
    assert made[-1] == x.abs().max()


REST = ("deepseek_v3", "per_tensor_delayed", "rowwise_hp_wgrad")


@pytest.mark.parametrize("recipe", ["mxfp4_train", *(pytest.param(n, marks=exhaustive) for n in REST)])
def test_a_compiled_model_computes_the_same_bits(recipe):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 24), nn.ReLU(), nn.Linear(24, 16)).bfloat16()
    model = convert_to_float8_training(model, recipe=recipe, emulate=True)
    other = copy.deepcopy(model)
    compiled = torch.compile(other, backend="aot_eager", fullgraph=True)
    for dtype in (torch.bfloat16, torch.float32):
        results = []
        for one, run in ((model, model), (other, compiled)):
            x = torch.randn(5, 3, 40, generator=torch.Generator().manual_seed(1)).to(dtype).requires_grad_()
            y = run(x)
            results.append(
                (y, *torch.autograd.grad(y.square().sum(), (x, *one.parameters())), *one.buffers())
            )
        assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
        assert all(bool(found.any()) for found in results[0])


def test_linear_is_compiled_with_its_main_grad():
    x, w, dy = drawn(17, 40, 24, where="cpu")
    truth = linear(x, w, recipe="mxfp8", emulate=True)
    (dw,) = torch.autograd.grad(truth, w, dy)
    w.main_grad = torch.zeros(24, 40)
    compiled = torch.compile(
        lambda x, w: linear(x, w, recipe="mxfp8", emulate=True), backend="aot_eager", fullgraph=True
    )
    y = compiled(x, w)
    y.backward(dy)
    assert torch.equal(y, truth)
    assert w.grad is None
    assert torch.equal(w.main_grad.to(dw.dtype), dw)


@pytest.mark.parametrize("amax", [0.0, 2.5, float("inf"), float("nan")])
def test_the_kernel_keeps_what_torch_s_operations_keep(amax):
    given = torch.tensor([7.0, amax], device=WHERE)[1:]
    for steps in (1, 3, 1024):
        history = torch.arange(3 * steps, dtype=torch.int32, device=WHERE).view(3, steps)
        other = history.clone()
        for _ in range(2):
            record(history[1], given)
            record_now(other[1], given)
        assert torch.equal(history, other)
        assert other[1, -1].view(torch.float32) == (amax if amax < float("inf") else 0.0)
        assert other[1, :-2].tolist() == list(range(steps + 2, 2 * steps))
