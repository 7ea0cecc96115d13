"""Contract: linear gives the bits of our own quantize and gemm, in every recipe, and comes close to bf16."""

import pytest
import torch
from torch.nn import functional

from fp8core.linear import DGRAD, FPROP, MATMULS, WGRAD, LayerTensor, Side
from fp8core.quantize import quantize as reference
from fp8core.recipes import RECIPES
from kernels.layer import linear
from kernels.layer.plan import LAYER_RECIPES
from tests.fp8core.by_hand import stored_bits
from tests.kernels.cases import ON_GPU, WHERE
from tests.kernels.layer.by_hand import normal_tensors, operand_seeds, step
from tests.sweeps import exhaustive

SEED = 5
FIRST = ("rowwise_hp_wgrad", "deepseek_v3")
"""Recipes that the interpreter is quick at; with a bf16 matmul, and without."""
ALL = [pytest.param(n, marks=[] if ON_GPU or n in FIRST else exhaustive) for n in LAYER_RECIPES]


@pytest.mark.parametrize("name", ALL)
def test_y_dx_and_dw_have_the_bits_of_quantize_and_gemm(name):
    x, w, dy = normal_tensors(17, 40, 24)
    torch.manual_seed(SEED)
    y = linear(x, w, recipe=name)
    y.backward(dy)
    truth = step(RECIPES[name], x, w, dy, SEED)
    for result, own in zip((y, x.grad, w.grad), truth, strict=True):
        assert torch.equal(result, own.to(result.dtype))


@pytest.mark.parametrize("name", LAYER_RECIPES)
def test_gradients_are_those_of_the_numbers_that_the_reference_quantizes(name):
    """Autograd differentiates x · wᵀ in fp64, at the values of the reference's copies."""
    x, w, dy = normal_tensors(17, 40, 24, torch.float32, "cpu")
    torch.manual_seed(SEED)
    y = linear(x, w, recipe=name, emulate=True)
    y.backward(dy)
    seeds = operand_seeds(RECIPES[name], SEED, "cpu")
    tensors = {LayerTensor.X: x, LayerTensor.W: w, LayerTensor.DY: dy}

    def values(matmul, side):
        own, operand = tensors[matmul.operand(side)].detach(), RECIPES[name].operand(matmul, side)
        if operand is None:
            return own.bfloat16().double()
        random = stored_bits(operand, tuple(own.shape), seeds[matmul.name, side])
        return torch.from_numpy(reference(own.numpy(), operand, random=random).exact_values())

    at_x = values(WGRAD, Side.B).requires_grad_()
    at_w = values(DGRAD, Side.B).requires_grad_()
    dx, _ = torch.autograd.grad(functional.linear(at_x, at_w), (at_x, at_w), values(DGRAD, Side.A))
    _, dw = torch.autograd.grad(functional.linear(at_x, at_w), (at_x, at_w), values(WGRAD, Side.A))
    truth = functional.linear(values(FPROP, Side.A), values(FPROP, Side.B)), dx, dw
    for result, own, matmul in zip((y, x.grad, w.grad), truth, MATMULS.values(), strict=True):
        half = 2.0 ** -(RECIPES[name].spec(matmul).out.mantissa_bits + 1)
        # Once to fp32 and once to D; sums of 40 products in fp64 beside that.
        torch.testing.assert_close(result.double(), own, rtol=half + 2.0**-24, atol=1e-12)


@pytest.mark.parametrize("tokens", [0, 1, 17])
@pytest.mark.parametrize(("in_", "out"), [(33, 7), pytest.param(16, 16, marks=exhaustive)])
def test_odd_shapes_need_no_padding(tokens, in_, out):
    x, w, dy = normal_tensors(tokens, in_, out)
    y = linear(x, w, recipe="deepseek_v3")
    y.backward(dy)
    assert (y.shape, x.grad.shape, w.grad.shape) == ((tokens, out), (tokens, in_), (out, in_))
    assert bool(y.isfinite().all() and x.grad.isfinite().all() and w.grad.isfinite().all())
    assert tokens or not w.grad.any()


def test_strides_of_x_and_of_dy_change_nothing():
    x, w, _ = normal_tensors(24, 40, 16, torch.float32, "cpu")
    plain = linear(x, w, recipe="mxfp8", emulate=True)
    transposed = linear(x.detach().T.contiguous().T.requires_grad_(), w, recipe="mxfp8", emulate=True)
    assert torch.equal(plain, transposed)
    (dense,) = torch.autograd.grad(plain, w, torch.ones(1, 1).expand(24, 16).contiguous(), retain_graph=True)
    (expanded,) = torch.autograd.grad(plain, w, torch.ones(1, 1).expand(24, 16))
    assert torch.equal(dense, expanded)


