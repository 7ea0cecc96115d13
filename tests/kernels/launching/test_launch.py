"""Contract: a launch has the interpreter's bits, drops no gradient, and reads all of what the kernel before
it wrote, in a captured graph too, whoever shares the GPU.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fp8core.linear import DGRAD, FPROP, WGRAD, Side
from fp8core.recipes import RECIPES
from kernels.device import current_device
from kernels.gemm import gemm, quantize
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_gemm
from kernels.layer import linear
from tests.kernels.cases import WHERE

RECIPE = RECIPES["rowwise_hp_wgrad"]
"""Its Wgrad reads bf16."""
LOST = r"has no gradient and {} requires one: .*linear.*{}\.detach\(\).*no_grad"


@pytest.fixture
def x():
    return torch.ones(16, 16, dtype=torch.bfloat16, device=WHERE, requires_grad=True)


def test_what_requires_grad_is_refused_where_its_gradient_would_be_lost(x):
    operand = RECIPE.operand(FPROP, Side.A)
    with pytest.raises(ValueError, match="quantize " + LOST.format("x", "x")):
        quantize(x, operand)
    with torch.no_grad():
        assert quantize(x, operand).values().sum() == x.numel()
    linear(x, x.detach(), recipe=RECIPE.name).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("name", ["a", "b", "out"])
def test_gemm_refuses_what_requires_grad(x, name):
    tensors = {"a": x.detach(), "b": x.detach(), "out": torch.zeros(16, 16, device=WHERE)}
    tensors[name] = tensors[name].clone().requires_grad_()
    operands, spec = (tensors["a"], tensors["b"]), RECIPE.spec(WGRAD)
    with pytest.raises(ValueError, match="gemm " + LOST.format(name, name)):
        gemm(*operands, spec, out=tensors["out"])
    with torch.no_grad():
        gemm(*operands, spec, out=tensors["out"])
    assert (tensors["out"] == 16).all()


PROCESSES, SECONDS, LEAST_CALLS = 8, 20, 10_000


@pytest.mark.gpu
@pytest.mark.alone
def test_products_have_the_same_bits_whoever_shares_the_gpu():
    command = [sys.executable, "-m", "tests.kernels.launching.crowd", str(SECONDS)]
    crowd = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    ended = [(*each.communicate(), each.returncode) for each in crowd]
    assert all(code == 0 for *_, code in ended), ended[0][1][-2000:]
    calls, wrong = (sum(column) for column in zip(*(map(int, out.split()) for out, *_ in ended), strict=True))
    assert calls > LEAST_CALLS
    assert wrong == 0, f"{wrong} of {calls} calls"


TOP = Path(__file__).resolve().parents[3]
DIGEST = """
import hashlib
import torch
from kernels.measure.jobs import GemmJob
from kernels.measure.operands import Operands
from kernels.device import current_device
from kernels.gemm.launch import gemm
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_gemm

torch.manual_seed(0)
seen = hashlib.sha256()
for name in ("deepseek_v3 wgrad", "nvfp4 fprop"):
    recipe, matmul = name.split()
    job = GemmJob(recipe=recipe, matmul=matmul, m=48, n=80, k=96)
    layer = job.matmul_data.layer(job.m, job.n, job.k)
    drawn = (torch.randn(layer.of(tensor)).bfloat16() for tensor in (job.matmul_data.a, job.matmul_data.b))
    a, b = Operands(job, *drawn).quantized()
    plan = plan_gemm(job.recipe_data.spec(job.matmul_data), (48, 80, 96), current_device(), Summation.RECIPE)
    for result in (a.codes, a.scale, b.codes, b.scale, gemm(a, b, plan)):
        seen.update(result.float().contiguous().numpy().tobytes())
"""
INDEX_OF_TRITON_3_6_AND_NUMPY_2_4 = """
from triton.runtime import interpreter

def needs_no_dims(self):
    assert self.handle.data.ndim == 0, "only 0-dimensional arrays can be converted to Python scalars"
    return int(self.handle.data)

patch = interpreter._patch_lang_tensor
def of_both(tensor, scope):
    patch(tensor, scope)
    scope.set_attr(tensor, "__index__", needs_no_dims)
interpreter._patch_lang_tensor = of_both
"""


@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="compares interpreters")
def test_the_quickened_interpreter_has_the_bits_of_triton_s_own_whatever_numpy_takes_for_an_index():
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TOP), *sys.path])}
    code = f"{INDEX_OF_TRITON_3_6_AND_NUMPY_2_4}{DIGEST}\nprint(seen.hexdigest())"
    own = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert own.returncode == 0, own.stderr
    exec(DIGEST, quickened := {})
    assert quickened["seen"].hexdigest() == own.stdout.strip()


REPLAYS, LAYERS = 300, 4
SHAPES = [(16, 512, 512), (200, 1024, 1024), (4096, 256, 256), (328, 512, 5120)]
"""Tokens, in and out of a layer: few blocks and many, with split-K and without."""


def multiplied(recipe, matmul, a, b):
    """The matmul of two stored tensors, each quantized first."""
    own = RECIPES[recipe]
    pair = [quantize(x, own.operand(matmul, side)) for x, side in ((a, Side.A), (b, Side.B))]
    (m, k), (n, _) = (each.operand_shape for each in pair)
    return gemm(*pair, plan_gemm(own.spec(matmul), (m, n, k), current_device(), Summation.RECIPE))


def chain(
    recipe: str, x: torch.Tensor, weights: list[tuple[torch.Tensor, torch.Tensor]]
) -> list[torch.Tensor]:
    """Outputs and gradients of layers there and back: each kernel reads what the one before has written."""
    tensors = []
    for up, down in weights:
        hidden = multiplied(recipe, FPROP, x, up)
        x_after = multiplied(recipe, FPROP, hidden, down)
        tensors += [
            multiplied(recipe, WGRAD, x_after, hidden),
            multiplied(recipe, DGRAD, x_after, down),
            x_after,
        ]
        x = x_after
    return tensors


@pytest.mark.gpu
@pytest.mark.parametrize(("tokens", "features", "hidden"), SHAPES, ids=str)
@pytest.mark.parametrize("recipe", ["per_tensor", "rowwise", "deepseek_v3", "mxfp8"])
def test_a_captured_chain_has_the_bits_of_one_that_stops_after_each_kernel(
    recipe, tokens, features, hidden, monkeypatch
):
    torch.manual_seed(0)
    x = torch.randn(tokens, features, device="cuda", dtype=torch.bfloat16)
    weights = [
        (
            torch.randn(hidden, features, device="cuda", dtype=torch.bfloat16) / features**0.5,
            torch.randn(features, hidden, device="cuda", dtype=torch.bfloat16) / hidden**0.5,
        )
        for _ in range(LAYERS)
    ]
    with monkeypatch.context() as patch:
        slow = globals()["multiplied"]

        def stopping(*given):
            out = slow(*given)
            torch.cuda.synchronize()
            return out

        patch.setitem(globals(), "multiplied", stopping)
        truth = chain(recipe, x, weights)
    warm, busy = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(warm):
        chain(recipe, x, weights)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = chain(recipe, x, weights)
    load = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    for _ in range(REPLAYS):
        with torch.cuda.stream(busy):
            torch.mm(load, load)
        graph.replay()
        for out, right in zip(results, truth, strict=True):
            wrong += (out.view(torch.uint8) != right.view(torch.uint8)).any()
    assert wrong.item() == 0
