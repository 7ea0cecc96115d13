"""Contract: torch's own checks take the operators, and torch.compile takes the layer."""

import copy
from itertools import chain

import pytest
import torch
from torch import nn
from torch.library import opcheck

from kernels.layer import convert_to_float8_training, linear
from kernels.layer.function import layer_backward, layer_backward_add, layer_forward
from kernels.layer.plan import PLACES
from kernels.layer.steps import saved_groups
from tests.kernels.cases import ON_GPU, WHERE
from tests.kernels.layer.by_hand import normal_tensors
from tests.sweeps import exhaustive

# Dynamo itself instantiates what it warns about.
pytestmark = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")


CASES = [
    pytest.param("deepseek_v3", False, "linear", marks=[] if ON_GPU else exhaustive),
    pytest.param("rowwise_hp_wgrad", False, "mlp", marks=[] if ON_GPU else exhaustive),
    ("nvfp4", True, "linear"),
    ("rowwise_hp_wgrad", True, "mlp"),
]


@pytest.mark.parametrize(("recipe", "emulate", "kind"), CASES)
def test_torch_s_own_checks_take_the_operators(recipe, emulate, kind):
    """They compare results with those for tensors without memory, and look for aliases."""
    x, dy = (torch.randn(17, 40, device=WHERE).bfloat16() for _ in range(2))
    shapes = [(40, 40)] if kind == "linear" else [(48, 40), (40, 24)]
    weights = [torch.randn(shape, device=WHERE).bfloat16() for shape in shapes]
    seeds = [torch.arange(PLACES, device=WHERE) for _ in weights] if recipe == "nvfp4" else []
    names, needs_grad = (recipe, emulate), [True] * (1 + len(weights))
    checked(layer_forward, x, weights, seeds, *names, needs_grad)
    _, *results = layer_forward(x, weights, seeds, *names, needs_grad)
    inputs = (x, *weights)
    numbers = chain(*saved_groups(*names, tuple(needs_grad)))
    tensors = [results.pop(0) if number is None else inputs[number] for number in numbers]
    rest = tensors, seeds, *names, needs_grad
    checked(layer_backward, dy, *rest, needs_grad, torch.bfloat16)
    main_grads = [torch.zeros(shape, device=WHERE) for shape in shapes]
    to_add = [False, *needs_grad[1:]]
    checked(layer_backward_add, dy, *rest, to_add, torch.bfloat16, *main_grads)
    layer_backward_add(dy, *rest, to_add, torch.bfloat16, *main_grads)
    for main_grad, dw in zip(main_grads, layer_backward(dy, *rest, to_add, torch.float32), strict=True):
        torch.testing.assert_close(main_grad, dw, rtol=2.0**-8, atol=2.0**-8)


def checked(op, *args) -> None:
    assert set(opcheck(op, args).values()) == {"SUCCESS"}


REST = ("deepseek_v3", "rowwise_hp_wgrad")


@pytest.mark.parametrize("recipe", ["mxfp8", *(pytest.param(n, marks=exhaustive) for n in REST)])
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
            results.append((y, *torch.autograd.grad(y.square().sum(), (x, *one.parameters()))))
        assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
        assert all(bool(result.any()) for result in results[0])


def test_linear_is_compiled_with_its_main_grad():
    x, w, dy = normal_tensors(17, 40, 24, where="cpu")
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


def test_a_compiled_layer_draws_random_bits_in_each_step():
    x, w, dy = normal_tensors(16, 64, 32, where="cpu")
    compiled = torch.compile(
        lambda x, w: linear(x, w, recipe="nvfp4", emulate=True), backend="aot_eager", fullgraph=True
    )
    torch.manual_seed(0)
    first, second = (torch.autograd.grad(compiled(x, w), x, dy)[0] for _ in range(2))
    assert not torch.equal(first, second)
    torch.manual_seed(0)
    assert torch.equal(torch.autograd.grad(compiled(x, w), x, dy)[0], first)
