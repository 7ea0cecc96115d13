"""Contract: a warp-specialized GEMM's programs go through all of D, each block once, in step, and neighbors
load the same block of the operand of which they load more.
"""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fp8core.recipes import RECIPES
from kernels.device import HOPPER
from kernels.gemm.blocks import Body
from kernels.gemm.hopper import items
from kernels.gemm.hopper.items import block_of
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_gemm

SIDES = [(128, 256), (256, 128), (128, 128), (64, 128), (128, 16)]
GRIDS = [(16, 32), (32, 16), (16, 112), (5, 7), (1, 9), (9, 1), (1, 1), (33, 3)]


def order(sides, grid, group, beyond=8, within=False):
    """(first row, first column) of a program's block for each program, as the kernel computes them. beyond:
    rows and columns of the last blocks that D does not have.
    """
    facts = SimpleNamespace(BLOCK_M=sides[0], BLOCK_N=sides[1], GROUP=group, WITHIN_M=within, WITHIN_N=within)
    m, n = (sides[0] * grid[0] - beyond, sides[1] * grid[1] - beyond)
    return [block_of.fn(program, m, n, facts) for program in range(grid[0] * grid[1])]


@pytest.mark.parametrize("group", [1, 2, 8, 16, 32])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_every_block_of_d_has_one_program(sides, grid, group):
    wanted = [(row * sides[0], column * sides[1]) for row in range(grid[0]) for column in range(grid[1])]
    assert sorted(order(sides, grid, group)) == wanted


@pytest.mark.parametrize("group", [8, 16, 32])
@pytest.mark.parametrize("grid", [(32, 64), (64, 32)], ids=str)
@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_neighbors_share_the_larger_of_the_blocks_that_they_load(sides, grid, group):
    of_a, of_b = (list(places) for places in zip(*order(sides, grid, group), strict=True))
    shared = of_a if sides[0] > sides[1] else of_b
    other = of_b if sides[0] > sides[1] else of_a
    for first in range(0, len(shared), group):
        assert len(set(shared[first : first + group])) == 1
        assert len(set(other[first : first + group])) == group


def persistent(m, n, sms=HOPPER.sms, **sides):
    spec = RECIPES["rowwise"].fprop
    plan = plan_gemm(spec, (m, n, 4096), HOPPER, Summation.RECIPE)
    return replace(plan, blocks=replace(plan.blocks, persistent=True, split_k=1, **sides), sms=sms)


@pytest.mark.parametrize("sms", [1, 7, 108, 132, 148])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_programs_are_as_few_as_are_done_as_soon(grid, sms):
    sides = {"block_m": 512, "block_n": 128}
    m, n = grid[0] * 512, grid[1] * 128
    programs, blocks = persistent(m, n, sms, **sides).programs(m, n), grid[0] * grid[1]
    rounds = -(-blocks // sms)
    assert programs <= min(sms, blocks)
    assert -(-blocks // programs) == rounds
    assert programs == 1 or -(-blocks // (programs - 1)) > rounds


def ring_of(sides, group, whole, runs):
    return SimpleNamespace(
        BLOCK_M=sides[0], BLOCK_N=sides[1], GROUP=group, WHOLE=whole, RUNS=runs, SHARES_LAST=True
    )


@pytest.mark.parametrize("runs", [2, 3, 4])
@pytest.mark.parametrize(("grid", "sms"), [((13, 11), 132), ((7, 4), 9), ((2, 2), 9)], ids=str)
def test_programs_share_no_block_but_those_of_the_last_wave(grid, sms, runs, monkeypatch):
    """Every step of every block once; as many whole blocks for each program, then runs of the others."""
    monkeypatch.setattr(items, "gl", SimpleNamespace(maximum=max, where=lambda a, b, c: b if a else c))
    for name in ("count_blocks", "count_shared"):
        monkeypatch.setattr(items, name, getattr(items, name).fn)
    blocks = replace(persistent(64, 64).blocks, body=Body.DECODING, decoded="b", block_m=256, split_k=runs)
    blocks = replace(blocks, block_n=128)
    m, n, steps = grid[0] * 256, grid[1] * 128, 21
    whole, programs = blocks.whole(m, n, sms), blocks.programs(m, n, sms)
    facts, seen = ring_of((256, 128), 8, whole, runs), Counter()
    assert whole % programs == 0
    assert grid[0] * grid[1] - whole < sms or not whole
    for item in range(items.count_items.fn(m, n, 1, facts)):
        block, run, first, stop = items.share_of.fn(item, m, n, steps, 1, facts)
        assert (run, first, stop) == (0, 0, steps) or block >= whole
        assert run == first // -(-steps // runs)
        seen.update((block, step) for step in range(first, stop))
    assert seen == Counter({(b, s): 1 for b in range(grid[0] * grid[1]) for s in range(steps)})
