"""Contract: where the specialized kernel's programs share a block of D, each with a run of K, it gives the
simple kernel's bits with the same runs; parts pass in an order of their own and come back in D's.
"""

from itertools import product

import pytest
import torch

from kernels.device import current_device
from kernels.gemm.launch import gemm
from kernels.gemm.meaning import Summation
from tests.kernels.gemm.hopper.launches import (
    bits,
    operands,
    specialized,
    with_runs_of,
)
from tests.sweeps import some_values

PROMOTED = [
    pytest.param("per_tensor", Summation.PROMOTED, id="per_tensor"),
    pytest.param("rowwise", Summation.PROMOTED, id="rowwise"),
    pytest.param("deepseek_v3", Summation.RECIPE, id="deepseek_v3"),
]
CHAINED = [
    pytest.param("per_tensor", Summation.FAST, id="per_tensor-chained"),
    pytest.param("rowwise", Summation.FAST, id="rowwise-chained"),
]
ODD = [(20, 264, 4100), (100, 2056, 1664), (200, 1032, 4100), (256, 264, 8192), (33, 1032, 14336)]
TAKEN = [
    pytest.param(*case.values, mnk, id=f"{case.id}-{mnk}")
    for case, mnk in product(PROMOTED + CHAINED, ODD)
    if case.id != "deepseek_v3" or mnk[0] % 4 == 0  # TMA takes rows of scales that start at 16 bytes
]


@pytest.mark.parametrize("columns", [64, 128])
def test_parts_come_back_in_the_order_of_d_and_a_thread_has_four_neighbors(monkeypatch, columns):
    """wgmma's fp32 sum: thread 4r + q of a warp has columns 8g + 2q and 8g + 2q + 1 of rows r and r + 8 of
    its 16 (PTX ISA, "Matrix fragments for wgmma.mma_async.m64nNk32").
    """
    from kernels.gemm.hopper import shared_sums as split_kernel

    monkeypatch.setattr(split_kernel.gl, "convert_layout", lambda value, layout, assert_trivial: value)
    d = torch.arange(64 * columns).reshape(64, columns)
    parts = split_kernel.in_order_of_threads.fn(d)
    assert torch.equal(split_kernel.in_order_of_d.fn(parts, None), d)
    four = parts.reshape(columns // 8, 4, 8, 4, 4)
    for group, warp, r, q in [(0, 0, 0, 0), (3, 1, 5, 2), (columns // 8 - 1, 3, 7, 3)]:
        row, column = 16 * warp + r, 8 * group + 2 * q
        expected = [d[row, column], d[row, column + 1], d[row + 8, column], d[row + 8, column + 1]]
        assert four[group, warp, r, q].tolist() == [int(x) for x in expected]


@pytest.mark.gpu
@pytest.mark.parametrize(("recipe", "how", "mnk"), TAKEN)
def test_it_gives_the_simple_kernel_s_bits_a_hundred_times(recipe, how, mnk, request):
    device = current_device()
    simple, plans = specialized(recipe, "fprop", how, mnk, device)
    a, b = operands(recipe, "fprop", mnk, device)
    shared = [plan for plan in plans if plan.blocks.split_k > 1]
    assert shared
    for plan in some_values(shared, request):
        truth = gemm(a, b, with_runs_of(simple, plan))
        out = torch.empty_like(truth)
        differing = sum(
            not torch.equal(bits(gemm(a, b, plan, out=out.fill_(torch.nan))), bits(truth)) for _ in range(100)
        )
        assert differing == 0, plan.title
