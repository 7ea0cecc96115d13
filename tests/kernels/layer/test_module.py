"""Contract: Float8Linear stands where nn.Linear stood, and a model is converted."""

import gc
import pickle
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
from torch.utils.flop_counter import FlopCounterMode

from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES
from kernels.device import Unsupported
from kernels.layer import Float8Linear, convert_to_float8_training, float8_linear, function, linear, plan


def layer(recipe="deepseek_v3", **more) -> Float8Linear:
    torch.manual_seed(0)
    return Float8Linear(16, 8, recipe=recipe, emulate=True, **more)


def test_another_process_knows_a_recipe_of_one_s_own_by_the_layer(monkeypatch):
    own = replace(RECIPES["mxfp8"], name="own", fprop=RECIPES["mxfp4"].fprop)
    module, x = layer(own), torch.randn(2, 16)
    y, stored = module(x), pickle.dumps(module)
    monkeypatch.setattr(plan, "_own", {})
    plan._plan.cache_clear()
    assert torch.equal(pickle.loads(stored)(x), y)


def test_recipes_that_nobody_has_any_more_are_forgotten():
    first = layer(replace(RECIPES["mxfp8"], name="own", title="the first"))
    for number in range(3 * plan.MOST_RECIPES):
        float8_linear._key(replace(RECIPES["mxfp8"], name="own", title=f"number {number}"), True)
    gc.collect()
    assert max(len(float8_linear._STEPS), len(plan._own) / 2) <= plan.MOST_RECIPES
    assert plan.layer_plan(first.steps.plan.key, True).recipe.title == "the first"


def step(module, scale=1.0, seed=0):
    """(y, dx, dw) of a step with inputs that are normal numbers times a scale."""
    generator = torch.Generator().manual_seed(seed)
    x = (torch.randn(32, 16, generator=generator) * scale).requires_grad_()
    y = module(x)
    dy = torch.randn(32, 8, generator=generator) * scale
    return y, *torch.autograd.grad(y, (x, module.weight), dy)


@pytest.mark.parametrize("recipe", ["nvfp4", "deepseek_v3"])
def test_a_layer_made_without_memory_starts_where_it_is_put(recipe):
    module = Float8Linear(16, 8, device="meta", recipe=recipe, emulate=True)
    assert module(torch.empty(2, 16, device="meta")).shape == (2, 8)
    other = layer(recipe)
    module.to_empty(device="cpu").load_state_dict(other.state_dict())
    torch.manual_seed(1)
    truth = step(other)
    torch.manual_seed(1)
    assert all(torch.equal(a, b) for a, b in zip(step(module), truth, strict=True))
    with torch.device("meta"):
        model = convert_to_float8_training(nn.Sequential(nn.Linear(16, 8)), recipe=recipe, emulate=True)
    assert model[0].weight.is_meta
    assert [*module.state_dict()] == ["weight", "bias"]


@pytest.mark.parametrize("recipe", ["nvfp4", "deepseek_v3"])
def test_activation_checkpointing_gives_the_same_gradients(recipe, monkeypatch):
    module, gradients, computed = layer(recipe), [], function._computed
    x = torch.randn(8, 16, requires_grad=True)
    torch.manual_seed(1)
    plain = torch.autograd.grad(module(x).sum(), (x, module.weight))
    monkeypatch.setattr(
        function,
        "_computed",
        lambda steps, call, *rest: gradients.append(call.needs_grad) or computed(steps, call, *rest),
    )
    for _ in range(2):
        gradients.clear()
        torch.manual_seed(1)
        again = checkpoint(module, x, use_reentrant=False)
        for one, other in zip(plain, torch.autograd.grad(again.sum(), (x, module.weight)), strict=True):
            assert torch.equal(one, other)
    # Once the shapes are known, the first forward makes no copy that only the backward reads.
    assert gradients == [(False, False), (True, True)]


def test_a_selective_checkpoint_may_keep_what_the_operator_returns():
    module, x = layer("deepseek_v3"), torch.randn(8, 16, requires_grad=True)
    saved = [torch.ops.fp8_explorer.layer_forward.default]
    contexts = partial(create_selective_checkpoint_contexts, saved)
    plain = torch.autograd.grad(module(x).sum(), (x, module.weight))
    for _ in range(2):
        y = checkpoint(module, x, use_reentrant=False, context_fn=contexts)
        assert all(map(torch.equal, torch.autograd.grad(y.sum(), (x, module.weight)), plain))


