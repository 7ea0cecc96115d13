"""The simple GEMM, from top to bottom: D[M, N] = A[M, K] · B[N, K]ᵀ, scales applied inside.

A code is the bit pattern of an FP8 number; an element of A or B is worth code · scale. A tile of TILE_MN ×
TILE_K elements shares one scale; mn is M for A, N for B, and 0 is the whole dim. Scales lie as
float32[k_tiles, mn_tiles]. A block is the work of one program, and has nothing to do with a tile.

A and B are contiguous along K and come as TMA descriptors, which read zeros beyond M, N and K.

general_kernel.py adds split-K, codes decoded in the loop, Dᵀ in place of D, and GPUs without TMA.
"""

import triton
import triton.language as tl

from kernels.bits import to_bf16_by_bits
from kernels.launching.early_kernel import wait_for_kernels_before


@triton.jit
def block_of(program, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """(block row, block column) of a program.

    GROUP_M block rows go together, column after column: programs that run at once load the same blocks of A
    and B, and L2 reads each block once.
    """
    rows, columns = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    in_group = GROUP_M * columns
    first = program // in_group * GROUP_M
    height = min(rows - first, GROUP_M)  # the last group may be lower
    return first + program % in_group % height, program % in_group // height


@triton.jit
def load_scale(scale_ptr, tile_k, start, size, stride_k, TILE_MN: tl.constexpr, BLOCK_MN: tl.constexpr):
    """float32[BLOCK_MN]: the scales of a block's rows, for the tile number tile_k along K.

    A block inside one tile takes one load, and no mask.
    """
    if TILE_MN == 0:
        scale = tl.full([BLOCK_MN], tl.load(scale_ptr + tile_k * stride_k), tl.float32)
    elif TILE_MN % BLOCK_MN == 0:
        scale = tl.full([BLOCK_MN], tl.load(scale_ptr + tile_k * stride_k + start // TILE_MN), tl.float32)
    else:
        rows = start + tl.arange(0, BLOCK_MN)
        scale = tl.load(scale_ptr + tile_k * stride_k + rows // TILE_MN, mask=rows < size, other=0.0)
    return scale


@triton.jit
def scale_sum(
    acc,
    a_scale_ptr,
    b_scale_ptr,
    start_m,
    start_n,
    m,
    n,
    A_TILE_MN: tl.constexpr,
    B_TILE_MN: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    TRANSPOSED: tl.constexpr = False,
):
    """A finished sum times both operands' scales, the caller's A first: D and Dᵀ then round alike.

    TRANSPOSED: the caller's A is b here. Two scales of whole tensors: the smaller one comes first. A sum
    times 1e36 could be infinite, and times 1e-36 it still is.
    """
    if A_TILE_MN == 0 and B_TILE_MN == 0:
        a_scale, b_scale = tl.load(a_scale_ptr), tl.load(b_scale_ptr)
        is_smaller = a_scale < b_scale
        acc = acc * tl.where(is_smaller, a_scale, b_scale) * tl.where(is_smaller, b_scale, a_scale)
    else:
        a_scale = load_scale(a_scale_ptr, 0, start_m, m, 0, A_TILE_MN, BLOCK_M)[:, None]  # [BLOCK_M, 1]
        b_scale = load_scale(b_scale_ptr, 0, start_n, n, 0, B_TILE_MN, BLOCK_N)[None, :]  # [1, BLOCK_N]
        if TRANSPOSED:
            acc = acc * b_scale * a_scale
        else:
            acc = acc * a_scale * b_scale
    return acc


@triton.jit
def block_offsets(block_m, block_n, m, n, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """(corner int64, offsets from it int32[BLOCK_M, BLOCK_N], mask of those inside [m, n]) of a block.

    Only the corner is int64: inside a block int32 suffices, and takes half the registers.
    """
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
    """Write a block of D, or add it to D. CAST: False in the interpreter, whose casts are wrong."""
    corner, offsets, inside = block_offsets(block_m, block_n, m, n, stride_m, stride_n, BLOCK_M, BLOCK_N)
    pointers = out_ptr + corner + offsets
    if ACCUMULATE:
        value += tl.load(pointers, mask=inside, other=0.0)
    if not CAST and out_ptr.dtype.element_ty == tl.bfloat16:
        value = to_bf16_by_bits(value)
    tl.store(pointers, value.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def gemm_kernel(
    a_codes,
    b_codes,
    a_scale_ptr,
    b_scale_ptr,
    out_ptr,
    m,
    n,
    k,
    a_mn_tiles,
    b_mn_tiles,
    out_stride_m,
    out_stride_n,
    A_TILE_MN: tl.constexpr,
    A_TILE_K: tl.constexpr,
    B_TILE_MN: tl.constexpr,
    B_TILE_K: tl.constexpr,
    IN_LOOP: tl.constexpr,
    AT_END: tl.constexpr,
    PROMOTED: tl.constexpr,
    ACCUMULATE: tl.constexpr,
    CAST: tl.constexpr,
    PERSISTENT: tl.constexpr,
    EARLY: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """Compute D [m, n] block by block.

    - a_codes, b_codes: descriptors of [m, k] and [n, k], of codes, or of bf16 values with scales in them.
    - a_mn_tiles, b_mn_tiles: numbers from one row of scales to the next.
    - IN_LOOP: scales multiply each step's sum. AT_END: they multiply the finished sum (scale_sum). PROMOTED:
      each step's sum leaves the tensor core for a sum in fp32 registers. ACCUMULATE: D is added into.
    - PERSISTENT: a program computes many blocks, and loads the next one while one is stored.
    - GROUP_M: see block_of. EARLY: see kernels.launching.early_kernel. CAST: see store_block.
    """
    wait_for_kernels_before(EARLY)
    steps = tl.cdiv(k, BLOCK_K)
    blocks = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    turns = tl.cdiv(blocks - tl.program_id(0), tl.num_programs(0)) if PERSISTENT else 1
    # flatten: the two loops become one, so that the loads of the next block are prefetched like a step's
    for number in tl.range(0, turns, flatten=PERSISTENT):
        block = tl.program_id(0) + number * tl.num_programs(0)
        block_m, block_n = block_of(block, m, n, BLOCK_M, BLOCK_N, GROUP_M)
        start_m, start_n = block_m * BLOCK_M, block_n * BLOCK_N
        acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for step in tl.range(0, steps):
            start_k = step * BLOCK_K
            a = a_codes.load([start_m, start_k])  # [BLOCK_M, BLOCK_K]
            b = b_codes.load([start_n, start_k])  # [BLOCK_N, BLOCK_K]
            if IN_LOOP:
                # A step lies in one tile of each operand: BLOCK_K is the shortest tile's K (GemmPlan).
                a_tile = start_k // A_TILE_K if A_TILE_K else 0
                b_tile = start_k // B_TILE_K if B_TILE_K else 0
                a_scale = load_scale(a_scale_ptr, a_tile, start_m, m, a_mn_tiles, A_TILE_MN, BLOCK_M)
                b_scale = load_scale(b_scale_ptr, b_tile, start_n, n, b_mn_tiles, B_TILE_MN, BLOCK_N)
                # An explicit fma: left to the compiler, it would be one in some versions of Triton only.
                acc = tl.fma(tl.dot(a, b.T), a_scale[:, None] * b_scale[None, :], acc)
            elif PROMOTED:
                acc += tl.dot(a, b.T)
            else:
                acc = tl.dot(a, b.T, acc)
        if AT_END:
            acc = scale_sum(
                acc, a_scale_ptr, b_scale_ptr, start_m, start_n, m, n, A_TILE_MN, B_TILE_MN, BLOCK_M, BLOCK_N
            )
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
