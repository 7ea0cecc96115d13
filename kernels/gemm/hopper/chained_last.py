"""The last wave of the chained body: programs share the blocks that are left, each with a run of K.

They are summed when a program's whole blocks are done, so no block leaves behind another one's products. A
sum passes in quarters, which are parts of D: registers hold five of them.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, warpgroup_mma_wait

from kernels.gemm.hopper.chained_parts import PARTS, SLAB, multiply, packed, send, unpacked
from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.items import block_of, count_items, count_steps, share_of
from kernels.gemm.hopper.ring import CONSUMERS, advance, halves, previous, release, release_read
from kernels.gemm.hopper.shared_sums import arrive, collected, put


@gluon.jit
def scaled_part(part, PART: gl.constexpr, ring, WG: gl.constexpr, scale_ptrs):
    """A part of this warpgroup's finished sum, times its scales."""
    if ring.AT_END:
        a_scale, b_scale = gl.load(scale_ptrs[0]), gl.load(scale_ptrs[1])
        if ring.A_SCALES != 0:
            scales = reinterpret(ring.a_scale, gl.float32, [CONSUMERS, SLAB], ring.a_scale.layout)
            a_scale = gl.expand_dims(scales.index(WG).load(gl.SliceLayout(1, part.type.layout)), 1)
        if ring.B_SCALES != 0:
            scales = reinterpret(ring.b_scale, gl.float32, [PARTS, part.shape[1]], ring.b_scale.layout)
            b_scale = gl.expand_dims(scales.index(PART).load(gl.SliceLayout(0, part.type.layout)), 0)
        part = part * a_scale * b_scale
    return part


@gluon.jit
def part_of_sum(acc, PART: gl.constexpr):
    """[SLAB, columns of a part]: number PART of a sum."""
    return halves(halves(acc)[PART // 2])[PART % 2]


@gluon.jit
def share_last(stage, phase, WG: gl.constexpr, ring, out_desc, scale_ptrs, split_ptrs, mnk):
    """Sum this program's runs of K of the blocks that are left. The last to come to a block sends it to D."""
    m, n, k = mnk
    parts_ptr, arrivals_ptr = split_ptrs
    steps = count_steps(k, ring)
    for item in range(ring.WHOLE + gl.program_id(0), count_items(m, n, 1, ring), gl.num_programs(0)):
        block, run, first, stop = share_of(item, m, n, steps, 1, ring)
        row, column = block_of(block, m, n, ring)
        row += WG * SLAB
        acc = gl.zeros([SLAB, ring.BLOCK_N], gl.float32, ring.LAYOUT)
        gl.assume(first < stop)  # the launcher makes no more runs than there are steps
        for step in range(first, stop):
            mbarrier.wait(ring.full.index(stage), phase)
            acc = multiply(acc, step > first, ring, WG, stage)
            acc = warpgroup_mma_wait(1, deps=[acc])
            mbarrier.arrive(ring.empty.index(previous(stage, ring)), count=1, pred=step > first)
            stage, phase = advance(stage, phase, ring)
        acc = warpgroup_mma_wait(0, deps=[acc])
        release(ring, previous(stage, ring))
        for part in gl.static_range(PARTS):
            mine = part_of_sum(acc, part)
            put(PARTS * WG + part, mine, parts_ptr, run, block, m - row, m, n, ring)
        if arrive(WG, arrivals_ptr, block, ring):
            for part in gl.static_range(PARTS):
                like = part_of_sum(acc, part)
                total = collected(PARTS * WG + part, like, parts_ptr, block, m - row, m, n, ring)
                total = unpacked(packed(scaled_part(total, part, ring, WG, scale_ptrs)))
                send(total, part, ring, WG, out_desc, row, column)
        if ring.AT_END and ring.SCALE_BYTES != 0:
            release_read(ring.scales_empty.index(0))
