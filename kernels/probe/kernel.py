"""The probe's kernel: raw tensor-core sums of codes from a given c."""

import triton
import triton.language as tl


@triton.jit
def probe_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    d_ptr,
    n,
    k,
    mask,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    FROM_REGISTERS: tl.constexpr,
    HALF: tl.constexpr,
    EVERY: tl.constexpr,
):
    """d[M, N] = c + a[M, K] · b[N, K]ᵀ, M, N, K multiples of the blocks.

    FROM_REGISTERS sends a through an integer operation, with `mask` 0xff for no change, so that the tensor
    core reads it from registers. HALF accumulates in fp16. EVERY promotes after so many products.
    """
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    places = rows[:, None] * n + columns[None, :]
    acc = tl.load(c_ptr + places)  # [BLOCK_M, BLOCK_N]
    if HALF:
        acc = acc.to(tl.float16)
    for start in tl.range(0, k, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * k + start + inner[None, :])  # [BLOCK_M, BLOCK_K]
        b = tl.load(b_ptr + columns[None, :] * k + start + inner[:, None])  # [BLOCK_K, BLOCK_N]
        if FROM_REGISTERS:
            a = (a.to(tl.uint8, bitcast=True) & mask).to(tl.uint8).to(a.dtype, bitcast=True)
        if HALF:
            acc = tl.dot(a, b, acc, out_dtype=tl.float16)
        elif EVERY:
            acc = tl.dot(a, b, acc, max_num_imprecise_acc=EVERY)
        else:
            acc = tl.dot(a, b, acc)
    tl.store(d_ptr + places, acc.to(tl.float32))