def test_autocast_casts_x_and_leaves_gradients_in_their_dtypes():
    x, w, _ = normal_tensors(4, 16, 8, torch.float32, "cpu")
    with torch.autocast("cpu", torch.bfloat16):
        y = linear(x, w, recipe="deepseek_v3", emulate=True)
    y.sum().backward()
    assert torch.equal(y, linear(x.bfloat16(), w, recipe="deepseek_v3", emulate=True))
    assert (y.dtype, x.grad.dtype, w.grad.dtype) == (torch.bfloat16, torch.float32, torch.float32)


def test_the_bias_is_added_and_gets_its_gradient():
    x, w, dy = normal_tensors(4, 16, 8, torch.float32, "cpu")
    bias = torch.randn(8, requires_grad=True)
    y = linear(x, w, bias, recipe="mxfp8", emulate=True)
    y.backward(dy)
    assert torch.equal(y, linear(x, w, recipe="mxfp8", emulate=True) + bias)
    assert torch.equal(bias.grad, dy.sum(0))


@pytest.mark.parametrize("emulate", [False, True], ids=["kernels", "emulated"])
def test_wgrad_is_added_to_main_grad_in_fp32(emulate):
    x, w, dy = normal_tensors(17, 40, 24)
    (dw,) = torch.autograd.grad(linear(x, w.float(), emulate=emulate), w, dy)
    w = torch.nn.Parameter(w.detach())
    w.main_grad = torch.zeros(24, 40, device=WHERE)
    for times in (1, 2):
        linear(x, w, emulate=emulate).backward(dy)
        assert w.grad is None
        assert torch.equal(w.main_grad.to(dw.dtype), times * dw)
    before = w.main_grad.clone()
    torch.autograd.grad(linear(x, w, emulate=emulate), x, dy)
    assert torch.equal(w.main_grad, before)
    w.main_grad = torch.zeros(24, 41, device=WHERE)
    with pytest.raises(ValueError, match=r"main_grad is float32\[24, 40\] on .*, got \[24, 41\]"):
        linear(x, w, emulate=emulate)


def test_only_the_gradients_that_are_asked_for_are_computed():
    x, w, dy = normal_tensors(4, 16, 8, where="cpu")
    for left, right in ((x, w.detach()), (x.detach(), w)):
        y = linear(left, right, recipe="mxfp8", emulate=True)
        leaf = left if left.requires_grad else right
        numbers = 16 * 8 if leaf is left else 4 * 16
        assert sum(each.nbytes for each in y.grad_fn.saved_tensors) == 8 * numbers
        y.backward(dy)
        assert leaf.grad is not None
    assert not linear(x.detach(), w.detach(), recipe="mxfp8", emulate=True).requires_grad
    with torch.no_grad():
        assert not linear(x, w, recipe="mxfp8", emulate=True).requires_grad


def test_a_second_derivative_is_refused_not_dropped():
    x, w, _ = normal_tensors(4, 16, 8, where="cpu")
    (dx,) = torch.autograd.grad(linear(x, w, emulate=True).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        dx.sum().backward()


def test_torch_s_generator_decides_the_random_bits():
    x, w, dy = normal_tensors(16, 64, 32, where="cpu")

    def dx(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.autograd.grad(linear(x, w, recipe="nvfp4", emulate=True), x, dy)[0]

    first = dx(3)
    again = torch.autograd.grad(linear(x, w, recipe="nvfp4", emulate=True), x, dy)[0]
    assert not torch.equal(first, again)
    assert torch.equal(first, dx(3))
    state = torch.get_rng_state()
    linear(x, w, recipe="mxfp8", emulate=True)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("where", ["x", "w", "dy"])
@pytest.mark.parametrize("name", LAYER_RECIPES)
def test_an_infinity_reaches_each_result_that_reads_it(name, where):
    """A GradScaler skips a step by what it sees there."""
    x, w, dy = normal_tensors(32, 128, 64, torch.float32, "cpu")
    with torch.no_grad():
        {"x": x, "w": w, "dy": dy}[where][3, 5] = float("inf")
    y = linear(x, w, recipe=name, emulate=True)
    dx, dw = torch.autograd.grad(y, (x, w), dy)
    for result in {"x": (y, dw), "w": (y, dx), "dy": (dx, dw)}[where]:
        assert not bool(result.isfinite().all())
