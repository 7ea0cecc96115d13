"""The simple GEMM with four things more than kernel.py.

Split-K: SPLITS programs share a block. Operands may be codes with power-of-two scales along K, decoded to
bf16 in the loop. The kernel may compute Dᵀ = B · Aᵀ: the tensor core's blocks are 64 rows high or more, and
rows of B fill them for a small M. A GPU without TMA loads by pointers.
"""

import triton
import triton.language as tl

from kernels.gemm.passes.dequantize import decoded_scale, dequantize_block, load_stored_scales
from kernels.gemm.simple.kernel import block_of, block_offsets, load_scale, scale_sum, store_block
from kernels.launching.early_kernel import wait_for_kernels_before


@triton.jit
def load_codes(
    codes, start, start_k, mn, stride, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr, TMA: tl.constexpr
):
    """[BLOCK_MN, BLOCK_K] of an operand [mn, stride], zeros beyond K.

    Without TMA the last row stands for rows beyond it, whose part of D is not stored.
    """
    if TMA:
        block = codes.load([start, start_k])
    else:
        rows = tl.minimum(start + tl.arange(0, BLOCK_MN), mn - 1)
        columns = start_k + tl.arange(0, BLOCK_K)
        pointers = codes + rows[:, None].to(tl.int64) * stride + columns[None, :]
        block = tl.load(pointers, mask=(columns < stride)[None, :], other=0.0)
    return block


@triton.jit
def arrive(arrivals_ptr, block, SPLITS: tl.constexpr):
    """Count this program in. True for the last of a block's programs: all parts are written."""
    tl.debug_barrier()  # every thread's part of the block is written before one of them says so
    # acq_rel: writes before a count are visible after every later count
    last = tl.atomic_add(arrivals_ptr + block, 1, sem="acq_rel", scope="gpu") == SPLITS - 1
    tl.debug_barrier()  # no thread reads before the count is known
    if last:
        tl.store(arrivals_ptr + block, 0)  # ready for the next launch
    return last


@triton.jit
def sum_of_parts(
    parts_ptr, block_m, block_n, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, SPLITS: tl.constexpr
):
    """float32[BLOCK_M, BLOCK_N]: a block's parts of float32[SPLITS, m, n], added first to last.

    The order does not depend on who arrives last, so D has the same bits each time.
    """
    corner, offsets, inside = block_offsets(block_m, block_n, m, n, n, 1, BLOCK_M, BLOCK_N)
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for _ in tl.range(0, SPLITS):
        # .cg reads from L2: this SM's L1 may hold older bytes
        total += tl.load(parts_ptr + corner + offsets, mask=inside, other=0.0, cache_modifier=".cg")
        corner += tl.cast(m, tl.int64) * n
    return total


