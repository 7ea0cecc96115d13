"""Quantizing in shared memory: rows of A in a stage of the ring, as they came, become what wgmma multiplies.

kernels.gemm.fused.quantizing_kernel has the table of roles. A row belongs to one warp, which reads and writes
its 128 or 256 bytes; its amax is found among 8 threads.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier

from kernels.bits import float_bits
from kernels.gemm.fused.encode import multiplier
from kernels.gemm.fused.quantizing import LINE as NUMBERS
from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.items import count_blocks, count_steps, share_of
from kernels.gemm.hopper.ring import advance
from kernels.quantize.amax import larger
from kernels.quantize.scales import stored_scale

SLAB = gl.constexpr(sizes.SLAB)
LINE = gl.constexpr(NUMBERS)


@gluon.jit
def amax_of(x, TILES: gl.constexpr):
    """float32[rows, TILES]: the largest of each stretch of a row, of numbers that are not negative."""
    return gl.reduce(x.reshape([x.shape[0], TILES, x.shape[1] // TILES]), 2, larger)


@gluon.jit
def quantize_lines(ring, stage, chunk):
    """Turn AT_ONCE rows of A in a stage into codes, in the memory of their left halves; keep their scales.

    chunk: which of the rows. Nobody else has these rows.
    """
    LINES: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    RULE: gl.constexpr = ring.QUANTIZES.rule
    AT_ONCE: gl.constexpr = ring.QUANTIZES.at_once
    EACH: gl.constexpr = ring.BLOCK_M // AT_ONCE
    CODES: gl.constexpr = gl.NVMMASharedLayout(2 * LINE, 8, rank=2)
    rows = reinterpret(ring.a, gl.bfloat16, [2 * ring.STAGES * EACH, AT_ONCE, LINE], ring.a.layout)
    codes = reinterpret(ring.a, ring.b.dtype, [2 * ring.STAGES * EACH, AT_ONCE, 2 * LINE], CODES)
    left = rows.index(2 * stage * EACH + chunk).load(LINES).to(gl.float32)  # [AT_ONCE, LINE]
    right = rows.index((2 * stage + 1) * EACH + chunk).load(LINES).to(gl.float32)
    amax = float_bits(amax_of(larger(gl.abs(left), gl.abs(right)), 1))  # [AT_ONCE, 1]
    scale = stored_scale(amax, amax, RULE)
    by = gl.convert_layout(multiplier(scale, RULE), LINES)
    left = (left * by).to(ring.b.dtype)
    right = (right * by).to(ring.b.dtype)
    whole = gl.join(left, right).permute([0, 2, 1]).reshape([AT_ONCE, 2 * LINE])
    codes.index(2 * stage * EACH + chunk).store(whole)
    scales = reinterpret(ring.a_scale, gl.float32, [ring.STAGES * EACH, AT_ONCE], ring.a_scale.layout)
    scales.index(stage * EACH + chunk).store(scale.reshape([AT_ONCE]))


@gluon.jit
def round_lines(ring, stage, chunk):
    """Round AT_ONCE rows of A in a stage to codes times scales, which are bf16 numbers, where they lie."""
    LINES: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    RULE: gl.constexpr = ring.QUANTIZES.rule
    AT_ONCE: gl.constexpr = ring.QUANTIZES.at_once
    TILES: gl.constexpr = LINE // ring.QUANTIZES.tile
    EACH: gl.constexpr = ring.BLOCK_M // AT_ONCE
    rows = reinterpret(ring.a, gl.bfloat16, [ring.STAGES * EACH, AT_ONCE, LINE], ring.a.layout)
    mine = rows.index(stage * EACH + chunk)
    x = mine.load(LINES).to(gl.float32)  # [AT_ONCE, LINE]
    amax = float_bits(amax_of(gl.abs(x), TILES))
    scale = stored_scale(amax, amax, RULE)
    parts = x.reshape([AT_ONCE, TILES, ring.QUANTIZES.tile])
    codes = (parts * gl.expand_dims(multiplier(scale, RULE), 2)).to(gl.float8e4nv)
    values = (codes.to(gl.float32) * gl.expand_dims(scale, 2)).reshape([AT_ONCE, LINE])
    pairs = gl.inline_asm_elementwise(
        "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", [values], dtype=gl.bfloat16, is_pure=True, pack=2
    )
    mine.store(gl.convert_layout(pairs, LINES, assert_trivial=True))


@gluon.jit
def quantize(WHICH: gl.constexpr, ring, ready, mnk):
    """A quantizing warpgroup, number WHICH: every QUANTIZERS-th stage that is full becomes ready."""
    m, n, k = mnk
    steps = count_steps(k, ring)
    CHUNKS: gl.constexpr = ring.BLOCK_M // ring.QUANTIZES.at_once
    stage = 0
    phase = 0
    turn = 0
    for item in range(gl.program_id(0), count_blocks(m, n, ring) * ring.RUNS, gl.num_programs(0)):
        _block, _run, first, stop = share_of(item, m, n, steps, 1, ring)
        for _ in range(first, stop):
            if turn == WHICH:
                mbarrier.wait(ring.full.index(stage), phase)
                for chunk in gl.static_range(CHUNKS):
                    if ring.IN_LOOP:
                        quantize_lines(ring, stage, chunk)
                    else:
                        round_lines(ring, stage, chunk)
                fence_async_shared()  # wgmma reads through another path than the threads have written
                mbarrier.arrive(ready.index(stage), count=1)
            turn = gl.where(turn == ring.QUANTIZES.warpgroups - 1, 0, turn + 1)
            stage, phase = advance(stage, phase, ring)
