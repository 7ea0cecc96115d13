"""Contract: contenders take turns on the GPU asked for, and a time is the median over the turns."""

from collections import Counter
from itertools import pairwise

import pytest
import torch
import triton
import triton.language as tl

from kernels.device import COMPILE_OPTIONS, current_device
from kernels.gemm import gemm
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_gemm
from kernels.measure.__main__ import main
from kernels.measure.jobs import GemmJob
from kernels.measure.operands import Operands
from kernels.measure.peak_rates import limits_of
from kernels.measure.timing import (
    COLD_LAUNCHES,
    ColdTurn,
    Contender,
    EmptyGraph,
    HotTurn,
    buffer_sets,
    flush_launch,
    interleaved,
    order,
)
from tests.kernels.cases import ON_GPU


@pytest.mark.parametrize("count", [3, 4, 5, 6, 7])
def test_each_contender_follows_every_other_one_and_never_itself(count):
    rounds = 2 * count
    turns = [place for number in range(rounds) for place in order(count, number)]
    assert all(sorted(order(count, number)) == [*range(count)] for number in range(rounds))
    pairs = Counter(pairwise(turns))
    assert not any(before == after for before, after in pairs)
    assert len(pairs) == count * (count - 1), "each after each"
    for place in range(count):
        most = max(times for (_, after), times in pairs.items() if after == place)
        assert most <= rounds * 2 / 3, "nobody always after the same one"


WALKERS, STRIDE = 64, 32
"""Chains followed side by side, too few to be bound by bandwidth; int32 from a link to the next, in the next
line of the L2.
"""


@triton.jit
def walk_kernel(next_ptr, end_ptr, STEPS: tl.constexpr, STRIDE: tl.constexpr):
    """Each program follows STEPS links: no load can start before the one before it has ended."""
    place = tl.program_id(0) * STEPS * STRIDE
    for _ in range(STEPS):
        place = tl.load(next_ptr + place)
    tl.store(end_ptr + tl.program_id(0), place)


@pytest.mark.alone
@pytest.mark.gpu
def test_a_flush_makes_loads_wait_for_memory_as_rotated_buffers_do():
    """A walk through a quarter of the L2 is nothing but the latency of its loads. What memory's is beside the
    L2's, the hot turns say themselves: over one buffer, and over enough of them to leave the L2.
    """
    l2 = current_device().l2_bytes
    steps = l2 // 4 // (WALKERS * STRIDE * torch.int32.itemsize)
    links = torch.arange(STRIDE, (WALKERS * steps + 1) * STRIDE, dtype=torch.int32, device="cuda")
    buffers = [links, *(links.clone() for _ in range(buffer_sets(links.nbytes, l2) - 1))]
    end = torch.zeros(WALKERS, dtype=torch.int32, device="cuda")
    options = {"num_warps": 1, **COMPILE_OPTIONS}
    walks = [lambda own=own: walk_kernel[(WALKERS,)](own, end, steps, STRIDE, **options) for own in buffers]
    cold = ColdTurn(Contender("cold", walks[:1]), flush_launch(l2))
    hot = [HotTurn(Contender(f"{count}", walks[:count]), 5_000.0) for count in (1, len(walks))]
    found = interleaved([cold, *hot], 5, lambda done: None)
    flushed, near, far = found["cold"], found["1"], found[f"{len(walks)}"]
    assert end.tolist() == [(walker + 1) * steps * STRIDE for walker in range(WALKERS)]
    assert (flushed.runs, near.runs) == (5 * COLD_LAUNCHES, 5)
    assert 0 < near.p80_us < far.p20_us, "the L2 and memory can be told apart"
    assert flushed.p20_us > (near.median_us + far.median_us) / 2, "a flushed load waits for memory"
    assert (cold.load().clock_mhz or 1000) > 100


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


@pytest.mark.skipif(ON_GPU, reason="there is a GPU")
def test_without_a_gpu_a_sentence_says_so(capsys):
    assert main(["host"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "speed is a GPU's, and this is Triton interpreter: nothing was timed" in err


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
@pytest.mark.alone
def test_every_call_of_a_recipe_is_timed(capsys):
    assert main(["host", "--recipe", "deepseek_v3"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[1] for line in lines] == ["quantize", "quantize", "gemm", "layer,"]
