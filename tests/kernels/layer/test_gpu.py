"""Contract on a GPU: torch.compile, CUDA graphs, streams and another GPU give the bits of a plain step."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from kernels.layer import SwigluMlp, convert_to_float8_training
from kernels.paths import TOP

# Dynamo itself instantiates what it warns about.
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
]
TOKENS, WIDTH = 256, 256
RATE = 4.0


def model(recipe: str | None, where: str = "cuda") -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))
    layers = layers.to(where, torch.bfloat16)
    return convert_to_float8_training(layers, recipe=recipe) if recipe else layers


def block(recipe: str) -> nn.Module:
    torch.manual_seed(0)
    return SwigluMlp(WIDTH, 2 * WIDTH, "cuda", torch.bfloat16, recipe=recipe)


def batch(where: str = "cuda") -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(1))
    return x.to(where, torch.bfloat16), x.sin().to(where, torch.bfloat16)


def step(one: nn.Module, run, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The loss before a step of gradient descent, which is taken."""
    loss = functional.mse_loss(run(x).float(), target.float())
    parameters = list(one.parameters())
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.sub_(gradient, alpha=RATE)
    return loss.detach()


def alike(one: nn.Module, other: nn.Module) -> bool:
    tensors = (each.parameters() for each in (one, other))
    return all(torch.equal(a, b.to(a.device)) for a, b in zip(*tensors, strict=True))


@pytest.mark.filterwarnings("ignore")  # Inductor warns of its own ways
@pytest.mark.usefixtures("one_compiler")
@pytest.mark.parametrize(
    ("make", "recipe"), [(model, "deepseek_v3"), (model, "rowwise"), (block, "deepseek_v3")]
)
def test_inductor_takes_the_layers_whole(make, recipe):
    plain = make(recipe)
    other, (x, dy) = copy.deepcopy(plain), batch()
    x.requires_grad_()
    compiled = torch.compile(other, fullgraph=True)
    for _ in range(2):
        results = []
        for one, run in ((plain, plain), (other, compiled)):
            y = run(x)
            weights = [each for each in one.parameters() if each.ndim == 2]
            results.append((y, *torch.autograd.grad(y, (x, *weights), dy)))
        assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize(
    ("make", "recipe"),
    [
        *((model, name) for name in ("deepseek_v3", "mxfp8", "nvfp4")),
        *((block, name) for name in ("deepseek_v3", "mxfp4_train")),
    ],
)
def test_a_captured_step_is_replayed_with_new_weights_and_random_bits(make, recipe):
    plain = make(recipe)
    other, (x, target) = copy.deepcopy(plain), batch()
    for one in (plain, other):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.manual_seed(0)
            for _ in range(2):
                step(one, one, x, target)
        torch.cuda.current_stream().wait_stream(side)
    assert alike(plain, other)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(other, other, x, target)
    for seed in range(3):
        torch.manual_seed(seed)
        truth = step(plain, plain, x, target)
        torch.manual_seed(seed)
        graph.replay()
        assert torch.equal(loss, truth)
        assert alike(plain, other)


def test_another_stream_computes_the_same_bits():
    plain, (x, target) = model("deepseek_v3"), batch()
    other = copy.deepcopy(plain)
    loss = step(plain, plain, x, target)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        result = step(other, other, x, target)
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(result, loss)
    assert alike(plain, other)


def test_another_gpu_computes_the_same_bits():
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    assert torch.cuda.current_device() == 0
    first, second = model("deepseek_v3"), model("deepseek_v3", "cuda:1")
    step(first, first, *batch())
    step(second, second, *batch("cuda:1"))
    assert alike(first, second)


def test_the_lines_of_docs_train_on_the_gpu():
    page = (TOP / "docs/training.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(compile(page.partition("```python\n")[2].partition("```")[0], "training.md", "exec"), names)
    assert not names["model"][0].steps.plan.emulate
    assert names["losses"][-1] < names["losses"][0] / 3
