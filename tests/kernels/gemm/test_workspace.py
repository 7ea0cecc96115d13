"""Contract: where K is split, each run is a sum of its own from zero, and the runs are added first to last in
fp32, whoever comes last: equal inputs give equal bits, nothing unwritten is read, and the count of arrivals
is left at zero for the next launch. The bound is that of exact_product.py.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain

import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE
from kernels.gemm import gemm
from kernels.gemm import workspace as split
from kernels.gemm.blocks import Blocks
from kernels.gemm.launch import factor
from kernels.gemm.plan import GemmPlan
from kernels.gemm.simple import launch as simple_launch
from tests.kernels.cases import GEMMS, ON_GPU, WHERE, problem
from tests.kernels.gemm.exact_product import KIND, assert_within_bound, poisoned
from tests.sweeps import some_cases, some_pairs

SPLITS = (((70, 50, 650), 2), ((16, 130, 900), 3), ((1, 33, 129), 16), ((65, 64, 1024), 4))
"""(M, N, K) and the number of runs."""

by_gemm = pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)


def split_in(plan: GemmPlan, runs: int, **change) -> GemmPlan:
    """The plan with small blocks and K split."""
    block_k = 128 if plan.numerics.promotion is WHOLE else plan.numerics.promotion
    blocks = Blocks(block_m=64, block_n=64, block_k=block_k, warps=4, stages=2, split_k=runs)
    return replace(plan, blocks=replace(blocks, **change))


def writing(plan, spec):
    """The plan of another spec, which differs in D."""
    return replace(plan, numerics=replace(plan.numerics, spec=spec))


@pytest.fixture(autouse=True)
def workspaces(monkeypatch):
    """Every workspace that a launch was given, with NaN in its parts and two rows of NaN after them."""
    workspaces = []

    def poisoned_workspace(plan, mnk, device, original=split.workspace):
        parts, arrivals = original(plan, mnk, device)
        if parts is not None:
            around = torch.full((parts.shape[0] + 2, *parts.shape[1:]), torch.nan, device=device)
            parts = around[:-2]
            workspaces.append((around, arrivals))
        return parts, arrivals

    monkeypatch.setattr("kernels.gemm.simple.launch.workspace", poisoned_workspace)
    return workspaces


@pytest.mark.parametrize(("recipe", "matmul", "split_of"), some_pairs(GEMMS, SPLITS, every=6))
def test_d_is_the_exact_product_within_the_bound(recipe, matmul, split_of, workspaces):
    mnk, runs = split_of
    a, b, plan = problem(recipe, matmul, mnk)
    plan = split_in(plan, runs)
    out = poisoned(plan, *mnk[:2])
    gemm(a, b, plan, out=out)
    assert_within_bound(out, a, b, plan)
    ((around, arrivals),) = workspaces
    assert around.shape[0] - 2 == plan.blocks.splits(mnk[2])[0] > 1
    assert not around[:-2].isnan().any(), "every part is written"
    assert around[-2:].isnan().all(), "and nothing after them"
    assert not arrivals.any()


@pytest.mark.gpu
@by_gemm
def test_equal_inputs_give_equal_bits(recipe, matmul):
    a, b, plan = problem(recipe, matmul, (70, 130, 4100))
    plan = split_in(plan, 4)
    first = gemm(a, b, plan)
    for _ in range(100):
        assert torch.equal(first.view(torch.uint8), gemm(a, b, plan).view(torch.uint8))


@pytest.mark.parametrize(("recipe", "matmul"), some_cases(6, GEMMS))
def test_the_runs_are_added_first_to_last(recipe, matmul):
    """Each run's part by a launch of its own; D is their fp32 sum in order, then what comes after the sum."""
    mnk = (20, 30, 768)
    a, b, plan = problem(recipe, matmul, mnk, "wide")
    spec = replace(plan.numerics.spec, out=FORMATS["fp32"])
    plan = split_in(writing(plan, spec), 3)
    whole, parts = with_its_parts(a, b, plan)
    total = torch.zeros_like(parts[0])
    for part in parts:
        total = total + part
    if plan.numerics.scales_at_end:
        scales = (factor(x, plan, KIND, side).scale for x, side in zip((a, b), Side, strict=True))
        for scale, shape in zip(scales, ((-1, 1), (1, -1)), strict=True):
            total = total * scale.reshape(shape)
    assert torch.equal(whole, total)


