"""Contract: a block's warm step gives the bits of its kernels called one by one."""

import copy

import pytest
import torch

from kernels.fused import launch as fused
from kernels.gemm import launch as gemm
from kernels.layer import SwigluMlp, record, taped
from kernels.layer.calls import PYTHON, calling
from kernels.quantize import both, launch
from tests.kernels.cases import ON_GPU, WHERE
from tests.kernels.launching.stand_in import no_tapes_yet
from tests.sweeps import exhaustive

# Both of its layers keep a history.
FIRST = ("per_tensor_delayed",)
LATER = [] if ON_GPU else exhaustive
MORE = (
    "nvfp4",
    "rowwise_hp_wgrad",
    "deepseek_v3",
    "mxfp8",
    "rowwise",
    "per_tensor",
    "mxfp4_train",
    "four_over_six",
)
RECIPES = [*FIRST, *(pytest.param(name, marks=LATER) for name in MORE)]
TOKENS, IN, HIDDEN = 32, 64, 32


@pytest.fixture(autouse=True)
def driver():
    """CUDA's driver, or what stands in for it, with no tapes yet."""
    with no_tapes_yet(taped.TAPES, *inner()) as cuda:
        yield cuda


def forget():
    for tapes in (taped.TAPES, *inner()):
        tapes.forget()


def inner():
    """Tapes of single kernels."""
    return record.TAPES, both.TAPES, launch.TAPES, fused.TAPES, gemm.TAPES


def block_of(recipe: str, **options) -> SwigluMlp:
    torch.manual_seed(0)
    return SwigluMlp(IN, HIDDEN, WHERE, torch.bfloat16, recipe=recipe, **options)


def given(seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn((TOKENS, IN), generator=generator).to(WHERE, torch.bfloat16) for _ in range(2)]


def step(block: SwigluMlp, seed: int) -> list[torch.Tensor]:
    """y and all gradients of numbers that the seed decides."""
    x, dy = given(seed)
    y = block(x.requires_grad_())
    return [y, *torch.autograd.grad(y, (x, *block.parameters()), dy)]


def assert_same(some, others):
    assert all(torch.equal(one, other) for one, other in zip(some, others, strict=True))


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_warm_step_gives_the_bits_of_kernels_called_one_by_one(recipe):
    block = block_of(recipe)
    other = copy.deepcopy(block)
    for seed in range(2):
        found = step(block, seed)
    assert len(taped.TAPES) == 2
    assert not any(map(len, inner()))
    with calling(PYTHON._replace()):
        for seed in range(2):
            expected = step(other, seed)
    assert len(taped.TAPES) == 2
    assert_same(found, expected)
    assert_same(block.buffers(), other.buffers())


def test_a_warm_step_adds_to_the_main_grads_and_takes_kept_copies():
    sums = []
    for again in (True, False):
        block = block_of("deepseek_v3", cache_weights=again)
        for weight in block.parameters():
            weight.main_grad = torch.ones(weight.shape, device=WHERE)
        for seed in range(2):
            x, dy = given(seed)
            block(x.requires_grad_()).backward(dy)
            if not again:
                forget()
        sums.append([weight.main_grad for weight in block.parameters()])
    assert_same(*sums)
    assert block.gate_up.weight.grad is None
