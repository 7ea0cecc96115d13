"""Contract: where the specialized kernel's programs share a block of D, each with a run of K, it gives the
simple kernel's bits with the same runs; parts pass in an order of their own and come back in D's.
"""

from dataclasses import replace
from itertools import product

import pytest
import torch

from kernels.device import DeviceKind, current_device
from kernels.gemm import workspace as split
from kernels.gemm.blocks import Body
from kernels.gemm.hopper.sizes import THREE
from kernels.gemm.launch import gemm, launch
from kernels.gemm.meaning import Summation
from tests.kernels.gemm.hopper.launches import (
    Recorded,
    bits,
    operands,
    small_operands,
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


@pytest.mark.parametrize(("m", "blocks"), [(20, 2), (100, 2), (200, 2)])
def test_the_launcher_gives_each_run_a_program_and_all_of_them_one_workspace(monkeypatch, m, blocks):
    """Of the highest blocks; D has two columns of them."""
    from kernels.gemm.hopper import kernel as specialized_kernel

    names = specialized_kernel.specialized_gemm_kernel.arg_names
    stand_in = Recorded()
    monkeypatch.setattr(specialized_kernel, "specialized_gemm_kernel", stand_in)
    monkeypatch.setattr("kernels.gemm.launch.multiplied", lambda operand, *_: operand.operand_codes)
    monkeypatch.setattr(split, "WORDS", 0)
    mnk = (m, 256, 1280)
    _, plans = specialized("deepseek_v3", "fprop", Summation.RECIPE, mnk)
    plan = max((plan for plan in plans if plan.blocks.split_k == 2), key=lambda plan: plan.blocks.block_m)
    a, b = small_operands("deepseek_v3", "fprop", mnk)
    out = torch.zeros(m, 256, dtype=torch.bfloat16, device=a.codes.device)
    launch(a, b, plan, out, False, DeviceKind.GPU)
    given = dict(zip(names, stand_in.arguments, strict=False))
    assert stand_in.grid == (2 * blocks,)
    assert stand_in.constants["RUNS"] == 2
    assert given["parts_ptr"].shape == (2, blocks, plan.blocks.block_m, plan.blocks.block_n)
    assert given["parts_ptr"].dtype == torch.float32
    assert given["arrivals_ptr"].numel() == blocks * THREE
    assert not given["arrivals_ptr"].any()
    more = replace(plan, blocks=replace(plan.blocks, split_k=8))
    launch(a, b, more, out, False, DeviceKind.GPU)
    assert (stand_in.grid, stand_in.constants["RUNS"]) == ((5 * blocks,), 5), "of 10 steps: none is empty"
    one = replace(plan, blocks=replace(plan.blocks, split_k=1))
    launch(a, b, one, out, False, DeviceKind.GPU)
    given = dict(zip(names, stand_in.arguments, strict=False))
    assert stand_in.grid == (blocks,)
    assert (given["parts_ptr"], given["arrivals_ptr"], stand_in.constants["RUNS"]) == (None, None, 1)


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


@pytest.mark.parametrize(
    ("recipe", "matmul", "how", "m"),
    [
        ("deepseek_v3", "fprop", Summation.RECIPE, 260),
        ("rowwise", "fprop", Summation.FAST, 128),
    ],
    ids=["lent", "in the tensor core"],
)
def test_a_plan_of_runs_that_the_kernel_would_wait_for_for_ever_is_refused(recipe, matmul, how, m):
    _, plans = specialized(recipe, matmul, how, (m, 256, 1280))
    plan = next(plan for plan in plans if plan.body in (Body.PROMOTED_LENT, Body.CHAINED))
    split = replace(plan.blocks, split_k=2, persistent=False)
    with pytest.raises(ValueError, match=r"registers hold its whole sum, got .*K split in 2"):
        replace(plan, blocks=split)


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
