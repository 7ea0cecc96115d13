"""Contract: Float8Linear stands where nn.Linear stood, and a model is converted."""

import copy
import dataclasses
import pickle

import pytest
import torch
from torch import nn

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from kernels.device import Unsupported
from kernels.layer import Float8Linear, convert_to_float8_training, linear, operand_seed, plan
from kernels.layer.carried import DY, ROWS, W, X


def layer(recipe="deepseek_v3", **more) -> Float8Linear:
    torch.manual_seed(0)
    return Float8Linear(16, 8, recipe=recipe, emulate=True, **more)


def test_a_model_is_converted_where_the_filter_says_so():
    shared = nn.Linear(16, 16)
    model = nn.Sequential(shared, nn.ReLU(), nn.Sequential(nn.Linear(16, 16), shared), nn.Linear(16, 4))
    asked = []
    made = convert_to_float8_training(
        model,
        recipe="mxfp8",
        module_filter_fn=lambda module, fqn: asked.append(fqn) or fqn != "3",
        emulate=True,
    )
    assert made is model
    assert [type(m) for m in (model[0], model[2][0], model[3])] == [Float8Linear, Float8Linear, nn.Linear]
    assert model[0] is model[2][1]
    assert {"0", "2.0", "3"} <= set(asked)
    assert isinstance(convert_to_float8_training(nn.Linear(4, 4), emulate=True), Float8Linear)


@pytest.mark.parametrize("recipe", ["per_tensor_delayed", "nvfp4"])
def test_a_copy_of_a_layer_goes_on_like_the_layer(recipe):
    made = layer(recipe)
    step(made)
    other = copy.deepcopy(made)
    for _ in range(2):
        assert all(torch.equal(a, b) for a, b in zip(step(made), step(other), strict=True))


def test_another_process_knows_a_recipe_of_one_s_own_by_the_layer(monkeypatch):
    own = dataclasses.replace(RECIPES["mxfp8"], name="own", fprop=RECIPES["mxfp4"].fprop)
    made, x = layer(own), torch.randn(2, 16)
    y, stored = made(x), pickle.dumps(made)
    monkeypatch.setattr(plan, "_given", {})
    for cached in (plan.named, plan.step, plan.readings, plan._readings, plan._plan):
        cached.cache_clear()
    assert torch.equal(pickle.loads(stored)(x), y)


def step(made, scale=1.0, seed=0):
    """(y, dx, dw) of a step with inputs that are normal numbers times a scale."""
    generator = torch.Generator().manual_seed(seed)
    x = (torch.randn(32, 16, generator=generator) * scale).requires_grad_()
    y = made(x)
    dy = torch.randn(32, 8, generator=generator) * scale
    return y, *torch.autograd.grad(y, (x, made.weight), dy)


def test_a_delayed_scale_looks_back_on_the_steps_before():
    made, first = layer("per_tensor_delayed", bias=False), layer("per_tensor", bias=False)
    # The first step has no history: its own amax counts. So does a larger one, from the next step on.
    assert torch.equal(step(made)[0], step(first)[0])
    history = made.amax_history.view(torch.float32)
    assert history.shape[0] == ROWS
    assert history[X, -1] > 3
    assert history[W, -1] == made.weight.abs().max()
    assert history[DY, -1] > 2
    assert not history[:, :-1].any()
    late, own = (step(each, scale=64.0)[0].detach().abs().max() for each in (made, first))
    assert late < own / 4  # saturated
    assert torch.equal(step(made, scale=64.0)[0], step(first, scale=64.0)[0])
    made.eval()
    before = made.amax_history.clone()
    with torch.no_grad():
        made(torch.ones(2, 16))
    assert torch.equal(made.amax_history, before)
    made.bfloat16()
    assert torch.equal(made.amax_history, before)


def test_each_step_has_seeds_of_its_own_and_torch_s_seed_decides_them():
    runs = []
    for _ in range(2):
        made = layer("nvfp4")
        start = int(made.seeds[0]) // len(made.seeds)
        runs.append([step(made)[1] for _ in range(2)])
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))
    assert not torch.equal(runs[0][0], runs[0][1])
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(32, 16, generator=generator).requires_grad_()
    dy = torch.randn(32, 8, generator=generator)
    for at, found in enumerate(runs[0]):
        y = linear(x, made.weight, recipe="nvfp4", emulate=True, seed=start + at)
        assert torch.equal(torch.autograd.grad(y, x, dy)[0], found)
    places = {operand_seed(9, matmul, side) for matmul in MATMULS.values() for side in Side}
    assert places == set(range(54, 60))


