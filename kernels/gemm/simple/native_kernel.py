"""The simple GEMM of Blackwell's block-scaled tensor core, for MX formats and NVFP4.

The tests compile it for sm_100 and sm_120 and read the machine code. Its authors never ran it on such a GPU.

Four TMA descriptors feed each step: codes of A and B, contiguous along K, and their one-byte scales. Codes of
e2m1 come packed, two a byte, the lower index in the low bits. tl.dot_scaled takes codes in that order.

Scales come in blocks of 128 rows × 4 runs of K (operand_passes/native_kernel.py). The quantizer writes them
as [runs of K, rows]. tl.dot_scaled takes those, too, by way of registers: on sm_100 each step then waits for
the multiplication before it. From such blocks in shared memory, tcgen05.cp copies them to tensor memory, and
the loop loads and multiplies at once. On sm_120 the scales end in registers either way.
"""

import triton
import triton.language as tl

from kernels.gemm.simple.kernel import block_of, load_scale, store_block
from kernels.operand_passes.native_kernel import ROWS, TILES

QUARTERS = tl.constexpr(4)
LANES = tl.constexpr(ROWS.value // QUARTERS.value)


@triton.jit
def load_scales(scale_desc, block, step, BLOCK_MN: tl.constexpr, RUNS: tl.constexpr):
    """[BLOCK_MN, RUNS] one-byte scales of a block's rows at a step, out of blocks of 128 × 4.

    The reshapes name the order of a block's bytes: (row mod 32, row div 32, run). Nothing is moved for them
    on sm_100.
    """
    ROW_BLOCKS: tl.constexpr = BLOCK_MN // ROWS
    RUN_BLOCKS: tl.constexpr = RUNS // TILES
    blocks = scale_desc.load([0, block * ROW_BLOCKS, step * RUN_BLOCKS, 0, 0])
    parts = blocks.reshape(ROW_BLOCKS, RUN_BLOCKS, LANES, QUARTERS, TILES)
    return parts.trans(0, 3, 2, 1, 4).reshape(BLOCK_MN, RUNS)


@triton.jit
def native_gemm_kernel(
    a_desc,
    b_desc,
    a_scale_desc,
    b_scale_desc,
    a_outer_ptr,
    b_outer_ptr,
    out_ptr,
    m,
    n,
    k,
    out_stride_m,
    out_stride_n,
    A_FORMAT: tl.constexpr,
    B_FORMAT: tl.constexpr,
    RUN_K: tl.constexpr,
    A_OUTER: tl.constexpr,
    B_OUTER: tl.constexpr,
    A_OUTER_MN: tl.constexpr,
    B_OUTER_MN: tl.constexpr,
    ACCUMULATE: tl.constexpr,
    KNOWN_STEPS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """D in blocks, one a program. RUN_K elements along K share a scale, which the tensor core multiplies.

    The tests compile this kernel for Blackwell and read its machine code. Its authors never ran it there.
    A_OUTER, B_OUTER: a second scale, in fp32, of all K. It is multiplied in at the end. KNOWN_STEPS: the
    steps along K for the interpreter, whose loops need a number; else 0.
    """
    A_PACKED: tl.constexpr = 2 if A_FORMAT == "e2m1" else 1
    B_PACKED: tl.constexpr = 2 if B_FORMAT == "e2m1" else 1
    RUNS: tl.constexpr = BLOCK_K // RUN_K
    block_m, block_n = block_of(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP_M)
    start_m, start_n = block_m * BLOCK_M, block_n * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for step in tl.range(0, KNOWN_STEPS if KNOWN_STEPS else tl.cdiv(k, BLOCK_K)):
        a = a_desc.load([start_m, step * (BLOCK_K // A_PACKED)])  # [BLOCK_M, BLOCK_K / A_PACKED]
        b = b_desc.load([start_n, step * (BLOCK_K // B_PACKED)])  # [BLOCK_N, BLOCK_K / B_PACKED]
        a_scale = load_scales(a_scale_desc, block_m, step, BLOCK_M, RUNS)  # [BLOCK_M, RUNS]
        b_scale = load_scales(b_scale_desc, block_n, step, BLOCK_N, RUNS)  # [BLOCK_N, RUNS]
        acc = tl.dot_scaled(a, a_scale, A_FORMAT, b.T, b_scale, B_FORMAT, acc)
    if A_OUTER:
        acc = acc * load_scale(a_outer_ptr, 0, start_m, m, 0, A_OUTER_MN, BLOCK_M)[:, None]
    if B_OUTER:
        acc = acc * load_scale(b_outer_ptr, 0, start_n, n, 0, B_OUTER_MN, BLOCK_N)[None, :]
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
        KNOWN_STEPS == 0,
    )
