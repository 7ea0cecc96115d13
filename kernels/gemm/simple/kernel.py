"""GEMM bodies: D[M, N] = A[M, K] · B[N, K]ᵀ, both operands contiguous along K, scales applied inside.

Operands come as tensor descriptors, which read zeros beyond M, N and K; where a GPU has no TMA, as pointers.
Scales lie as float32[k_tiles, mn_tiles]; a TILE of 0 is the whole dim. Where a tile spans a block, one scale
serves all of the block.
"""

import triton
import triton.language as tl

from fp8core.formats import FORMATS
from kernels.bits import FP32_INF, FP32_NAN, FP32_SIZE_MASK, float_bits
from kernels.operand_passes.dequantize_kernel import BF16_CUT, dequantize_block, load_block_scales

_BF16 = FORMATS["bf16"]
_FP32 = FORMATS["fp32"]
BF16_HALF = tl.constexpr((1 << (_FP32.mantissa_bits - _BF16.mantissa_bits - 1)) - 1)


@triton.jit
def block_of(program, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """(block row, block column) of a program: GROUP_M block rows go together, so that L2 holds their B."""
    rows, columns = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    in_group = GROUP_M * columns
    first = program // in_group * GROUP_M
    height = min(rows - first, GROUP_M)
    return first + program % in_group % height, program % in_group // height


@triton.jit
def load_codes(
    codes, start, start_k, mn, stride, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr, TMA: tl.constexpr
):
    """[BLOCK_MN, BLOCK_K] of an operand [mn, stride]; without TMA the last row stands for those beyond it."""
    if TMA:
        block = codes.load([start, start_k])
    else:
        rows = tl.minimum(start + tl.arange(0, BLOCK_MN), mn - 1)
        columns = start_k + tl.arange(0, BLOCK_K)
        places = codes + rows[:, None].to(tl.int64) * stride + columns[None, :]
        block = tl.load(places, mask=(columns < stride)[None, :], other=0.0)
    return block


@triton.jit
def load_scale(scale_ptr, tile_k, start, size, stride_k, TILE_MN: tl.constexpr, BLOCK_MN: tl.constexpr):
    """float32[BLOCK_MN]: the scales of rows start… at a place along K; one load where one tile spans them."""
    if TILE_MN == 0:
        scale = tl.full([BLOCK_MN], tl.load(scale_ptr + tile_k * stride_k), tl.float32)
    elif TILE_MN % BLOCK_MN == 0:
        scale = tl.full([BLOCK_MN], tl.load(scale_ptr + tile_k * stride_k + start // TILE_MN), tl.float32)
    else:
        rows = start + tl.arange(0, BLOCK_MN)
        scale = tl.load(scale_ptr + tile_k * stride_k + rows // TILE_MN, mask=rows < size, other=0.0)
    return scale


@triton.jit
def decode(
    codes,
    scale_ptr,
    start,
    start_k,
    mn,
    k,
    stride_k,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    SHIFT: tl.constexpr,
    FACTOR: tl.constexpr,
    CAST: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """bf16[BLOCK_MN, BLOCK_K] (fp32 in the interpreter): values of codes uint8 with power-of-two scales."""
    scale = load_block_scales(scale_ptr, start, start_k, mn, k, stride_k, TILE_MN, TILE_K, BLOCK_MN, BLOCK_K)
    return dequantize_block(codes, scale, TILE_K, SHIFT, FACTOR, BLOCK_MN, BLOCK_K, CAST)


@triton.jit
def to_bf16_by_bits(x):
    """fp32 -> bf16, nearest even, in integer arithmetic: Triton's interpreter truncates in its cast."""
    bits = float_bits(x)
    rounded = (bits + BF16_HALF + ((bits >> BF16_CUT) & 1)) >> BF16_CUT
    rounded = tl.where((bits & FP32_SIZE_MASK) > FP32_INF, FP32_NAN >> BF16_CUT, rounded)
    return rounded.to(tl.int16).to(tl.bfloat16, bitcast=True)


@triton.jit
def block_places(block_m, block_n, m, n, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """(corner int64, places from there int32[BLOCK_M, BLOCK_N], which lie inside [m, n]) of a block."""
    rows, columns = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    start_m, start_n = block_m * BLOCK_M, block_n * BLOCK_N
    inside = (rows < m - start_m)[:, None] & (columns < n - start_n)[None, :]
    corner = start_m.to(tl.int64) * stride_m + start_n.to(tl.int64) * stride_n
    return corner, rows[:, None] * stride_m + columns[None, :] * stride_n, inside


@triton.jit
def store_block(
    out_ptr,
    value,
    block_m,
    block_n,
    m,
    n,
    stride_m,
    stride_n,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    ACCUMULATE: tl.constexpr,
    CAST: tl.constexpr,
):
    corner, places, inside = block_places(block_m, block_n, m, n, stride_m, stride_n, BLOCK_M, BLOCK_N)
    places = out_ptr + corner + places
    if ACCUMULATE:
        value += tl.load(places, mask=inside, other=0.0)
    if not CAST and out_ptr.dtype.element_ty == tl.bfloat16:
        value = to_bf16_by_bits(value)
    tl.store(places, value.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def arrive(arrivals_ptr, block, RUNS: tl.constexpr):
    """Whether this program is the last of a block's to arrive; then all parts can be read, and the count is
    zero again for the next launch.
    """
    tl.debug_barrier()  # every thread's part of the block is written before one of them says so
    last = tl.atomic_add(arrivals_ptr + block, 1, sem="acq_rel", scope="gpu") == RUNS - 1
    tl.debug_barrier()
    if last:
        tl.store(arrivals_ptr + block, 0)
    return last


@triton.jit
def sum_of_parts(
    parts_ptr,
    block_m,
    block_n,
    m,
    n,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    RUNS: tl.constexpr,
):
    """float32[BLOCK_M, BLOCK_N]: the parts of a block, float32[RUNS, m, n], added first to last: the same
    bits whoever comes last. Read past the L1, which may hold what was there before.
    """
    corner, places, inside = block_places(block_m, block_n, m, n, n, 1, BLOCK_M, BLOCK_N)
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for _ in tl.range(0, RUNS):
        total += tl.load(parts_ptr + corner + places, mask=inside, other=0.0, cache_modifier=".cg")
        corner += tl.cast(m, tl.int64) * n
    return total


@triton.jit
def gemm_kernel(
    a_codes,
    b_codes,
    a_scale_ptr,
    b_scale_ptr,
    out_ptr,
    parts_ptr,
    arrivals_ptr,
    m,
    n,
    k,
    a_stride,
    b_stride,
    run_steps,
    a_mn_tiles,
    b_mn_tiles,
    out_stride_m,
    out_stride_n,
    A_TILE_MN: tl.constexpr,
    A_TILE_K: tl.constexpr,
    B_TILE_MN: tl.constexpr,
    B_TILE_K: tl.constexpr,
    A_SHIFT: tl.constexpr,
    A_FACTOR: tl.constexpr,
    B_SHIFT: tl.constexpr,
    B_FACTOR: tl.constexpr,
    SCALE_IN_LOOP: tl.constexpr,
    SCALE_AT_END: tl.constexpr,
    TRANSPOSED: tl.constexpr,
    PROMOTED: tl.constexpr,
    ACCUMULATE: tl.constexpr,
    CAST: tl.constexpr,
    KNOWN_STEPS: tl.constexpr,
    PERSISTENT: tl.constexpr,
    RUNS: tl.constexpr,
    TMA: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """D in blocks: one a program; or, PERSISTENT, many, the next one's loads under way early; or one that
    RUNS programs share, each with run_steps steps of K, of which the last to finish adds the parts.

    The tensor core sums codes; scales come each step of K, at the end, or never. An operand with a SHIFT is
    of codes uint8, decoded to bf16 before they are multiplied. TRANSPOSED: A is what the caller calls B, and
    its scale is then the second to come. The interpreter is told the steps of every run; where the last is
    shorter, the codes beyond K are zeros.
    """
    steps, first = tl.cdiv(k, BLOCK_K), 0
    if RUNS > 1:
        first = tl.program_id(1) * run_steps
        steps = min(steps - first, run_steps)
    blocks = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    turns = tl.cdiv(blocks - tl.program_id(0), tl.num_programs(0)) if PERSISTENT else 1
    for turn in tl.range(0, turns, flatten=PERSISTENT):
        block = tl.program_id(0) + turn * tl.num_programs(0)
        block_m, block_n = block_of(block, m, n, BLOCK_M, BLOCK_N, GROUP_M)
        start_m, start_n = block_m * BLOCK_M, block_n * BLOCK_N
        acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for step in tl.range(first, first + (KNOWN_STEPS if KNOWN_STEPS else steps)):
            a = load_codes(a_codes, start_m, step * BLOCK_K, m, a_stride, BLOCK_M, BLOCK_K, TMA)
            b = load_codes(b_codes, start_n, step * BLOCK_K, n, b_stride, BLOCK_N, BLOCK_K, TMA)
            if A_SHIFT:
                a = decode(
                    a,
                    a_scale_ptr,
                    start_m,
                    step * BLOCK_K,
                    m,
                    k,
                    a_mn_tiles,
                    A_TILE_MN,
                    A_TILE_K,
                    A_SHIFT,
                    A_FACTOR,
                    CAST,
                    BLOCK_M,
                    BLOCK_K,
                )
            if B_SHIFT:
                b = decode(
                    b,
                    b_scale_ptr,
                    start_n,
                    step * BLOCK_K,
                    n,
                    k,
                    b_mn_tiles,
                    B_TILE_MN,
                    B_TILE_K,
                    B_SHIFT,
                    B_FACTOR,
                    CAST,
                    BLOCK_N,
                    BLOCK_K,
                )
            if SCALE_IN_LOOP:
                place = min(step * BLOCK_K, k - 1) if KNOWN_STEPS else step * BLOCK_K
                a_tile = place // A_TILE_K if A_TILE_K else place * 0
                b_tile = place // B_TILE_K if B_TILE_K else place * 0
                a_scale = load_scale(a_scale_ptr, a_tile, start_m, m, a_mn_tiles, A_TILE_MN, BLOCK_M)
                b_scale = load_scale(b_scale_ptr, b_tile, start_n, n, b_mn_tiles, B_TILE_MN, BLOCK_N)
                partial = tl.dot(a, b.T)
                acc = tl.fma(partial, a_scale[:, None] * b_scale[None, :], acc)
            elif PROMOTED:
                acc += tl.dot(a, b.T)
            else:
                acc = tl.dot(a, b.T, acc, input_precision="ieee")
        last = True
        if RUNS > 1:
            part_ptr = parts_ptr + tl.program_id(1).to(tl.int64) * m * n
            store_block(part_ptr, acc, block_m, block_n, m, n, n, 1, BLOCK_M, BLOCK_N, False, CAST)
            last = arrive(arrivals_ptr, block, RUNS)
        if last:
            if RUNS > 1:
                acc = sum_of_parts(parts_ptr, block_m, block_n, m, n, BLOCK_M, BLOCK_N, RUNS)
            if SCALE_AT_END:
                a_scale = load_scale(a_scale_ptr, 0, start_m, m, a_mn_tiles, A_TILE_MN, BLOCK_M)
                b_scale = load_scale(b_scale_ptr, 0, start_n, n, b_mn_tiles, B_TILE_MN, BLOCK_N)
                if TRANSPOSED:
                    acc = acc * b_scale[None, :] * a_scale[:, None]
                else:
                    acc = acc * a_scale[:, None] * b_scale[None, :]
            store_block(
                out_ptr,
                acc,
                block_m,
                block_n,
                m,
                n,
                out_stride_m,
                out_stride_n,
                BLOCK_M,
                BLOCK_N,
                ACCUMULATE,
                CAST,
            )
