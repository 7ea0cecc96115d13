"""Contract: copies of a weight are kept while it is unchanged, and never used once it has changed."""

import numpy as np
import pytest
import torch

from fp8core.recipes import RECIPES
from kernels.layer import Float8Linear, held_bytes, linear
from kernels.layer import calls as layer_calls
from tests.kernels.cases import ON_GPU
from tests.kernels.layer.by_hand import drawn
from tests.sweeps import exhaustive


@pytest.fixture
def quantized(monkeypatch):
    """The tensors that are quantized from now on, by name."""
    calls, names = layer_calls._OPERATORS, []

    def counted(x, recipe, tensor, *rest):
        names.append(tensor)
        return calls.quantize(x, recipe, tensor, *rest)

    monkeypatch.setattr(layer_calls, "_OPERATORS", calls._replace(quantize=counted))
    return names


def kept() -> Float8Linear:
    return Float8Linear(16, 8, recipe="mxfp8", emulate=True, cache_weights=True)


X = torch.randn(4, 16)


def right(layer) -> bool:
    """True where y comes from today's weight."""
    fresh = Float8Linear.from_linear(layer, "mxfp8", emulate=True)
    fresh.cache_weights = False
    return torch.equal(layer(X), fresh(X))


def test_microbatches_share_the_copies_of_the_first(quantized):
    layer = Float8Linear(16, 8, emulate=True)
    for first in (True, False, False):
        layer(X, is_first_microbatch=first).sum().backward()
    assert (quantized.count("x"), quantized.count("w"), quantized.count("dy")) == (3, 1, 3)
    layer(X, is_first_microbatch=True)
    assert quantized.count("w") == 2


def in_place(layer, step):
    with torch.no_grad():
        layer.weight.mul_(2)


def copied(layer, step):
    with torch.no_grad():
        layer.weight.copy_(torch.ones(8, 16))


def swapped(layer, step):
    layer.weight.data = torch.ones(8, 16)


def loaded(layer, step):
    layer.load_state_dict({"weight": torch.ones(8, 16), "bias": torch.zeros(8)})


def replaced(layer, step):
    layer.weight = torch.nn.Parameter(torch.ones(8, 16))


def stepped(kind, **more):
    def change(layer, step):
        optimizer = kind(layer.parameters(), lr=0.5, **more)
        layer(X).sum().backward()
        optimizer.step()

    return change


CHANGES = {
    "in_place": in_place,
    "copy_": copied,
    "data": swapped,
    "load_state_dict": loaded,
    "another_parameter": replaced,
    "sgd": stepped(torch.optim.SGD),
    "sgd_foreach": stepped(torch.optim.SGD, foreach=True),
    "adamw_fused": stepped(torch.optim.AdamW, fused=True),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_weight_that_changed_is_quantized_anew(change, quantized):
    layer = kept()
    for _ in range(2):
        layer(X)
    assert quantized.count("w") == 1
    change(layer, 1)
    assert right(layer)


def test_another_tensor_in_memory_that_was_freed_is_not_taken_for_the_weight():
    layer, memory = kept(), np.ones((8, 16), np.float32)
    layer.weight.data = torch.from_numpy(memory)
    layer(X)
    layer.weight.data = torch.zeros(8, 16)
    memory[:] = 2
    layer.weight.data = torch.from_numpy(memory)
    assert right(layer)


def test_who_writes_into_data_says_so():
    layer = kept()
    layer(X)
    layer.weight.data.mul_(2)
    assert not right(layer)
    layer.forget_weight()
    assert right(layer)


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
