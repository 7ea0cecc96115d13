"""Contract: a graph is captured on the GPU in use, whichever was in use before, and never empty."""

import pytest
import torch

from kernels.bench.capture import EmptyGraph
from kernels.bench.ceilings.limits import limits_of
from kernels.bench.job import GemmJob
from kernels.bench.operands import Operands
from kernels.bench.timing import Contender, HotTurn
from kernels.device import current_device
from kernels.gemm import gemm
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_gemm


def turn_on(index):
    """A hot turn of a GEMM whose operands lie on that GPU, and its job."""
    job = GemmJob(recipe="rowwise", matmul="fprop", m=2048, n=2048, k=2048)
    with torch.cuda.device(index):
        device = current_device()
        a, b = Operands.of(job, device).quantized()
        plan = plan_gemm(job.recipe_data.fprop, (job.m, job.n, job.k), device, Summation.RECIPE)
    assert a.codes.device.index == index
    return Contender(f"GPU {index}", [lambda: gemm(a, b, plan)]), job


@pytest.mark.alone
@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_second_gpu_is_timed_as_itself():
    """First the first GPU, on whose stream torch would capture from then on."""
    for index in (0, 1, 0):
        contender, job = turn_on(index)
        with torch.cuda.device(index):
            (time_us,) = HotTurn(contender, 5_000.0).times_us()
            limits = limits_of(current_device())
        assert limits.tflop_s is not None
        tflop_s = job.flop / time_us / 1e6
        assert limits.tflop_s / 100 < tflop_s, "it is a GPU's"
        assert not limits.fault(tflop_s)


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_launches_on_another_gpu_than_the_one_in_use_are_never_timed():
    contender, _ = turn_on(1)
    with torch.cuda.device(0), pytest.raises(EmptyGraph):
        HotTurn(contender, 5_000.0)
