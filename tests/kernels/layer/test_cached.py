"""Contract on a GPU: a step of a layer or a block like an earlier one gives the bits of a first step."""

import copy

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from kernels.gemm import launch as gemm
from kernels.layer import Float8Linear, SwigluMlp, function, linear
from kernels.layer.calls import observed
from kernels.quantize.facts import K_PADDING
from kernels.quantize.quantize import LAUNCHES
from tests.kernels.cases import WHERE
from tests.kernels.layer.by_hand import normal_tensors

pytestmark = pytest.mark.gpu
RECIPES = (
    *("nvfp4", "rowwise_hp_wgrad", "deepseek_v3", "mxfp8", "rowwise", "per_tensor"),
    *("mxfp4_train", "four_over_six"),
)
TOKENS, IN, OUT = 32, 64, 32
OF_KERNELS = (LAUNCHES, gemm.LAUNCHES)


@pytest.fixture(autouse=True)
def no_launches_yet():
    clear()


def clear():
    for cache in (function.LAUNCHES, *OF_KERNELS):
        cache.clear()


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
    torch.manual_seed(seed)
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
        results = step(module, seed)
    assert len(function.LAUNCHES) == 2
    assert not any(map(len, OF_KERNELS))
    with observed(lambda calls: calls._replace()):
        for seed in range(2):
            clear()
            expected = step(other, seed)
    assert_same(results, expected)


@pytest.mark.parametrize("tokens", [K_PADDING, K_PADDING + 1], ids=["whole", "padded"])
def test_a_step_whose_wgrad_stays_bf16_is_warm_with_and_without_padding(tokens):
    layer = layer_of("rowwise_hp_wgrad")
    first, *again = (step(layer, 0, tokens) for _ in range(3))
    assert len(function.LAUNCHES) == 2
    for results in again:
        assert_same(results, first)


@by_module
def test_a_warm_step_adds_to_the_main_grads_and_takes_kept_copies(make):
    sums = []
    for again in (True, False):
        module = make("deepseek_v3")
        for weight in module.parameters():
            weight.main_grad = torch.ones(weight.shape, device=WHERE)
        for seed in range(3):
            x = torch.randn((TOKENS, IN), generator=torch.Generator().manual_seed(seed))
            first = seed == 0 if again else None
            y = module(x.to(WHERE, torch.bfloat16).requires_grad_(), is_first_microbatch=first)
            y.backward(torch.ones_like(y))
            if not again:
                clear()
        sums.append([weight.main_grad for weight in module.parameters()])
    assert_same(*sums)
    assert all(weight.grad is None for weight in module.parameters())


@by_module
@pytest.mark.parametrize("recipe", ["deepseek_v3", "nvfp4", "rowwise_hp_wgrad"])
def test_under_a_checkpoint_the_first_forward_makes_no_copy_for_the_backward(make, recipe):
    """Warm: the first forward of a layout records what is saved."""
    module = make(recipe)
    truth = [step(module, seed) for seed in range(2)]
    again = lambda x: checkpoint(module, x, use_reentrant=False)  # noqa: E731
    again.parameters = module.parameters
    step(again, 0)
    assert_same(step(again, 1), truth[1])
    x = torch.randn((TOKENS, IN), device=WHERE, dtype=torch.bfloat16, requires_grad=True)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    y = again(x)
    dropped = torch.cuda.max_memory_allocated() - before
    del y
    torch.cuda.reset_peak_memory_stats()
    module(x)
    assert dropped < torch.cuda.max_memory_allocated() - before


@pytest.mark.filterwarnings(
    "ignore:.*should not be instantiated:DeprecationWarning"
)  # Dynamo instantiates it
def test_operators_and_eager_calls_have_launches_of_their_own():
    """An operator returns the tensors that an eager forward packs into one."""
    layer = layer_of("deepseek_v3")
    compiled, truth = torch.compile(layer, backend="aot_eager"), step(layer, 0)
    for module in (compiled, layer, compiled):
        assert_same(step(module, 0), truth)


def test_a_weight_alone_takes_its_gradient():
    x, w, dy = normal_tensors(TOKENS, IN, OUT)
    for _ in range(2):
        both_ways = torch.autograd.grad(linear(x, w), (x, w), dy)
        assert torch.equal(torch.autograd.grad(linear(x.detach(), w), w, dy)[0], both_ways[1])
        assert torch.equal(torch.autograd.grad(linear(x, w.detach()), x, dy)[0], both_ways[0])
