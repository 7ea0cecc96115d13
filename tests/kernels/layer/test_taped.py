"""Contract: a layer's step like an earlier one gives the bits of a first step."""

import copy

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from kernels.layer import Float8Linear, linear, record, taped
from kernels.quantize import both, launch
from kernels.quantize.plan import K_PADDING
from tests.kernels.cases import ON_GPU, WHERE
from tests.kernels.launching.stand_in import no_tapes_yet
from tests.kernels.layer.by_hand import drawn
from tests.sweeps import exhaustive

# One has a history, one rounds at random.
FIRST = ("per_tensor_delayed", "nvfp4")
MORE = ("rowwise_hp_wgrad", "deepseek_v3", "mxfp8", "rowwise", "per_tensor", "mxfp4_train")
RECIPES = [*FIRST, *(pytest.param(name, marks=[] if ON_GPU else exhaustive) for name in MORE)]
TOKENS, IN, OUT = 32, 64, 32
EVERY = (taped.TAPES, record.TAPES, both.TAPES, launch.TAPES)


@pytest.fixture(autouse=True)
def driver():
    """CUDA's driver, or what stands in for it, with no tapes yet."""
    with no_tapes_yet(*EVERY) as cuda:
        yield cuda


def forget():
    for tapes in EVERY:
        tapes.forget()


def layer_of(recipe: str, **options) -> Float8Linear:
    torch.manual_seed(0)
    return Float8Linear(IN, OUT, False, WHERE, torch.bfloat16, recipe=recipe, **options)


def step(layer: Float8Linear, seed: int, tokens: int = TOKENS) -> list[torch.Tensor]:
    """y, dx and dw of numbers that the seed decides."""
    generator = torch.Generator().manual_seed(seed)
    x, dy = (
        torch.randn(shape, generator=generator).to(WHERE, torch.bfloat16)
        for shape in ((tokens, IN), (tokens, OUT))
    )
    y = layer(x.requires_grad_())
    return [y, *torch.autograd.grad(y, (x, layer.weight), dy)]


def assert_same(some, others):
    assert all(torch.equal(one, other) for one, other in zip(some, others, strict=True))


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_warm_step_gives_a_first_step_s_bits(recipe):
    layer = layer_of(recipe)
    other = copy.deepcopy(layer)
    for seed in range(2):
        found = step(layer, seed)
    assert len(taped.TAPES) == 2
    assert not len(both.TAPES)
    assert not len(launch.TAPES)
    for seed in range(2):
        forget()
        expected = step(other, seed)
    assert_same(found, expected)
    assert_same(layer.buffers(), other.buffers())


@pytest.mark.parametrize("tokens", [K_PADDING, K_PADDING + 1], ids=["whole", "padded"])
def test_a_step_whose_wgrad_stays_bf16_is_warm_with_and_without_padding(tokens):
    layer = layer_of("rowwise_hp_wgrad")
    first, *again = (step(layer, 0, tokens) for _ in range(3))
    assert len(taped.TAPES) == 2
    for found in again:
        assert_same(found, first)


def test_a_warm_step_adds_to_the_main_grad_of_its_weight():
    layer, sums = layer_of("deepseek_v3"), []
    for again in (True, False):
        layer.weight.main_grad = torch.ones(OUT, IN, device=WHERE)
        for seed in range(2):
            x, _, dy = drawn(TOKENS, IN, OUT)
            layer(x * (seed + 1)).backward(dy)
            if not again:
                forget()
        sums.append(layer.weight.main_grad)
    assert layer.weight.grad is None
    assert torch.equal(*sums)


def test_a_warm_step_takes_the_kept_copies_of_a_weight():
    layer = layer_of("deepseek_v3", cache_weights=True)
    plain = layer_of("deepseek_v3")
    for seed in range(3):
        if seed == 2:
            for one in (layer, plain):
                with torch.no_grad():
                    one.weight.mul_(3)
        assert_same(step(layer, seed), step(plain, seed))
    assert len(taped.TAPES) == 4, "two of each: one whose copies are kept is another call"


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
