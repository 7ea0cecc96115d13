"""Contract: a launch has the interpreter's bits, whoever shares the GPU, and drops no gradient."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fp8core.linear import FPROP, WGRAD, Side
from fp8core.recipes import RECIPES
from kernels.gemm import gemm, quantize
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
    with pytest.raises(ValueError, match="quantize has no gradient"):
        torch.ops.fp8_explorer.quantize(x, RECIPE.name, "x", "fprop")
    linear(x, x.detach(), recipe=RECIPE.name).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("name", ["a", "b", "out"])
def test_gemm_refuses_what_requires_grad(x, name):
    given = {"a": x.detach(), "b": x.detach(), "out": torch.zeros(16, 16, device=WHERE)}
    given[name] = given[name].clone().requires_grad_()
    operands, spec = (given["a"], given["b"]), RECIPE.spec(WGRAD)
    with pytest.raises(ValueError, match="gemm " + LOST.format(name, name)):
        gemm(*operands, spec, out=given["out"])
    with torch.no_grad():
        gemm(*operands, spec, out=given["out"])
    assert (given["out"] == 16).all()


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
from kernels.bench.job import GemmJob
from kernels.bench.operands import Operands
from kernels.device import current_device
from kernels.gemm.launch import gemm
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_gemm

torch.manual_seed(0)
seen = hashlib.sha256()
for name in ("deepseek_v3 wgrad", "mxfp4 dgrad", "nvfp4 fprop", "rowwise dgrad"):
    recipe, matmul = name.split()
    job = GemmJob(recipe=recipe, matmul=matmul, m=48, n=80, k=96)
    layer = job.matmul_data.layer(job.m, job.n, job.k)
    drawn = (torch.randn(layer.of(tensor)).bfloat16() for tensor in (job.matmul_data.a, job.matmul_data.b))
    a, b = Operands(job, *drawn).quantized()
    plan = plan_gemm(job.recipe_data.spec(job.matmul_data), (48, 80, 96), current_device(), Summation.RECIPE)
    for result in (a.codes, a.scale, b.codes, b.scale, gemm(a, b, plan)):
        seen.update(result.float().contiguous().numpy().tobytes())
print(seen.hexdigest())
"""


QUICKENED = """
from kernels.launching.interpreter import quickened

quickened()
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


def digest(before: str) -> str:
    """The bits of quantizers and GEMMs in an interpreter that this code has changed."""
    env = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join([str(TOP), *sys.path])}
    done = subprocess.run([sys.executable, "-c", before + DIGEST], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_quickened_interpreter_has_the_bits_of_triton_s_own_whatever_numpy_takes_for_an_index():
    assert digest(QUICKENED) == digest(INDEX_OF_TRITON_3_6_AND_NUMPY_2_4)
