"""Contract: a layer holds for the way back what it says, in a copy's bytes and not in bf16."""

import pytest
import torch

from fp8core.recipes import RECIPES
from kernels.layer import Float8Linear, held_bytes, linear
from tests.kernels.cases import ON_GPU
from tests.kernels.layer.by_hand import drawn
from tests.sweeps import exhaustive

FIRST = ("rowwise_hp_wgrad",)
ALL = [pytest.param(n, marks=[] if ON_GPU or n in FIRST else exhaustive) for n in RECIPES]


@pytest.mark.parametrize("name", ALL)
def test_what_is_saved_has_as_many_bytes_as_it_says(name):
    x, w, _ = drawn(17, 40, 24)
    y = linear(x, w, recipe=name, seed=0)
    told = held_bytes(name, 17, 40, 24)
    held = sum(kept.untyped_storage().nbytes() for kept in y.grad_fn.saved_tensors)
    # A tape keeps small pieces in one, each of them at a multiple of 512 bytes.
    assert told.total <= held < told.total + (512 * 6 if ON_GPU else 1)


def test_bytes_of_a_layer_of_a_large_model():
    layer = Float8Linear(4096, 14336, device="meta", recipe="deepseek_v3")
    held = layer.held_bytes(8192)
    assert held.bf16 == 2 * 8192 * 4096
    assert held.x == 8192 * 4096 * (1 + 4 / 128)
    assert held.w == 4096 * 14336 + 4 * 32 * 112
    assert Float8Linear(64, 64, recipe="rowwise_hp_wgrad").held_bytes(32).x == 2 * 32 * 64


def test_a_saved_copy_may_be_moved_and_brought_back():
    x, w, dy = drawn(17, 40, 24)
    plain = torch.autograd.grad(linear(x, w), (x, w), dy)
    # Hooks that offload keep shapes, not strides.
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: t.cpu().clone(memory_format=torch.contiguous_format), lambda t: t.to(x.device)
    ):
        y = linear(x, w)
    moved = torch.autograd.grad(y, (x, w), dy)
    assert all(torch.equal(a, b) for a, b in zip(plain, moved, strict=True))