def with_its_parts(a, b, plan):
    """D of a first call, and its parts float32[runs, M, N]. A warm call asks for no workspace."""
    workspaces = []
    original = simple_launch.workspace

    def keep(*arguments):
        workspaces.append(original(*arguments))
        return workspaces[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernels.gemm.simple.launch.workspace", keep)
        whole = gemm(a, b, plan)
    return whole, workspaces[0][0]


def test_a_split_sum_goes_into_a_strided_out_and_accumulates():
    a, b, plan = problem(RECIPES["deepseek_v3"], MATMULS["wgrad"], (70, 50, 650))
    plan = split_in(plan, 3)
    start = torch.randn(140, 150, device=WHERE)
    wide = start.clone()
    gemm(a, b, plan, out=wide[::2, ::3], accumulate=True)
    assert torch.equal(wide[::2, ::3], start[::2, ::3] + gemm(a, b, plan))
    wide[::2, ::3] = start[::2, ::3]
    assert torch.equal(wide, start)


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
@pytest.mark.parametrize("mnk", [(16, 4096, 14336), (256, 1024, 4100)], ids=str)
@by_gemm
def test_every_predicted_bit_of_a_split_sum_is_the_kernel_s(recipe, matmul, mnk):
    from kernels.device import current_device
    from kernels.measure.exactness import Sampled, predictable

    a, b, plan = problem(recipe, matmul, mnk)
    if not predictable(plan, current_device().capability):
        pytest.skip("no model of this GPU")
    plan = split_in(plan, 7)
    prediction = Sampled.of(plan, a, b, gemm(a, b, plan), 0).prediction()
    assert prediction.first_difference == ""


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
@pytest.mark.parametrize("recipe", ["per_tensor", "deepseek_v3", "mxfp8"])
def test_graphs_replayed_on_two_streams_do_not_share_counters(recipe):
    """Two graphs of one split matmul run side by side, a hundred times; each D has the bits of one alone."""
    a, b, plan = problem(RECIPES[recipe], MATMULS["fprop"], (64, 1024, 8192))
    plan = split_in(plan, 8)
    alone = gemm(a, b, plan).clone()
    graphs, outs = [], []
    for _ in range(2):
        graphs.append(torch.cuda.CUDAGraph())
        outs.append([torch.empty_like(alone) for _ in range(4)])
        with torch.cuda.graph(graphs[-1]):
            for out in outs[-1]:
                gemm(a, b, plan, out=out)
    streams = [torch.cuda.Stream() for _ in graphs]
    for _ in range(100):
        for out in chain(*outs):
            out.fill_(torch.nan)
        torch.cuda.synchronize()
        for graph, stream in zip(graphs, streams, strict=True):
            with torch.cuda.stream(stream):
                graph.replay()
        torch.cuda.synchronize()
        assert all(torch.equal(out, alone) for out in chain(*outs))


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
def test_threads_that_launch_at_once_do_not_share_counters_unless_they_share_a_stream():
    """Two threads have streams of their own, two share the default one; each D has the bits of one alone."""
    a, b, plan = problem(RECIPES["deepseek_v3"], MATMULS["fprop"], (64, 1024, 8192))
    plan = split_in(plan, 8)
    alone = gemm(a, b, plan).clone()
    torch.cuda.synchronize()

    def work(number):
        stream = torch.cuda.Stream() if number % 2 else torch.cuda.default_stream()
        with torch.cuda.stream(stream):
            outs = [gemm(a, b, plan) for _ in range(100)]
            return all(torch.equal(out, alone) for out in outs)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
