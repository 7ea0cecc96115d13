"""The warpgroup of the decoding kernel that decodes the other operand, too.

With few tokens, a pass over that operand takes longer than all the rest. Here TMA brings its codes with the
stage, and this warpgroup stores their values beside them. It fetches the scales of a few steps itself, as
many steps ahead: TMA cannot start at every row of scales. The fence after each step also waits for a fetch
under way.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier

from kernels.gemm.hopper.decoding.decode import scale_pairs
from kernels.gemm.hopper.decoding.ring import block_sides
from kernels.gemm.hopper.gluon_api import reinterpret, wait_until_others_ended
from kernels.gemm.hopper.items import count_items, share_of
from kernels.gemm.hopper.ring import advance
from kernels.gemm.passes.dequantize import FUSED
from kernels.gemm.simple.blocks import THREADS_A_WARP

PIECE = gl.constexpr(8192)
"""Codes that registers hold at a time, with their values; half as many beside two splits."""
WARPS = gl.constexpr(4)
LANES = gl.constexpr(THREADS_A_WARP)


@gluon.jit
def load_scales(start, first, length, of_values, stored_scales, mnk, ring):
    """uint8[steps · TILES, VALUES]: the scales of an item's steps from number `start` on, zeros beyond K."""
    COUNT: gl.constexpr = ring.raw_scales.shape[0] * ring.TILES
    scale_ptr, scale_stride = stored_scales
    m, _n, k = mnk
    ACROSS: gl.constexpr = min(LANES, ring.VALUES)
    LAYOUT: gl.constexpr = gl.BlockedLayout([1, 1], [LANES // ACROSS, ACROSS], [WARPS, 1], [1, 0])
    tiles = gl.arange(0, COUNT, layout=gl.SliceLayout(1, LAYOUT))
    numbers = start + tiles // ring.TILES
    # of two splits the steps come one after the other, as the loading warp has it
    steps = first + numbers // ring.OWN_SPLITS + numbers % ring.OWN_SPLITS * length
    tiles = steps * ring.TILES + tiles % ring.TILES
    rows = of_values + gl.arange(0, ring.VALUES, layout=gl.SliceLayout(0, LAYOUT))
    rows = gl.expand_dims(gl.minimum(rows, m - 1), 0)  # that row's part of D is not stored
    tiles = gl.expand_dims(tiles, 1)
    return gl.load(scale_ptr + (tiles * scale_stride + rows), mask=tiles * ring.TILE_K < k, other=0)


@gluon.jit
def widen_rows(stage, step, FIRST: gl.constexpr, ROWS: gl.constexpr, ring):
    """Decode so many rows of a stage's codes into its values, in the order along K of the kernel."""
    GROUPS: gl.constexpr = ring.BLOCK_K // FUSED
    BYTES: gl.constexpr = gl.BlockedLayout([1, FUSED], [LANES // GROUPS, GROUPS], [WARPS, 1], [1, 0])
    codes = ring.raw.index(stage).slice(FIRST, ROWS, dim=0).load(BYTES)  # [ROWS, BLOCK_K]
    codes = codes.reshape([ROWS, ring.TILES, ring.BLOCK_K // ring.TILES])
    scale = ring.raw_scales.index(step).slice(FIRST, ROWS, dim=1).permute([1, 0])  # [ROWS, TILES]
    scale = gl.expand_dims(scale.load(gl.SliceLayout(2, codes.type.layout)), 2)
    scale, codes = gl.broadcast(scale, codes)
    value = gl.inline_asm_elementwise(
        ring.WIDEN, "=r,=r,r,r,r,r,r", [codes, scale], dtype=gl.bfloat16, is_pure=True, pack=4
    )
    # as in decode: of each 4 bytes the PTX gives 0, 2, 1, 3
    value = value.reshape([ROWS, GROUPS, 4, 2, 2]).permute([0, 1, 3, 2, 4])
    ring.values.index(stage).slice(FIRST, ROWS, dim=0).store(value.reshape([ROWS, ring.BLOCK_K]))


@gluon.jit
def widen(stored_scales, ring, mnk):
    """The decoding warpgroup: it waits for `full` of a stage and arrives at `ready`.

    `full` comes after `empty` of the same stage, so nobody multiplies its old values any more.
    """
    m, n, k = mnk
    ROWS: gl.constexpr = min(PIECE // (ring.OWN_SPLITS * ring.BLOCK_K), ring.VALUES)
    STEPS: gl.constexpr = ring.raw_scales.shape[0]
    ALL: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    steps = (k + ring.BLOCK_K - 1) // ring.BLOCK_K
    length = (steps + ring.SPLITS - 1) // ring.SPLITS
    scales = reinterpret(ring.raw_scales, gl.int32, [STEPS * ring.TILES, ring.VALUES], ALL)
    stage = 0
    phase = 0
    wait_until_others_ended()
    for item in range(gl.program_id(0), count_items(m, n, ring.OWN_SPLITS, ring), gl.num_programs(0)):
        block, _split, first, stop = share_of(item, m, n, steps, ring.OWN_SPLITS, ring)
        _of_codes, of_values = block_sides(block, m, n, ring)
        ahead = load_scales(0, first, length, of_values, stored_scales, mnk, ring)
        for begin in range(0, stop - first, STEPS):
            scales.store(scale_pairs(ahead, ring.SCALE, 0))
            ahead = load_scales(begin + STEPS, first, length, of_values, stored_scales, mnk, ring)
            for step in range(gl.minimum(STEPS, stop - first - begin)):
                mbarrier.wait(ring.full.index(stage), phase)
                for piece in gl.static_range(ring.VALUES // ROWS):
                    widen_rows(stage, step, piece * ROWS, ROWS, ring)
                fence_async_shared()  # the tensor core reads by another path than threads write
                mbarrier.arrive(ring.ready.index(stage), count=1)
                stage, phase = advance(stage, phase, ring)
