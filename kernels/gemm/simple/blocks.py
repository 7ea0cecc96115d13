"""Blocks of the simple kernels, to be timed or to be taken where nothing was timed. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

from fp8core.formats import FORMATS
from fp8core.linear import Side
from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm.arithmetic import FP8_FORMATS
from kernels.gemm.blocks import LEAST_STAGES, MAX_SPLIT, Blocks
from kernels.gemm.meaning import Arithmetic, Meaning
from kernels.gemm.shape_class import FEW
from kernels.gemm.simple import native_blocks
from kernels.operand_passes.plan import Decoding, decoding_of
from kernels.quantize.plan import K_PADDING

Mnk = tuple[int, int, int]

_HOPPER, _RTX = (9, 0), (12, 0)
"""From the first on, warpgroups multiply from shared memory; from the second on, warps from registers."""
_BF16_BLOCK_K = 64

THREADS_A_WARP = 32


_ROWS_A_WARP = 16


_ACCUMULATORS = 128


_PROMOTED_ACCUMULATORS = 64


_VERY_FEW = 32
"""Blocks have all of M in their narrow side up to this; up to FEW there are others, too."""


_LEAST_ROWS, _LOW = 16, 64


_NARROW_SIDES_N = (64, 128)


_SIDES_N = (32, 64, 128, 256)


_STAGES, _FEW_STAGES = 6, 3


_SMALL = 1 << 33
"""Products of a GEMM that takes little longer than a launch, or less."""


_MAX_STAGES = 8


_LEAST_STEPS = 4


_WAVES = 4


_RUNS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Each is compiled by itself, so there are not more of them."""


def refusal(meaning: Meaning) -> str:
    """Reason why the simple kernel does not compute a product, in a sentence; empty where it does."""
    native = meaning.arithmetic is Arithmetic.NATIVE_MX
    return "the scaled tensor core has a kernel of its own" if native else ""


def undecodable(meaning: Meaning, blocks: Blocks) -> str:
    """Reason why the simple kernel does not decode what these blocks ask for; empty where it does."""
    able = decodable(meaning)
    if set(blocks.decoded) <= set(able):
        return ""
    return f"the simple kernel decodes {able.upper() or 'neither A nor B'} in the K loop here"


