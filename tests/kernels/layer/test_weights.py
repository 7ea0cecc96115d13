"""Contract: copies of a weight are kept while it is unchanged, and never used once it has changed."""

import copy

import numpy as np
import pytest
import torch

from kernels.layer import Float8Linear
from kernels.layer import calls as layer_calls


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


def test_a_copied_layer_keeps_nothing():
    layer = kept()
    layer(X)
    assert copy.deepcopy(layer)._kept is None


def test_a_frozen_weight_is_quantized_for_both_readers_once(quantized):
    layer = kept()
    layer(X)
    layer(X.clone().requires_grad_()).sum().backward()
    assert quantized.count("w") == 1
