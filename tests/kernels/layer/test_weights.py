"""Contract: copies of a weight are kept for microbatches alone, and what is saved is what it says."""

import pytest
import torch

from kernels.layer import Float8Linear, SwigluMlp, linear
from kernels.layer.calls import observed
from kernels.layer.plan import LAYER_RECIPES
from tests.kernels.cases import ON_GPU
from tests.kernels.layer.by_hand import normal_tensors
from tests.sweeps import exhaustive

X = torch.randn(4, 16)


@pytest.fixture
def quantized():
    """The tensors that are quantized from now on, by name."""
    names = []

    def counting(calls):
        def quantize(x, readings, *rest):
            names.append(readings[0].tensor.value)
            return calls.quantize(x, readings, *rest)

        return calls._replace(quantize=quantize)

    with observed(counting):
        yield names


def test_microbatches_share_the_copies_of_the_first(quantized):
    layer = Float8Linear(16, 8, emulate=True)
    with pytest.raises(
        ValueError, match="is_first_microbatch=False takes the copies of an earlier call with True"
    ):
        layer(X, is_first_microbatch=False)
    for first in (True, False, False):
        layer(X, is_first_microbatch=first).sum().backward()
    assert (quantized.count("x"), quantized.count("w"), quantized.count("dy")) == (3, 1, 3)
    layer(X, is_first_microbatch=True)
    assert quantized.count("w") == 2


@pytest.mark.parametrize(
    "make", [lambda: Float8Linear(16, 8, False, emulate=True), lambda: SwigluMlp(16, 8, emulate=True)]
)
def test_only_a_caller_who_asks_gets_yesterday_s_weight(make):
    module = make()
    with torch.inference_mode():
        before = module(X, is_first_microbatch=True)
    with torch.no_grad():
        for weight in module.parameters():
            weight.data.mul_(2)
    first, fresh = module(X, is_first_microbatch=False), module(X)
    assert torch.equal(first, before)
    assert not torch.equal(fresh, before)
    first.sum().backward()
    assert not list(module.buffers())


FIRST = ("rowwise_hp_wgrad",)
ALL = [pytest.param(n, marks=[] if ON_GPU or n in FIRST else exhaustive) for n in LAYER_RECIPES]


@pytest.mark.parametrize("name", ALL)
def test_what_is_saved_has_as_many_bytes_as_it_says(name):
    x, w, _ = normal_tensors(17, 40, 24)
    y = linear(x, w, recipe=name)
    layer = Float8Linear(40, 24, device="meta", recipe=name)
    bytes_ = sum(tensor.untyped_storage().nbytes() for tensor in y.grad_fn.saved_tensors)
    assert bytes_ == layer.held_bytes(17).total


def test_what_a_forward_writes_is_saved_as_one_tensor_beside_inputs_and_kept_copies():
    x, w, _ = normal_tensors(4, 16, 8, where="cpu")
    (memory,) = linear(x, w, recipe="mxfp8", emulate=True).grad_fn.saved_tensors
    assert memory.dtype == torch.uint8
    _, whole = linear(x, w, recipe="rowwise_hp_wgrad", emulate=True).grad_fn.saved_tensors
    assert whole.data_ptr() == x.data_ptr()
    layer = Float8Linear(16, 8, False, dtype=x.dtype, recipe="mxfp8", emulate=True)
    _, kept = layer(x, is_first_microbatch=True).grad_fn.saved_tensors
    assert kept.data_ptr() == layer.w_copies(False)[1][0].data_ptr()


def test_a_saved_tensor_may_come_back_at_any_byte_and_stride():
    def at_a_byte(tensor):
        return torch.empty(tensor.nbytes + 1, dtype=torch.uint8)[1:].copy_(tensor)

    def with_a_stride(tensor):
        return torch.empty(2 * tensor.nbytes, dtype=torch.uint8)[::2].copy_(tensor)

    x, w, dy = normal_tensors(4, 16, 8, where="cpu")
    truth = torch.autograd.grad(linear(x, w, emulate=True), (x, w), dy)
    for back in (at_a_byte, with_a_stride):
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, back):
            y = linear(x, w, emulate=True)
        assert all(map(torch.equal, torch.autograd.grad(y, (x, w), dy), truth))


def test_a_saved_copy_may_be_moved_and_brought_back():
    x, w, dy = normal_tensors(17, 40, 24)
    plain = torch.autograd.grad(linear(x, w), (x, w), dy)
    # Hooks that offload keep shapes, not strides.
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: t.cpu().clone(memory_format=torch.contiguous_format), lambda t: t.to(x.device)
    ):
        y = linear(x, w)
    moved = torch.autograd.grad(y, (x, w), dy)
    assert all(torch.equal(a, b) for a, b in zip(plain, moved, strict=True))
