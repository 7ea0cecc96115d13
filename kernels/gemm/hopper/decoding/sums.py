"""The loop along K of the decoding kernel: a warpgroup decodes codes and multiplies them, step by step."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, warpgroup_mma, warpgroup_mma_wait

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.decoding.decode import decode
from kernels.gemm.hopper.decoding.ring import ahead
from kernels.gemm.hopper.ring import advance

FEW_VALUES = gl.constexpr(sizes.MOST_ROWS_SPLIT)
"""Rows of values up to which decoding takes longer than multiplying, so that nobody waits for a turn."""


@gluon.jit
def multiply(left, acc, keep, stage, ring):
    """Queue the product of decoded codes and a stage's values. It joins the sum if `keep`, else begins it."""
    right = ring.values.index(stage).permute([1, 0])  # [BLOCK_K, VALUES]
    return warpgroup_mma(left, right, acc, use_acc=keep, is_async=True)


@gluon.jit
def sum_alone(acc, mine, at, WG: gl.constexpr, ring):
    """(sum of `mine` steps, (stage, phase, turn phase) after them): few values, so the tensor core is idle
    most of the time. The other warpgroups decode while this one waits for its product. With two splits of K,
    the steps between are the other pair's.
    """
    stage, phase, turn_phase = at
    for step in range(mine):
        mbarrier.wait(ring.full.index(stage), phase)
        left = decode(stage, ring, WG)
        if ring.WIDEN != "":
            mbarrier.wait(ring.ready.index(stage), phase)
        acc = multiply(left, acc, step > 0, stage, ring)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(ring.empty.index(stage), count=1)
        stage, phase = ahead(stage, phase, ring.OWN_SPLITS, ring)
    return acc, (stage, phase, turn_phase)


@gluon.jit
def sum_in_turns(acc, mine, at, WG: gl.constexpr, ring):
    """(sum of `mine` steps, (stage, phase, turn phase) after them): many values. The next codes are decoded
    while a product runs, and the warpgroups take turns in the tensor core.
    """
    stage, phase, turn_phase = at
    mbarrier.wait(ring.full.index(stage), phase)
    left = decode(stage, ring, WG)
    for step in range(mine):
        if ring.WIDEN != "":
            mbarrier.wait(ring.ready.index(stage), phase)
        mbarrier.wait(ring.turn.index(WG), turn_phase)  # the other's wgmma is queued
        turn_phase = turn_phase ^ 1
        acc = multiply(left, acc, step > 0, stage, ring)
        mbarrier.arrive(ring.turn.index(1 - WG), count=1)
        used = stage  # the next codes are decoded while this wgmma runs
        stage, phase = advance(stage, phase, ring)
        if step + 1 < mine:
            mbarrier.wait(ring.full.index(stage), phase)
            left = decode(stage, ring, WG)
        # None may run on: the tensor core reads this `left` from registers, which the next step takes.
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(ring.empty.index(used), count=1)
    return acc, (stage, phase, turn_phase)
