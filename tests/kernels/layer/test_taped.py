"""Contract on a GPU: a step of a layer or a block like an earlier one gives the bits of a first step."""

import copy

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from kernels.fused import launch as fused
from kernels.gemm import launch as gemm
from kernels.layer import Float8Linear, SwigluMlp, linear, record, taped
from kernels.layer.calls import PYTHON, calling
from kernels.quantize import both, launch
from kernels.quantize.plan import K_PADDING
from tests.kernels.cases import WHERE
from tests.kernels.layer.by_hand import drawn

pytestmark = pytest.mark.gpu
RECIPES = (
    *("per_tensor_delayed", "nvfp4", "rowwise_hp_wgrad", "deepseek_v3", "mxfp8", "rowwise", "per_tensor"),
    *("mxfp4_train", "four_over_six"),
)
TOKENS, IN, OUT = 32, 64, 32
OF_KERNELS = (record.TAPES, both.TAPES, launch.TAPES, fused.TAPES, gemm.TAPES)


@pytest.fixture(autouse=True)
def no_tapes_yet():
    forget()


def forget():
    for tapes in (taped.TAPES, *OF_KERNELS):
        tapes.forget()


def layer_of(recipe: str, **options) -> Float8Linear:
    torch.manual_seed(0)
    return Float8Linear(IN, OUT, False, WHERE, torch.bfloat16, recipe=recipe, **options)


def block_of(recipe: str, **options) -> SwigluMlp:
    torch.manual_seed(0)
    return SwigluMlp(IN, OUT, WHERE, torch.bfloat16, recipe=recipe, **options)


by_module = pytest.mark.parametrize("make", [layer_of, block_of], ids=["layer", "block"])


def step(module, seed: int, tokens: int = TOKENS) -> list[torch.Tensor]:
    """y and all gradients of numbers that the seed decides."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn((tokens, IN), generator=generator).to(WHERE, torch.bfloat16).requires_grad_()
    y = module(x)
    dy = torch.randn(y.shape, generator=generator).to(WHERE, torch.bfloat16)
    return [y, *torch.autograd.grad(y, (x, *module.parameters()), dy)]


def assert_same(some, others):
    assert all(torch.equal(one, other) for one, other in zip(some, others, strict=True))


@by_module
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_warm_step_gives_the_bits_of_kernels_called_one_by_one(make, recipe):
    module = make(recipe)
    other = copy.deepcopy(module)
    for seed in range(2):
        found = step(module, seed)
    assert len(taped.TAPES) == 2
    assert not any(map(len, OF_KERNELS))
    with calling(PYTHON._replace()):
        for seed in range(2):
            forget()
            expected = step(other, seed)
    assert_same(found, expected)
    assert_same(module.buffers(), other.buffers())


@pytest.mark.parametrize("tokens", [K_PADDING, K_PADDING + 1], ids=["whole", "padded"])
def test_a_step_whose_wgrad_stays_bf16_is_warm_with_and_without_padding(tokens):
    layer = layer_of("rowwise_hp_wgrad")
    first, *again = (step(layer, 0, tokens) for _ in range(3))
    assert len(taped.TAPES) == 2
    for found in again:
        assert_same(found, first)


@by_module
def test_a_warm_step_adds_to_the_main_grads_and_takes_kept_copies(make):
    sums = []
    for again in (True, False):
        module = make("deepseek_v3", cache_weights=again)
        for weight in module.parameters():
            weight.main_grad = torch.ones(weight.shape, device=WHERE)
        for seed in range(2):
            x = torch.randn((TOKENS, IN), generator=torch.Generator().manual_seed(seed))
            y = module(x.to(WHERE, torch.bfloat16).requires_grad_())
            y.backward(torch.ones_like(y))
            if not again:
                forget()
        sums.append([weight.main_grad for weight in module.parameters()])
    assert_same(*sums)
    assert all(weight.grad is None for weight in module.parameters())


def test_a_step_that_is_computed_again_on_the_way_back_is_warm():
    x, w, dy = drawn(128, IN, 128)

    def again():
        y = checkpoint(linear, x, w, use_reentrant=False)
        return torch.autograd.grad(y, (x, w), dy)

    plain = [torch.autograd.grad(linear(x, w), (x, w), dy) for _ in range(2)][-1]
    tapes = len(taped.TAPES), len(both.TAPES)
    assert_same(again(), plain)
    assert (len(taped.TAPES), len(both.TAPES)) == tapes


def test_a_weight_alone_takes_its_gradient():
    x, w, dy = drawn(TOKENS, IN, OUT)
    for _ in range(2):
        both_ways = torch.autograd.grad(linear(x, w), (x, w), dy)
        assert torch.equal(torch.autograd.grad(linear(x.detach(), w), w, dy)[0], both_ways[1])
        assert torch.equal(torch.autograd.grad(linear(x, w.detach()), x, dy)[0], both_ways[0])
