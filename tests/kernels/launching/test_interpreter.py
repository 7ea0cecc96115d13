"""Contract: without its needless work, the interpreter gives the same bits. Another one is not touched."""

import os
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
DIGEST = """
import hashlib, sys
import torch
from kernels.bench.job import GemmJob
from kernels.bench.operands import Operands
from kernels.device import current_device
from kernels.gemm.launch import gemm
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_gemm

if sys.argv[1] == "quick":
    from kernels.launching.interpreter import quickened

    quickened()
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


def digest(how: str) -> str:
    env = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join([str(TOP), *sys.path])}
    done = subprocess.run([sys.executable, "-c", DIGEST, how], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_quantizers_and_gemms_have_the_bits_of_the_interpreter_as_it_is():
    assert digest("quick") == digest("as it is")


COUNT = """
from triton.runtime import interpreter

def needs_no_dims(self):
    assert self.handle.data.ndim == 0, "only 0-dimensional arrays can be converted to Python scalars"
    return int(self.handle.data)

patch = interpreter._patch_lang_tensor
def of_triton_3_6_and_numpy_2_4(tensor, scope):
    patch(tensor, scope)
    scope.set_attr(tensor, "__index__", needs_no_dims)
interpreter._patch_lang_tensor = of_triton_3_6_and_numpy_2_4
"""


def test_a_gemm_runs_where_triton_and_numpy_do_not_agree_on_an_index():
    env = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join([str(TOP), *sys.path])}
    command = [sys.executable, "-c", COUNT + DIGEST, "as it is"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