def test_a_mode_around_the_forward_alone_changes_nothing_under_a_checkpoint():
    module, x = layer("deepseek_v3"), torch.randn(8, 16, requires_grad=True)
    plain = torch.autograd.grad(module(x).sum(), (x, module.weight))
    with FlopCounterMode(display=False):
        y = checkpoint(module, x, use_reentrant=False)
    assert all(map(torch.equal, torch.autograd.grad(y.sum(), (x, module.weight)), plain))


def test_y_may_be_written_into():
    """As nn.Linear's."""
    for frozen in (False, True):
        module, x = layer("mxfp8").requires_grad_(not frozen), torch.randn(2, 4, 16)
        module.bias = None
        truth = module(x).relu()
        assert torch.equal(module(x).relu_(), truth)
        assert module(x)._base is None


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:DeprecationWarning")
def test_what_it_cannot_take_is_said_in_a_sentence(monkeypatch):
    w, x = torch.randn(8, 16), torch.randn(2, 16)
    for wrong, sentence in (
        (
            (torch.randn(2, 15), w),
            r"x\[..., in\] and w\[out, in\] need one in, got x \[2, 15\] and w \[8, 16\]",
        ),
        ((torch.ones(2, 16, dtype=torch.int64), w), r"x is bfloat16, float16 or float32, got torch.int64"),
        ((x.double(), w), r"got torch.float64"),
        ((x, w.double()), r"w is bfloat16, float16 or float32, got torch.float64"),
        ((x, w, torch.zeros(7)), r"one number for each of the 8 outputs, got torch.float32\[7\]"),
        ((x, w, None, "fp8"), "no recipe is called 'fp8': there are per_tensor, "),
        ((x, w, None, 8), "a recipe is a name or a Recipe, got int"),
        ((x.to("meta"), w), "x and w need one device, got meta and cpu"),
    ):
        with pytest.raises(ValueError, match=sentence):
            linear(*wrong, emulate=True)
    wide = replace(RECIPES["mxfp8"].fprop, out=FORMATS["fp16"])
    with pytest.raises(Unsupported, match="a layer's y comes in bf16 or fp32, not in fp16"):
        linear(x, w, recipe=replace(RECIPES["mxfp8"], fprop=wide), emulate=True)
    coded = replace(RECIPES["mxfp8"].fprop.a, format=FORMATS["fp16"])
    sixteen = replace(RECIPES["mxfp8"].fprop, a=coded, b=coded)
    own = replace(RECIPES["mxfp8"], name="own", fprop=sixteen)
    with pytest.raises(Unsupported, match="not fp16's of 16; emulate=True computes by the reference's rules"):
        linear(x, w, recipe=own)
    assert linear(x, w, recipe=own, emulate=True).shape == (2, 8)
    delayed = "a delayed scale is that of earlier steps, .* Use per_tensor; the page Scaling shows"
    with pytest.raises(Unsupported, match=delayed):
        Float8Linear(16, 8, recipe="per_tensor_delayed")
    with pytest.raises(Unsupported, match="cannot record a Float8Linear"):
        torch.jit.trace(layer(), x)
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    with pytest.raises(Unsupported, match=r"this tensor lies on cpu: move it to the GPU, or .* emulate=True"):
        linear(x, w)


def test_it_takes_over_parameters_hooks_and_mode():
    plain, order = nn.Linear(16, 8, bias=False).eval(), []
    plain.register_forward_hook(lambda *inputs: order.append(1))
    module = Float8Linear.from_linear(plain, "mxfp8", emulate=True)
    module(torch.randn(2, 16))
    assert module.weight is plain.weight
    assert (module.bias, module.training, order) == (None, False, [1])
    module.register_forward_hook(lambda *inputs: order.append(2))
    plain(torch.randn(2, 16))
    assert order == [1, 1]
    plain.compile(backend="eager")
    x = torch.randn(2, 16)
    assert not torch.equal(Float8Linear.from_linear(plain, "mxfp8", emulate=True)(x), plain(x))
