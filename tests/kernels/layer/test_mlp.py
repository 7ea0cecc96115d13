"""Contract: SwigluMlp gives the bits of its two layers with SwiGLU between them."""

import copy

import pytest
import torch
from torch import nn

from fp8core import fused
from kernels.layer import Float8Linear, SwigluMlp
from kernels.layer.plan import LAYER_RECIPES
from tests.kernels.cases import ON_GPU, WHERE
from tests.sweeps import exhaustive

# Dynamo itself instantiates what it warns about.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning"),
]
TOKENS, IN, HIDDEN = 17, 40, 24
FIRST = ("rowwise_hp_wgrad", "deepseek_v3")
"""Recipes that the interpreter is quick at; with a bf16 matmul, and without."""
ALL = [pytest.param(n, marks=[] if ON_GPU or n in FIRST else exhaustive) for n in LAYER_RECIPES]


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


def block_of(recipe, *, emulate=False, where=WHERE, dtype=torch.bfloat16):
    torch.manual_seed(3)
    block = SwigluMlp(IN, HIDDEN, where, dtype, recipe=recipe, emulate=emulate)
    x, dy = (torch.randn(TOKENS, IN).to(where, dtype) for _ in range(2))
    return block, x.requires_grad_(), dy


def step(run, block, x, dy):
    torch.manual_seed(1)
    y = run(x)
    return y, *torch.autograd.grad(y, (x, *block.parameters()), dy)


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("recipe", ALL)
def test_it_has_the_bits_of_its_layers_with_swiglu_between_them(recipe):
    block, x, dy = block_of(recipe)
    assert same(step(block, block, x, dy), step(lambda x: apart(block, x), block, x, dy))


@pytest.mark.parametrize("recipe", ["nvfp4", "mxfp4_train"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=["bf16", "fp32"])
def test_the_same_bits_are_emulated(recipe, dtype):
    block, x, dy = block_of(recipe, emulate=True, where="cpu", dtype=dtype)
    assert same(step(block, block, x, dy), step(lambda x: apart(block, x), block, x, dy))


@pytest.mark.parametrize("wanted", ["x", "gate_up", "down", ""])
def test_only_what_is_wanted_is_computed(wanted):
    block, x, dy = block_of("rowwise_hp_wgrad", emulate=True)
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
    hooked = nn.utils.weight_norm(nn.Linear(IN, HIDDEN, bias=False))
    for wrong, name in ((hooked, "Linear"), (gate, "Float8Linear")):
        with pytest.raises(ValueError, match=f"without hooks and wrappers, got {name}"):
            SwigluMlp.from_linears(wrong, layers[1], layers[2])
    with pytest.raises(ValueError, match=r"\[hidden, in\]"):
        SwigluMlp.from_linears(layers[0], layers[2], layers[2])
    layers[1].requires_grad_(False)
    with pytest.raises(ValueError, match="train both, or none"):
        SwigluMlp.from_linears(*layers)


class Lora(nn.Module):
    """A wrapper that adds a product of low rank."""

    def __init__(self, base):
        super().__init__()
        self.base, self.up = base, nn.Parameter(torch.full((base.out_features, 1), 0.5))

    def forward(self, x):
        return self.base(x) + x.sum(-1, keepdim=True) @ self.up.T


def test_wrappers_and_hooks_of_its_layers_are_called():
    block, x, dy = block_of("mxfp8", emulate=True, where="cpu", dtype=torch.float32)
    plain, shapes = step(block, block, x, dy), []
    handle = block.down.register_forward_pre_hook(lambda layer, inputs: shapes.append(inputs[0].shape))
    hooked = step(block, block, x, dy)
    assert shapes == [(TOKENS, HIDDEN)]
    for one, other in zip(plain, hooked, strict=True):
        torch.testing.assert_close(one, other, rtol=0.1, atol=0.1 * float(one.detach().abs().max()))
    handle.remove()
    assert same(step(block, block, x, dy), plain)
    base = block.down
    block.down = Lora(base)
    block(x).sum().backward()
    assert bool(block.down.up.grad.any())
    block.down = nn.utils.weight_norm(base)
    with torch.no_grad():
        doubled, before = block.down.weight_g.mul_(2), plain[0]
    assert bool(doubled.any())
    torch.testing.assert_close(block(x), 2 * before, rtol=0.1, atol=0.1 * float(before.detach().abs().max()))


@pytest.mark.parametrize("recipe", ["mxfp8", pytest.param("deepseek_v3", marks=exhaustive)])
def test_a_compiled_block_computes_the_same_bits(recipe):
    block, x, dy = block_of(recipe, emulate=True, where="cpu")
    other = copy.deepcopy(block)
    compiled = torch.compile(other, backend="aot_eager", fullgraph=True)
    assert same(step(block, block, x, dy), step(compiled, other, x, dy))
