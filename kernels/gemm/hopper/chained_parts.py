"""Steps and ends of the chained bodies' blocks: a wgmma is queued, a finished block leaves part by part.

A finished sum is kept as two bf16 in a register, as four codes, or as it is (kernels.gemm.hopper.chained).
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
)

from kernels.gemm.fused.encode import code_pairs, packed_codes, quotients, tell_amax
from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import async_load, async_store, reinterpret
from kernels.gemm.hopper.ring import CONSUMERS, descriptor_of, halves

SLAB = gl.constexpr(sizes.SLAB)
PARTS = gl.constexpr(sizes.PARTS)
BUFFERS = gl.constexpr(sizes.PARTS_UNDER_WAY)


@gluon.jit
def packed(value):
    """int32[rows, columns / 2]: float32[rows, columns] rounded to bf16, two neighbors in a register.

    A thread's 128 sums take 64 registers so. As fp32 they would leave none for the next block's sum.
    """
    even, odd = value.reshape([value.shape[0], value.shape[1] // 2, 2]).split()
    return gl.inline_asm_elementwise(
        "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", [even, odd], dtype=gl.int32, is_pure=True, pack=1
    )


@gluon.jit
def unpacked(pairs):
    """bfloat16[rows, columns]: the inverse of `packed`."""
    COLUMNS: gl.constexpr = 2 * pairs.shape[1]
    LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    even, odd = gl.inline_asm_elementwise(
        "mov.b32 {$0, $1}, $2;",
        "=h,=h,r",
        [pairs],
        dtype=(gl.bfloat16, gl.bfloat16),
        is_pure=True,
        pack=1,
    )
    # assert_trivial: neighbors of a thread stay with it, and no number goes through shared memory
    return gl.convert_layout(
        gl.join(even, odd).reshape([pairs.shape[0], COLUMNS]), LAYOUT, assert_trivial=True
    )


@gluon.jit
def copied(value, m):
    """A sum in other registers, bit for bit. m: a number that is not negative.

    Numbers that stayed in the sum's registers would make ptxas wait for each wgmma of the next block (C7514).
    It takes a move away again, but not an exclusive or with a zero that it does not know to be one.
    """
    return (value.to(gl.int32, bitcast=True) ^ (m >> 31)).to(gl.float32, bitcast=True)


@gluon.jit
def encoded_half(half, ring, out_desc, row, column):
    """int32[SLAB, BLOCK_N / 32, 4]: the codes of half a block, in half the registers that bf16 would take."""
    q, amax = quotients(half, ring.INTO, out_desc, row, column)
    words = packed_codes(q, ring)
    tell_amax(amax, ring.INTO, out_desc)
    return words


@gluon.jit
def part_of(left, right, PART: gl.constexpr, ring):
    """[SLAB, columns of a part]: number PART of a block in bf16, or of its left half in fp32. Codes come as
    pairs.
    """
    if ring.INTO is not None:
        part = halves(code_pairs(left if PART < PARTS // 2 else right))[PART % 2]
    elif ring.OUT_BYTES == 2:
        in_half = halves(left if PART < PARTS // 2 else right)
        part = unpacked(in_half[PART % 2])
    else:
        in_half = halves(halves(left)[PART // (PARTS // 2)])
        part = in_half[PART % 2]
    return part


@gluon.jit
def fetch(PART: gl.constexpr, ring, WG: gl.constexpr, out_desc, row, column):
    """Where D is added into: load what it holds of a part into the memory by which that part will leave."""
    if ring.ACCUMULATE:
        tma.store_wait(BUFFERS - 1)  # the part before the last one has left this memory
        fetched = ring.fetched.index(WG)
        mbarrier.expect(fetched, out_desc.block_type.nbytes)
        COLUMNS: gl.constexpr = out_desc.block_type.shape[1]
        staging = ring.out.index(BUFFERS * WG + PART % BUFFERS)
        async_load(out_desc, [row, column + PART * COLUMNS], fetched, staging)


@gluon.jit
def send(part, PART: gl.constexpr, ring, WG: gl.constexpr, out_desc, row, column):
    """Send a part of the finished block through shared memory: [SLAB, columns], those from PART parts on."""
    staging = ring.out.index(BUFFERS * WG + PART % BUFFERS)
    if ring.ACCUMULATE:
        mbarrier.wait(ring.fetched.index(WG), PART % 2)  # the phase flips with every part
        part = part + staging.load(part.type.layout)
    else:
        tma.store_wait(BUFFERS - 1)  # the part before the last one has left this memory
    COLUMNS: gl.constexpr = staging.shape[1]
    if ring.INTO is not None:
        PAIRS: gl.constexpr = gl.NVMMASharedLayout(COLUMNS, 16, rank=2)
        reinterpret(staging, gl.int16, [SLAB, COLUMNS // 2], PAIRS).store(part)
    else:
        staging.store(part)
    fence_async_shared()  # TMA must see what the threads have just written
    async_store(descriptor_of(out_desc, ring), [row, column + PART * COLUMNS], staging)


@gluon.jit
def leave(left, right, PART: gl.constexpr, ring, WG: gl.constexpr, out_desc, row, column):
    """Send a part of the finished block, whose halves are left and right, and fetch the next one."""
    send(part_of(left, right, PART, ring), PART, ring, WG, out_desc, row, column)
    if PART + 1 < PARTS:
        fetch(PART + 1, ring, WG, out_desc, row, column)


@gluon.jit
def multiply(acc, keep, ring, WG: gl.constexpr, stage):
    """Queue one step along K of this warpgroup's rows. The products join the sum if `keep`, else begin it."""
    # TMA lays down 128 bytes of a row at most side by side, so a slab is one piece of memory, turned or not.
    SHAPE: gl.constexpr = [ring.BLOCK_K, SLAB] if ring.A_TURNED else [SLAB, ring.BLOCK_K]
    slabs = reinterpret(ring.a, ring.a.dtype, [ring.STAGES * CONSUMERS] + SHAPE, ring.a.layout)
    a = slabs.index(stage * CONSUMERS + WG)
    b = ring.b.index(stage)
    if ring.A_TURNED:
        a = a.permute([1, 0])  # [SLAB, BLOCK_K]
    if not ring.B_TURNED:
        b = b.permute([1, 0])  # [BLOCK_K, BLOCK_N]
    return warpgroup_mma(a, b, acc, use_acc=keep, is_async=True)
