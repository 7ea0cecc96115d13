"""The warpgroup of the decoding kernel that decodes the other operand, too, where it has few rows.

A pass that writes its values takes longer than all else that few tokens ask for. Here every program decodes
the values that it multiplies: codes and scales come from memory some steps ahead, values go to the ring.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier

from kernels.gemm.hopper.decoding.decode import scale_numbers
from kernels.gemm.hopper.decoding.ring import block_sides
from kernels.gemm.hopper.items import count_items, share_of
from kernels.gemm.hopper.ring import advance
from kernels.gemm.simple.blocks import THREADS_A_WARP
from kernels.operand_passes.dequantize_kernel import FUSED

FEW = gl.constexpr(2048)
"""Codes of a step up to which registers hold those of four steps, and of the next four; else of two."""
WARPS = gl.constexpr(4)
LANES = gl.constexpr(THREADS_A_WARP)


@gluon.jit
def load_step(place, count, first, of_values, given, mnk, LAYOUT: gl.constexpr, ring):
    """(codes uint8[VALUES, groups, 16], scales uint8[VALUES, groups]) of a program's step, zeros beyond K.

    A place after the last step gives the last one's, which nobody uses.
    """
    codes_ptr, scale_ptr, stride, scale_stride = given
    m, _n, k = mnk
    GROUPS: gl.constexpr = ring.BLOCK_K // FUSED
    OF_SCALES: gl.constexpr = gl.SliceLayout(2, LAYOUT)
    step = first + gl.minimum(place, count - 1)
    rows = of_values + gl.arange(0, ring.VALUES, layout=gl.SliceLayout(1, OF_SCALES))
    rows = gl.minimum(rows, m - 1)  # what another row gives of D is not stored
    groups = step * GROUPS + gl.arange(0, GROUPS, layout=gl.SliceLayout(0, OF_SCALES))
    inside = gl.expand_dims(groups * FUSED < k, 0)
    tiles = gl.expand_dims(groups * FUSED // ring.TILE_K, 0)
    rows = gl.expand_dims(rows, 1)
    scales = gl.load(scale_ptr + tiles * scale_stride + rows, mask=inside, other=0)
    within = gl.arange(0, FUSED, layout=gl.SliceLayout(0, gl.SliceLayout(0, LAYOUT)))
    within = gl.expand_dims(gl.expand_dims(within, 0), 0)
    corner = gl.expand_dims(rows * stride + gl.expand_dims(groups, 0) * FUSED, 2)
    codes = gl.load(codes_ptr + corner + within, mask=gl.expand_dims(inside, 2), other=0)
    return codes, scales


@gluon.jit
def put_values(codes, scales, stage, ring):
    """Decode a step's codes into a stage, in the order along K of the kernel."""
    scale = gl.expand_dims(scale_numbers(scales, ring.SCALE), 2)
    scale, codes = gl.broadcast(scale, codes)
    value = gl.inline_asm_elementwise(
        ring.WIDEN, "=r,=r,r,r,r", [codes, scale], dtype=gl.bfloat16, is_pure=True, pack=4
    )
    # as in decode: of each 4 bytes the PTX gives 0, 2, 1, 3
    value = value.reshape([ring.VALUES, ring.BLOCK_K // FUSED, 4, 2, 2]).permute([0, 1, 3, 2, 4])
    ring.values.index(stage).store(value.reshape([ring.VALUES, ring.BLOCK_K]))


@gluon.jit
def widen(given, ring, mnk):
    """The decoding warpgroup. It waits for `empty` as the loading warp does, and arrives at `ready`."""
    m, n, k = mnk
    GROUPS: gl.constexpr = ring.BLOCK_K // FUSED
    LAYOUT: gl.constexpr = gl.BlockedLayout(
        [1, 1, FUSED], [LANES // GROUPS, GROUPS, 1], [WARPS, 1, 1], [2, 1, 0]
    )
    AHEAD: gl.constexpr = 4 if ring.VALUES * ring.BLOCK_K <= FEW else 2
    steps = (k + ring.BLOCK_K - 1) // ring.BLOCK_K
    stage = 0
    phase = 1  # a new barrier counts as one whose phase 1 is over: the ring is empty
    for item in range(gl.program_id(0), count_items(m, n, ring.EACH, ring), gl.num_programs(0)):
        block, _run, first, stop = share_of(item, m, n, steps, ring.EACH, ring)
        _of_codes, of_values = block_sides(block, m, n, ring)
        count = stop - first
        c0, s0 = load_step(0, count, first, of_values, given, mnk, LAYOUT, ring)
        c1, s1 = load_step(1, count, first, of_values, given, mnk, LAYOUT, ring)
        if AHEAD > 2:
            c2, s2 = load_step(2, count, first, of_values, given, mnk, LAYOUT, ring)
            c3, s3 = load_step(3, count, first, of_values, given, mnk, LAYOUT, ring)
        for place in range(0, count, AHEAD):
            n0, t0 = load_step(place + AHEAD, count, first, of_values, given, mnk, LAYOUT, ring)
            n1, t1 = load_step(place + AHEAD + 1, count, first, of_values, given, mnk, LAYOUT, ring)
            stage, phase = widen_step(place, count, c0, s0, stage, phase, ring)
            stage, phase = widen_step(place + 1, count, c1, s1, stage, phase, ring)
            c0, s0, c1, s1 = n0, t0, n1, t1
            if AHEAD > 2:
                n2, t2 = load_step(place + AHEAD + 2, count, first, of_values, given, mnk, LAYOUT, ring)
                n3, t3 = load_step(place + AHEAD + 3, count, first, of_values, given, mnk, LAYOUT, ring)
                stage, phase = widen_step(place + 2, count, c2, s2, stage, phase, ring)
                stage, phase = widen_step(place + 3, count, c3, s3, stage, phase, ring)
                c2, s2, c3, s3 = n2, t2, n3, t3


@gluon.jit
def widen_step(place, count, codes, scales, stage, phase, ring):
    """(stage, phase) after a step, if the program has that step."""
    if place < count:
        mbarrier.wait(ring.empty.index(stage), phase)  # values of this stage may still be multiplied
        put_values(codes, scales, stage, ring)
        fence_async_shared()  # the tensor core reads by another path than threads write
        mbarrier.arrive(ring.ready.index(stage), count=1)
        stage, phase = advance(stage, phase, ring)
    return stage, phase