def test_a_layer_made_without_memory_starts_where_it_is_put():
    made = Float8Linear(16, 8, device="meta", recipe="per_tensor_delayed", emulate=True)
    made.to_empty(device="cpu").reset_parameters()
    assert not made.amax_history.any()
    made = Float8Linear(16, 8, device="meta", recipe="nvfp4", emulate=True)
    assert made(torch.empty(2, 16, device="meta")).shape == (2, 8)
    made.load_state_dict(nn.Linear(16, 8).state_dict(), assign=True)
    made(torch.randn(2, 16)).sum().backward()
    assert made.seeds.device.type == "cpu"


def test_activation_checkpointing_gives_the_same_gradients():
    made = layer()
    x = torch.randn(8, 16, requires_grad=True)
    plain = torch.autograd.grad(made(x).sum(), (x, made.weight))
    again = torch.utils.checkpoint.checkpoint(made, x, use_reentrant=False)
    for one, other in zip(plain, torch.autograd.grad(again.sum(), (x, made.weight)), strict=True):
        assert torch.equal(one, other)


def test_what_it_cannot_take_is_said_in_a_sentence(monkeypatch):
    w, x = torch.randn(8, 16), torch.randn(2, 16)
    for wrong, sentence in (
        (
            (torch.randn(2, 15), w),
            r"x\[..., in\] and w\[out, in\] need one in, got x \[2, 15\] and w \[8, 16\]",
        ),
        ((torch.ones(2, 16, dtype=torch.int64), w), "x is bfloat16, float16 or float32, got int64"),
        ((x.double(), w), "got float64"),
        ((x, w.double()), "w is bfloat16, float16 or float32, got float64"),
        ((x, w, torch.zeros(7)), r"one number for each of the 8 outputs, got float32\[7\]"),
        ((x, w, None, "fp8"), "no recipe is called 'fp8': there are per_tensor, "),
        ((x, w, None, 8), "a recipe is a name or a Recipe, got int"),
        ((x.to("meta"), w), "x and w need one device, got meta and cpu"),
    ):
        with pytest.raises(ValueError, match=sentence):
            linear(*wrong, emulate=True)
    wide = dataclasses.replace(RECIPES["mxfp8"].fprop, out=FORMATS["fp16"])
    with pytest.raises(Unsupported, match="a layer's y comes in bf16 or fp32, not in fp16"):
        linear(x, w, recipe=dataclasses.replace(RECIPES["mxfp8"], fprop=wide), emulate=True)
    coded = dataclasses.replace(RECIPES["mxfp8"].fprop.a, format=FORMATS["fp16"])
    sixteen = dataclasses.replace(RECIPES["mxfp8"].fprop, a=coded, b=coded)
    own = dataclasses.replace(RECIPES["mxfp8"], name="own", fprop=sixteen)
    with pytest.raises(Unsupported, match="not fp16's of 16; emulate=True computes by the reference's rules"):
        linear(x, w, recipe=own)
    assert linear(x, w, recipe=own, emulate=True).shape == (2, 8)
    with pytest.raises(ValueError, match="a layer's seed is from 0 to"):
        linear(x, w, recipe="nvfp4", emulate=True, seed=-1)
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    with pytest.raises(Unsupported, match=r"this tensor lies on cpu: move it to the GPU, or .* emulate=True"):
        linear(x, w)


def test_it_takes_over_parameters_hooks_and_mode():
    plain, seen = nn.Linear(16, 8, bias=False).eval(), []
    plain.register_forward_hook(lambda *given: seen.append(1))
    made = Float8Linear.from_linear(plain, "mxfp8", emulate=True)
    made(torch.randn(2, 16))
    assert made.weight is plain.weight
    assert (made.bias, made.training, seen) == (None, False, [1])
    made.register_forward_hook(lambda *given: seen.append(2))
    plain(torch.randn(2, 16))
    assert seen == [1, 1]