@triton.jit
def general_gemm_kernel(
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
    split_steps,
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
    SCALE: tl.constexpr,
    IN_LOOP: tl.constexpr,
    AT_END: tl.constexpr,
    TRANSPOSED: tl.constexpr,
    PROMOTED: tl.constexpr,
    ACCUMULATE: tl.constexpr,
    CAST: tl.constexpr,
    PERSISTENT: tl.constexpr,
    EARLY: tl.constexpr,
    SPLITS: tl.constexpr,
    TMA: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """Compute D as gemm_kernel does; with split-K, SPLITS programs share a block, each with split_steps of K.

    Their sums pass through parts float32[SPLITS, m, n]; arrivals[blocks] counts them, and the last one adds.
    An operand with a SHIFT comes as codes uint8 with scales of the format SCALE. TRANSPOSED: A is the
    caller's B, so its scale is applied second. CAST: casts can be trusted; not those of the interpreter.
    """
    wait_for_kernels_before(EARLY)
    steps, first = tl.cdiv(k, BLOCK_K), 0
    if SPLITS > 1:
        first = tl.program_id(1) * split_steps
        steps = min(steps - first, split_steps)
    blocks = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    turns = tl.cdiv(blocks - tl.program_id(0), tl.num_programs(0)) if PERSISTENT else 1
    for number in tl.range(0, turns, flatten=PERSISTENT):
        block = tl.program_id(0) + number * tl.num_programs(0)
        block_m, block_n = block_of(block, m, n, BLOCK_M, BLOCK_N, GROUP_M)
        start_m, start_n = block_m * BLOCK_M, block_n * BLOCK_N
        acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        a_stored, b_stored = 0, 0  # stand-ins, where nothing is decoded
        if A_SHIFT:
            a_stored = load_stored_scales(
                a_scale_ptr, start_m, first * BLOCK_K, m, k, a_mn_tiles, A_TILE_MN, A_TILE_K, BLOCK_M, BLOCK_K
            )
        if B_SHIFT:
            b_stored = load_stored_scales(
                b_scale_ptr, start_n, first * BLOCK_K, n, k, b_mn_tiles, B_TILE_MN, B_TILE_K, BLOCK_N, BLOCK_K
            )
        for step in tl.range(first, first + steps):
            # a: [BLOCK_M, BLOCK_K], b: [BLOCK_N, BLOCK_K]
            a = load_codes(a_codes, start_m, step * BLOCK_K, m, a_stride, BLOCK_M, BLOCK_K, TMA)
            b = load_codes(b_codes, start_n, step * BLOCK_K, n, b_stride, BLOCK_N, BLOCK_K, TMA)
            # Scales are loaded a step ahead: Triton's pipeline does not take bytes, and each step would wait
            # for memory.
            if A_SHIFT:
                a_scale = decoded_scale(a_stored, SCALE)
                a_stored = load_stored_scales(
                    a_scale_ptr,
                    start_m,
                    (step + 1) * BLOCK_K,
                    m,
                    k,
                    a_mn_tiles,
                    A_TILE_MN,
                    A_TILE_K,
                    BLOCK_M,
                    BLOCK_K,
                )
                a = dequantize_block(a, a_scale, A_TILE_K, A_SHIFT, A_FACTOR, BLOCK_M, BLOCK_K, CAST)
            if B_SHIFT:
                b_scale = decoded_scale(b_stored, SCALE)
                b_stored = load_stored_scales(
                    b_scale_ptr,
                    start_n,
                    (step + 1) * BLOCK_K,
                    n,
                    k,
                    b_mn_tiles,
                    B_TILE_MN,
                    B_TILE_K,
                    BLOCK_N,
                    BLOCK_K,
                )
                b = dequantize_block(b, b_scale, B_TILE_K, B_SHIFT, B_FACTOR, BLOCK_N, BLOCK_K, CAST)
            if IN_LOOP:
                first_k = step * BLOCK_K
                a_tile = first_k // A_TILE_K if A_TILE_K else 0
                b_tile = first_k // B_TILE_K if B_TILE_K else 0
                a_scale = load_scale(a_scale_ptr, a_tile, start_m, m, a_mn_tiles, A_TILE_MN, BLOCK_M)
                b_scale = load_scale(b_scale_ptr, b_tile, start_n, n, b_mn_tiles, B_TILE_MN, BLOCK_N)
                acc = tl.fma(tl.dot(a, b.T), a_scale[:, None] * b_scale[None, :], acc)
            elif PROMOTED:
                acc += tl.dot(a, b.T)
            else:
                acc = tl.dot(a, b.T, acc)
        last = True  # a block of its own has no other program to wait for
        if SPLITS > 1:
            part_ptr = parts_ptr + tl.program_id(1).to(tl.int64) * m * n
            store_block(part_ptr, acc, block_m, block_n, m, n, n, 1, BLOCK_M, BLOCK_N, False, CAST)
            last = arrive(arrivals_ptr, block, SPLITS)
        if last:
            if SPLITS > 1:
                acc = sum_of_parts(parts_ptr, block_m, block_n, m, n, BLOCK_M, BLOCK_N, SPLITS)
            if AT_END:
                acc = scale_sum(
                    acc,
                    a_scale_ptr,
                    b_scale_ptr,
                    start_m,
                    start_n,
                    m,
                    n,
                    A_TILE_MN,
                    B_TILE_MN,
                    BLOCK_M,
                    BLOCK_N,
                    TRANSPOSED,
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
