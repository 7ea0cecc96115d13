"""Blocks of the simple kernels that are worth timing."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm.blocks import MAX_SPLIT, Blocks
from kernels.gemm.meaning import Arithmetic
from kernels.gemm.plan import GemmPlan
from kernels.gemm.shape_class import FEW

_THREADS_A_WARP = 32


_ROWS_A_WARP = 16


_ACCUMULATORS = 128


_PROMOTED_ACCUMULATORS = 64


_VERY_FEW = 32
"""M up to FEW also has blocks with all of it in their narrow side; up to this, no others."""


_LEAST_ROWS, _LOW = 16, 64


_NARROW_SIDES_N = (64, 128)


_SIDES_N = (32, 64, 128, 256)


_STAGES, _FEW_STAGES = 6, 3


_MAX_STAGES = 8


_LEAST_STEPS = 4


_WAVES = 4


def _simple(plan: GemmPlan, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    if plan.kernel is Arithmetic.NATIVE_MX:
        yield plan.blocks
        return
    if mnk[0] <= FEW:
        yield from _few_tokens(plan, mnk, device)
        if mnk[0] <= (FEW // 2 if plan.kernel is Arithmetic.DEQUANTIZED else _VERY_FEW):
            return
    sides_m, few = (64,) if mnk[0] <= 64 else (64, 128), mnk[0] <= FEW
    sides = product(sides_m, _NARROW_SIDES_N if few else _SIDES_N, _steps_k(plan), (4, 8))
    for block_m, block_n, block_k, warps in sides:
        held = block_m * block_n // (_THREADS_A_WARP * warps)
        if held > _held_at_most(plan) or block_m < _ROWS_A_WARP * warps:
            continue
        group = 32 if plan.promotion is not WHOLE else 8
        blocks = Blocks(
            block_m=block_m,
            block_n=block_n,
            block_k=block_k,
            group=group,
            warps=warps,
            stages=_STAGES,
            tma=plan.blocks.tma,
        )
        count = blocks.count(*mnk[:2])
        if block_n < 128 and count > _WAVES * device.sms:
            continue
        variants = [replace(blocks, split_k=split) for split in _splits(count, blocks, mnk[2], device)]
        if count > device.sms:  # then an SM may hold several programs, if none takes all of its memory
            variants += [replace(blocks, stages=_FEW_STAGES)]
            variants += [replace(blocks, persistent=True)] if not few else []
        if held == _ACCUMULATORS and plan.spec.out.bits > FORMATS["bf16"].bits:  # the others spill
            variants = [one for one in variants if one.split_k == 1 and not one.persistent]
        yield from (fit for fit in (_fit(plan, one, device) for one in variants) if fit is not None)


def _few_tokens(plan: GemmPlan, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """All of M, or half of it, in the narrow side of the tensor core's blocks; and what a dequantizing plan
    can decode in the K loop, where its pass would take most of the time.
    """
    rows = _LEAST_ROWS
    while rows < mnk[0]:
        rows *= 2
    halves = sorted({rows, max(rows // 2, min(rows, _LOW))})
    if plan.kernel is Arithmetic.DEQUANTIZED:
        sides = [*product(halves, _NARROW_SIDES_N, (4, 8), [(True, "ab")])]
        sides += [
            *product(sorted({max(half, _LOW) for half in halves}), _NARROW_SIDES_N, (4, 8), [(False, "b")])
        ]
    else:
        sides = [*product(halves, _NARROW_SIDES_N, (4, 8), [(True, "")])]
    for block_m, block_n, warps, (transposed, decoded) in sides:
        held = block_m * block_n // (_THREADS_A_WARP * warps)
        if held > _held_at_most(plan) or (block_n if transposed else block_m) < _ROWS_A_WARP * warps:
            continue
        if not decoded and 2 * held <= _held_at_most(plan) and warps > 4:  # 4 warps can hold it
            continue
        blocks = Blocks(
            block_m=block_m,
            block_n=block_n,
            block_k=2 * plan.block_k if decoded else plan.block_k,
            warps=warps,
            stages=_STAGES,
            tma=plan.blocks.tma,
            transposed=transposed,
            decoded=decoded,
        )
        variants = [
            replace(blocks, split_k=split, stages=stages)
            for split in _splits(blocks.count(*mnk[:2]), blocks, mnk[2], device)
            for stages in ((_STAGES, _FEW_STAGES) if rows >= _LOW or decoded else (_STAGES,))
        ]
        if not decoded and plan.promotion is WHOLE:
            variants.append(replace(blocks, block_k=2 * plan.block_k, stages=_FEW_STAGES))
        yield from (fit for fit in (_fit(plan, one, device) for one in variants) if fit is not None)


def _steps_k(plan: GemmPlan) -> tuple[int, ...]:
    """BLOCK_K: a promotion sets it; a sum that stays in the tensor core is the same for any."""
    if plan.promotion is not WHOLE:
        return (plan.block_k,)
    return (plan.block_k, 2 * plan.block_k)


def _held_at_most(plan: GemmPlan) -> int:
    """Elements of D that a thread can hold; a promoted sum is held twice."""
    return _ACCUMULATORS if plan.promotion is WHOLE else _PROMOTED_ACCUMULATORS


def _splits(count: int, blocks: Blocks, k: int, device: Device) -> list[int]:
    """1, and 2, 4 … runs of K while SMs stand idle or a few waves are not full, each of a few steps."""
    splits = [1]
    steps = -(-k // blocks.block_k)
    while (
        2 * splits[-1] <= MAX_SPLIT
        and count * splits[-1] < 2 * device.sms
        and steps >= 2 * splits[-1] * _LEAST_STEPS
    ):
        splits.append(2 * splits[-1])
    return splits


def _fit(plan: GemmPlan, blocks: Blocks, device: Device) -> Blocks | None:
    element = FORMATS["bf16"] if plan.kernel is Arithmetic.DEQUANTIZED else plan.spec.a.format
    if blocks.stages > _MAX_STAGES:
        return None
    return blocks.within(device.shared_memory_bytes, element.bytes, plan.spec.out.bytes)
