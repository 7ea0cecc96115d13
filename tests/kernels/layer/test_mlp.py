"""Contract: SwigluMlp gives the bits of its two layers with SwiGLU between them."""

import copy

import pytest
import torch
from torch import nn
from torch.library import opcheck

from fp8core import fused
from fp8core.recipes import RECIPES
from kernels.layer import Float8Linear, SwigluMlp
from kernels.layer.plan import PLACES
from kernels.layer.swiglu_ops import swiglu_op
from tests.kernels.cases import ON_GPU, WHERE
from tests.sweeps import exhaustive

# Dynamo itself instantiates what it warns about.
pytestmark = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
TOKENS, IN, HIDDEN = 17, 40, 24
FIRST = ("rowwise_hp_wgrad", "deepseek_v3")
"""Recipes that the interpreter is quick at; with a bf16 matmul, and without."""
ALL = [pytest.param(n, marks=[] if ON_GPU or n in FIRST else exhaustive) for n in RECIPES]


class Swiglu(torch.autograd.Function):
    """The reference's SwiGLU and its gradient."""

    @staticmethod
    def forward(ctx, gate_up):
        ctx.save_for_backward(gate_up)
        return moved(fused.swiglu(read(gate_up)), gate_up)

    @staticmethod
    def backward(ctx, dh):
        (gate_up,) = ctx.saved_tensors
        return moved(fused.swiglu_backward(read(dh), read(gate_up)), gate_up)


def read(x):
    return x.detach().float().cpu().numpy()


def moved(values, like):
    return torch.from_numpy(values).to(like.device, like.dtype)


def apart(block, x):
    """Down, SwiGLU and up, one after the other."""
    return block.down(Swiglu.apply(block.gate_up(x)))


def made(recipe, *, emulate=False, where=WHERE, dtype=torch.bfloat16):
    torch.manual_seed(3)
    block = SwigluMlp(IN, HIDDEN, where, dtype, recipe=recipe, emulate=emulate)
    x, dy = (torch.randn(TOKENS, IN).to(where, dtype) for _ in range(2))
    return block, x.requires_grad_(), dy


def step(run, block, x, dy):
    y = run(x)
    return y, *torch.autograd.grad(y, (x, *block.parameters()), dy)


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("recipe", ALL)
def test_it_has_the_bits_of_its_layers_with_swiglu_between_them(recipe):
    block, x, dy = made(recipe)
    other = copy.deepcopy(block)
    for _ in range(1 + any(True for _ in block.buffers())):
        assert same(step(block, block, x, dy), step(lambda x: apart(other, x), other, x, dy))
    assert same(block.buffers(), other.buffers())


@pytest.mark.parametrize("recipe", ["per_tensor_delayed", "nvfp4", "mxfp4_train"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=["bf16", "fp32"])
def test_the_same_bits_are_emulated(recipe, dtype):
    block, x, dy = made(recipe, emulate=True, where="cpu", dtype=dtype)
    other = copy.deepcopy(block)
    for _ in range(2):
        assert same(step(block, block, x, dy), step(lambda x: apart(other, x), other, x, dy))
    assert same(block.buffers(), other.buffers())


@pytest.mark.parametrize("wanted", ["x", "gate_up", "down", ""])
def test_only_what_is_wanted_is_computed(wanted):
    block, x, dy = made("rowwise_hp_wgrad", emulate=True)
    truth = dict(zip(("y", "x", "gate_up", "down"), step(block, block, x, dy), strict=True))
    named = {"x": x, "gate_up": block.gate_up.weight, "down": block.down.weight}
    for name, tensor in named.items():
        tensor.requires_grad_(name == wanted)
    y = block(x)
    assert torch.equal(y, truth["y"])
    assert y.requires_grad == bool(wanted)
    if wanted:
        assert torch.equal(*torch.autograd.grad(y, named[wanted], dy), truth[wanted])


def test_three_layers_of_a_model_become_one_block():
    layers = [nn.Linear(*sizes, bias=False) for sizes in ((IN, HIDDEN), (IN, HIDDEN), (HIDDEN, IN))]
    block = SwigluMlp.from_linears(*layers, "mxfp8", emulate=True)
    x = torch.randn(3, 2, IN)
    gate, up, down = (Float8Linear.from_linear(layer, "mxfp8", emulate=True) for layer in layers)
    inner = torch.cat([gate(x), up(x)], dim=-1).bfloat16()
    truth = down(Swiglu.apply(inner.flatten(0, 1)).unflatten(0, (3, 2)).float())
    assert torch.equal(block(x), truth)
    assert block.down.weight is layers[2].weight
    with pytest.raises(ValueError, match="without a bias"):
        SwigluMlp.from_linears(nn.Linear(4, 8), layers[1], layers[2])
    with pytest.raises(ValueError, match=r"\[hidden, in\]"):
        SwigluMlp.from_linears(layers[0], layers[2], layers[2])


@pytest.mark.parametrize("recipe", ["mxfp4_train", pytest.param("per_tensor_delayed", marks=exhaustive)])
def test_a_compiled_block_computes_the_same_bits(recipe):
    block, x, dy = made(recipe, emulate=True, where="cpu")
    other = copy.deepcopy(block)
    compiled = torch.compile(other, backend="aot_eager", fullgraph=True)
    for _ in range(2):
        assert same(step(block, block, x, dy), step(compiled, other, x, dy))
    assert same(block.buffers(), other.buffers())


@pytest.mark.parametrize(
    ("recipe", "emulate"),
    [pytest.param("deepseek_v3", False, marks=[] if ON_GPU else exhaustive), ("mxfp4_train", True)],
)
def test_torch_s_own_checks_take_the_operator(recipe, emulate):
    gate_up = torch.randn(TOKENS, 2 * HIDDEN, device=WHERE).bfloat16()
    dh, seeds = gate_up[:, :HIDDEN].contiguous(), torch.arange(PLACES, device=WHERE)
    for given in (None, dh):
        args = gate_up, given, recipe, True, True, seeds, None, emulate
        assert set(opcheck(swiglu_op, args).values()) == {"SUCCESS"}