def candidates(meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """Blocks to choose from, with K in one run and in several."""
    if mnk[0] <= FEW:
        yield from _few_tokens(meaning, mnk, device)
        if mnk[0] <= (FEW // 2 if meaning.arithmetic is Arithmetic.DEQUANTIZED else _VERY_FEW):
            return
    if decodable(meaning) == "ab" and prod(mnk) <= _SMALL:
        yield from _without_passes(meaning, mnk, device)
    sides_m, few = (64,) if mnk[0] <= 64 else (64, 128), mnk[0] <= FEW
    sides = product(sides_m, _NARROW_SIDES_N if few else _SIDES_N, _steps_k(meaning), (4, 8))
    for block_m, block_n, block_k, warps in sides:
        held = block_m * block_n // (THREADS_A_WARP * warps)
        if held > _held_at_most(meaning, device) or block_m < _ROWS_A_WARP * warps:
            continue
        group = 32 if meaning.promotion is not WHOLE else 8
        blocks = Blocks(
            block_m=block_m,
            block_n=block_n,
            block_k=block_k,
            group=group,
            warps=warps,
            stages=_STAGES,
            tma=has_tma(device),
        )
        count = blocks.count(*mnk[:2])
        if block_n < 128 and count > _WAVES * device.sms:
            continue
        variants = [replace(blocks, split_k=split) for split in _splits(count, blocks, mnk[2], device)]
        if count > device.sms:  # then an SM may hold several programs, if none takes all of its memory
            variants += [replace(blocks, stages=_FEW_STAGES)]
            variants += [replace(blocks, persistent=True)] if not few else []
        if held == _ACCUMULATORS and meaning.spec.out.bits > FORMATS["bf16"].bits:  # the others spill
            variants = [one for one in variants if one.split_k == 1 and not one.persistent]
        yield from (made for made in (fit(meaning, one, device) for one in variants) if made is not None)


def decodable(meaning: Meaning) -> str:
    """The operands whose codes the simple kernel can decode in the K loop: "", "a", "b" or "ab".

    They are bytes that a shift decodes, with one level of scales of one format.
    """
    able = ""
    for side in Side:
        operand = meaning.spec.operand(side)
        if operand is not None and meaning.on_codes(side) and meaning.applied(side) is None:
            shifted = operand.format in FP8_FORMATS and decoding_of(operand) is Decoding.SHIFT
            able += side.value.lower() * (shifted and operand.tile.k is not WHOLE)
    formats = {operand.scale_rule.format.name for operand in meaning.spec.quantized}
    return able if len(formats) == 1 else ""


def _few_tokens(meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """Blocks with all of M, or half of it, in the narrow side of the tensor core's blocks.

    A dequantizing plan gets blocks that decode in the K loop, where they can. Its pass would take most of the
    time here.
    """
    rows = _LEAST_ROWS
    while rows < mnk[0]:
        rows *= 2
    halves = sorted({rows, max(rows // 2, min(rows, _LOW))})
    able = decodable(meaning) if meaning.arithmetic is Arithmetic.DEQUANTIZED else ""
    sides = []
    if able == "ab":
        low = [half for half in halves if half <= 2 * _LOW]  # higher blocks need more registers
        sides += [*product(low, _NARROW_SIDES_N, (4, 8), [(True, "ab")])]
    if "b" in able:
        sides += [
            *product(sorted({max(half, _LOW) for half in halves}), _NARROW_SIDES_N, (4, 8), [(False, "b")])
        ]
    if not sides:
        sides = [*product(halves, _NARROW_SIDES_N, (4, 8), [(True, "")])]
    for block_m, block_n, warps, (transposed, decoded) in sides:
        held = block_m * block_n // (THREADS_A_WARP * warps)
        if (
            held > _held_at_most(meaning, device)
            or (block_n if transposed else block_m) < _ROWS_A_WARP * warps
        ):
            continue
        if not decoded and 2 * held <= _held_at_most(meaning, device) and warps > 4:  # 4 warps can hold it
            continue
        blocks = Blocks(
            block_m=block_m,
            block_n=block_n,
            block_k=2 * step_k(meaning) if decoded else step_k(meaning),
            warps=warps,
            stages=_STAGES,
            tma=has_tma(device),
            transposed=transposed,
            decoded=decoded,
        )
        variants = [
            replace(blocks, split_k=split, stages=stages)
            for split in _splits(blocks.count(*mnk[:2]), blocks, mnk[2], device)
            for stages in ((_STAGES, _FEW_STAGES) if rows >= _LOW or decoded else (_STAGES,))
        ]
        if not decoded and meaning.promotion is WHOLE:
            variants.append(replace(blocks, block_k=2 * step_k(meaning), stages=_FEW_STAGES))
        yield from (made for made in (fit(meaning, one, device) for one in variants) if made is not None)


def _without_passes(meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """Blocks that decode both operands in the K loop: two passes may take longer than a small GEMM.

    Decoding takes most of the time of a low block. Twice the warps share it there, half of D's columns each.
    """
    sides = [(*sides, 8 if sides[1] > _LOW else 4) for sides in product((_LOW, 2 * _LOW), repeat=2)]
    sides += [(_LOW // 2, _LOW, 8), (_LOW, _LOW, 8)]
    for block_m, block_n, warps in sides:
        blocks = Blocks(
            block_m=block_m,
            block_n=block_n,
            block_k=2 * step_k(meaning),
            warps=warps,
            stages=_STAGES,
            tma=has_tma(device),
            transposed=True,
            decoded="ab",
        )
        longer = replace(blocks, block_k=2 * blocks.block_k, stages=_FEW_STAGES)
        for each in (blocks, *([longer] if block_n == _LOW and warps > 4 else ())):
            count = each.count(*mnk[:2])
            for split in _splits(count, each, mnk[2], device):
                stages = (
                    _FEW_STAGES if count * split > device.sms else each.stages
                )  # then an SM holds several
                made = fit(meaning, replace(each, split_k=split, stages=stages), device)
                if made is not None:
                    yield made


def _steps_k(meaning: Meaning) -> tuple[int, ...]:
    """Sizes of BLOCK_K. A promotion sets it. A sum that stays in the tensor core does not depend on it."""
    if meaning.promotion is not WHOLE:
        return (step_k(meaning),)
    return (step_k(meaning), 2 * step_k(meaning))


def _held_at_most(meaning: Meaning, device: Device) -> int:
    """Number of elements of D that a thread can hold. It holds a promoted sum twice. Where mma.sync
    multiplies, it also holds what is multiplied.
    """
    by_groups = device.capability is None or _HOPPER <= device.capability < _RTX
    return _ACCUMULATORS if meaning.promotion is WHOLE and by_groups else _PROMOTED_ACCUMULATORS


def _splits(count: int, blocks: Blocks, k: int, device: Device) -> list[int]:
    """Numbers of runs of K: 1, 2, 3, 4, 6, 8 … while an SM has fewer than two programs. A run has a few
    steps.
    """
    steps = -(-k // blocks.block_k)
    most = min(MAX_SPLIT, steps // _LEAST_STEPS, 2 * (2 * device.sms - 1) // count)
    return [runs for runs in _RUNS if runs <= max(1, most)]


def step_k(meaning: Meaning) -> int:
    """The least BLOCK_K that is worth a step: a promotion sets it."""
    if meaning.promotion is not WHOLE:
        return meaning.promotion
    return _BF16_BLOCK_K if meaning.arithmetic is Arithmetic.DEQUANTIZED else K_PADDING


def has_tma(device: Device) -> bool:
    """True where operands come as descriptors. The interpreter has them, too."""
    return device.capability is None or device.capability >= _HOPPER


def fit(meaning: Meaning, blocks: Blocks, device: Device) -> Blocks | None:
    """Blocks with as many of their stages as fit the device; None where too few fit."""
    if blocks.stages > _MAX_STAGES:
        return None
    if meaning.arithmetic is Arithmetic.NATIVE_MX:
        return native_blocks.fit(meaning, blocks, device)
    return blocks.within(device.shared_memory_bytes, meaning.multiplied[0].bytes, meaning.spec.out.bytes)


def built_in(meaning: Meaning, mnk: Mnk, device: Device) -> Blocks:
    """Blocks for a GEMM that no table has. They were good on an H200, and are cut to what fits here."""
    if meaning.arithmetic is Arithmetic.NATIVE_MX:
        return native_blocks.built_in(meaning, mnk, device)
    memory = (device.shared_memory_bytes, meaning.multiplied[0].bytes, meaning.spec.out.bytes)
    common: dict[str, int | bool] = {"block_k": step_k(meaning), "tma": has_tma(device)}
    promoting = Blocks(block_m=64, block_n=128, warps=4, stages=3, group=32, **common)
    low = Blocks(block_m=64, block_n=128, warps=4, stages=4, **common)
    middle = Blocks(block_m=128, block_n=128, warps=4 if has_tma(device) else 8, stages=4, **common)
    large = Blocks(block_m=128, block_n=256, warps=8, stages=3, persistent=True, **common)
    if meaning.promotion is not WHOLE:
        # Small enough for three programs on an SM: one promotes while another multiplies.
        wanted = [promoting]
    elif mnk[0] <= low.block_m:
        wanted = [low]
    elif large.count(*mnk[:2]) < device.sms:
        wanted = [middle, low]
    else:
        wanted = [large, middle, low]
    for blocks in wanted:
        fitting = blocks.within(*memory)
        if fitting is not None and (fitting == blocks or not blocks.persistent):
            return fitting
    return replace(wanted[-1], stages=LEAST_STAGES)
