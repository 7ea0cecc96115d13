"""A small model of the time of a GEMM's launch.

| part of the time | is |
|---|---|
| launch | a constant of the variant |
| multiplying | waves of blocks · (steps along K · time of a step + time of a block) |
| a step | the longest of: products / rate + bytes / rate + a constant; an SM's loads; its shared memory |
| memory, L2 | bytes / bandwidth, of all or of the two SMs that read most; both run beside multiplying |
| split-K | the last program of a block reads all parts of its sum |
| passes | each one a launch more, and its bytes |

`python -m kernels.measure random --fit` fits the rates in assets/cost/ to launches of random draws. No torch.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp8core.linear import Side
from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm.blocks import FEW, Blocks, Offer, Variant
from kernels.gemm.hopper.sizes import SCALE_BYTES, SLAB, TMA_BYTES, WARPGROUP_WARPS
from kernels.gemm.numerics import Arithmetic, Numerics, ScaleAt
from kernels.gemm.passes.decode import read_as
from kernels.gemm.simple.blocks import THREADS_A_WARP
from kernels.gemm.tuned import architecture
from kernels.gemm.variants import VARIANTS
from kernels.paths import COST
from kernels.typed import from_data

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]

_RESERVED_L2 = 0.5
"""Part of the L2 within which every second read hits. A judgment: the rest turns over."""
_SCALES = 0.03
"""Bytes of scales beside a byte of codes."""
_REGISTERS, _SHARED_BYTES, _OTHER_REGISTERS, _MOST_REGISTERS = 1 << 16, 228 << 10, 56, 255
"""Registers and shared memory of an SM; registers of a thread beside its sums, and in all."""
_CUDA_BYTES = 1 << 10
"""Shared memory that CUDA takes for each program."""
_SUM_BYTES, _WARP_ROWS, _SEAM = 4, SLAB // 4, 8.0
_NO_PASS = (0.0, 16, 0, 0)
_PARTS = 5.0
"""Time of a part of a sum in a persistent program, in reads of it, fitted to 60 GEMMs (H200, 2026-11-29)."""
_PAIR = 2
"""SMs that share a way to memory, a TPC."""


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The model's numbers for one GPU, as assets/cost/ has them.

    - shared: of all kernels. dram_gb_s, l2_gb_s, sm_gb_s, smem_gb_s: bandwidth of memory, the L2, one SM, its
      shared memory. pair_gb_s: what the two SMs of a TPC read from memory. write_cost: a byte written, in
      bytes read. page_bytes: cost of one more run of written bytes. zero_row_ns: 128 zeros beyond an operand.
      latency_ns: a stage's load. pass_us, pass_4_gb_s … pass_16_gb_s: a pass, and its bandwidth by the bits
      of its input. sharpness: how little the shorter of two overlapping times counts. heat: slowdown with all
      tensor cores busy.
    - variants: launch_us. alone: a step's time for a program with an SM to itself. split_us, program_us,
      split_gb_s: split-K once, for each program, and the bandwidth of adding parts. again_us: one more wave
      of such programs.
    - classes: of blocks that multiply alike (class_of). product_ns for 2**20 products, load_ns for 1024
      elements of a block's two sides along K, step_ns, block_ns, element_ns for 1024 numbers of D. reach:
      their part of dram_gb_s. count: measurements behind the fit.
    """

    gpu: str
    date: str
    versions: Mapping[str, str]
    sms: int
    clock_mhz: float
    memory_gb_s: float
    shared: Mapping[str, float]
    variants: Mapping[str, Mapping[str, float]]
    classes: Mapping[str, Mapping[str, float]]

    def of(self, variant: str, class_: str) -> dict[str, float]:
        """The rates of a variant and a class; an unknown one has the first's."""
        of_variant = self.variants.get(variant, next(iter(self.variants.values())))
        return {**of_variant, **self.classes.get(class_, next(iter(self.classes.values())))}

    def on(self, device: Device) -> "Rates":
        """These rates for another device, with its memory and clock if they are known."""
        memory = device.memory_gb_s / self.memory_gb_s if device.memory_gb_s else 1.0
        clock = device.clock_mhz / self.clock_mhz if device.clock_mhz else 1.0
        factors = {name: memory for name in self.shared if name.endswith("_gb_s")}
        factors |= {"l2_gb_s": clock * device.sms / self.sms, "sm_gb_s": clock, "smem_gb_s": clock}
        shared = {name: number * factors.get(name, 1.0) for name, number in self.shared.items()}
        classes = {
            key: {name: number / clock if name.endswith("_ns") else number for name, number in each.items()}
            for key, each in self.classes.items()
        }
        return replace(self, shared=shared, classes=classes)


def read(path: Path) -> Rates:
    """Rates from a file. Raises ValueError naming the file and the fault."""
    try:
        return from_data(Rates, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path.name} has no rates of a cost model: {error}") from error


def rates_path(capability: tuple[int, int]) -> Path:
    return COST / f"{architecture(capability)}.json"


@lru_cache(maxsize=16)
def rates_of(device: Device) -> Rates:
    """The rates for a device: its architecture's own, or Hopper's, scaled by the device's facts."""
    own = rates_path(device.capability or (0, 0))
    return read(own if own.exists() else rates_path((9, 0))).on(device)


def stacked(launches: Iterable[Mapping[str, Any]]) -> dict[str, Vector]:
    """An array of each number of several launches."""
    rows = list(launches)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def facts_of(numerics: Numerics, offer: Offer) -> dict[str, Any]:
    """Facts of a launch that no shape changes, beside those of its blocks.

    - resident: programs that an SM holds at once. by_columns: they go through D in groups of block columns.
    - a_bits, b_bits: of an element in memory, its scale included. out_bytes: of a number of D.
    - step_bytes: loaded in a step. step_row_bytes: of a row of A that is not loaded beyond M. smem_bytes:
      written to shared memory and read by the tensor core.
    - a_lines, b_lines: of 128 bytes, of a row in a step; 0 for a kernel that loads no zeros by itself.
      least_rows: of A in a load. within_n: a block that would end beyond N begins earlier.
    - sums_all_rows: split-K passes on rows beyond M, too. passes: [4, 4], see _passes.
    """
    blocks, decodes = offer.blocks, [offer.blocks.decodes(side) for side in Side]
    value_bytes, codes = numerics.multiplied[0].bytes, (numerics.spec.a, numerics.spec.b)
    bits = [
        each.format.packed_bits if decoded else 8 * value_bytes
        for each, decoded in zip(codes, decodes, strict=True)
    ]
    if simple := blocks.variant.is_simple:
        step_bytes = (blocks.block_m * bits[0] + blocks.block_n * bits[1]) * blocks.block_k // 8
        row_bytes, lines, least_rows = bits[0] // 8, [0, 0], blocks.block_m
    else:
        storage = VARIANTS[blocks.variant].storage(numerics, blocks)
        step_bytes, least_rows = storage.stage_bytes, storage.least_rows
        row_bytes = value_bytes * (not blocks.decoded)
        lines = [max(1, round(blocks.block_k * each / 1024)) for each in bits]
    b_tile = numerics.applied(Side.B)
    squares = numerics.scale_at is ScaleAt.K_LOOP and b_tile is not None and b_tile.mn != 1
    return {
        **{name: getattr(blocks, name) for name in ("block_m", "block_n", "block_k", "stages", "persistent")},
        "own_splits": offer.own_splits,
        "resident": _resident(numerics, blocks) if simple else 1,
        "by_columns": blocks.transposed or (not simple and blocks.block_m > blocks.block_n),
        "a_bits": bits[0] * (1 + _SCALES * decodes[0]),
        "b_bits": bits[1] * (1 + _SCALES * decodes[1]),
        "step_bytes": step_bytes,
        "step_row_bytes": row_bytes * blocks.block_k,
        "smem_bytes": step_bytes + _read_rows(blocks) * blocks.block_k * value_bytes,
        "a_lines": lines[0],
        "b_lines": lines[1],
        "least_rows": least_rows,
        "within_n": blocks.variant is Variant.DECODING or not squares,
        "sums_all_rows": simple or blocks.variant is Variant.DECODING,
        "out_bytes": numerics.out_bytes,
        "passes": [*_passes(numerics, blocks), *[_NO_PASS] * 4][:4],
    }


def _read_rows(blocks: Blocks) -> int:
    """Rows of both operands that the tensor core reads from shared memory in a step.

    Each slab of 64 rows reads the other operand anew; warpgroups that share a slab halve it, and both read
    the slab. A decoded operand comes from registers, and its time is in the class's rates.
    """
    if blocks.decoded:
        return 0
    high, wide = (blocks.block_m, blocks.block_n)[:: -1 if blocks.transposed else 1]
    slabs, warpgroups = -(-high // SLAB), blocks.warps // WARPGROUP_WARPS
    return high * max(1, warpgroups // slabs) + wide * slabs


def _resident(numerics: Numerics, blocks: Blocks) -> int:
    threads = blocks.warps * THREADS_A_WARP
    sums = blocks.block_m * blocks.block_n // threads * (1 if numerics.promotion is WHOLE else 2)
    registers = min(_MOST_REGISTERS, sums + _OTHER_REGISTERS) * threads
    stage_bytes = blocks.operand_bytes(numerics.multiplied[0].bytes)
    memory = blocks.stages * stage_bytes + blocks.decoded_bytes() + _CUDA_BYTES
    return max(1, min(_REGISTERS // registers, _SHARED_BYTES // memory))


def _passes(numerics: Numerics, blocks: Blocks) -> Iterator[tuple[float, int, int, int]]:
    """(bytes an element, bits of a number it reads, 1 for B, rows) of each pass before the kernel. A multiple
    of `rows` rows needs no pass; 0: every operand needs it.
    """
    decoding = blocks.variant is Variant.DECODING
    for of_n, side in enumerate(Side):
        operand, applied = numerics.spec.operand(side), numerics.applied(side)
        bits = operand.format.packed_bits if operand else 0
        if numerics.scale_at is ScaleAt.K_LOOP and not blocks.variant.is_simple:
            if applied is not None and applied.mn == 1 and applied.k:  # a copy of scales that TMA can load
                yield 2 * SCALE_BYTES / applied.k, 16, of_n, TMA_BYTES // SCALE_BYTES
        elif numerics.arithmetic is not Arithmetic.DEQUANTIZED:
            continue
        elif operand is None:
            if decoding:
                yield 4.0, 16, of_n, 0
        elif not blocks.decodes(side):
            yield bits / 8 + 2, bits, of_n, 0
        elif decoding:
            if read_as(operand) != operand:
                yield bits / 8 + 1, bits, of_n, 0
            if (blocks.decoded != "ab" or side is Side.B) and operand.tile.k:
                yield 2 / operand.tile.k, 8, of_n, 0 if operand.tile.mn != 1 else TMA_BYTES


def class_of(numerics: Numerics, offer: Offer) -> str:
    """Key of blocks that multiply alike: variant, formats, sums, bits to decode; for the simple kernel also
    warps, Dᵀ or D, many stages or few.
    """
    blocks = offer.blocks
    multiplied = "bf16" if numerics.arithmetic is Arithmetic.DEQUANTIZED else "fp8"
    sums = "chained" if numerics.promotion is WHOLE else "promoted"
    if numerics.scale_at is ScaleAt.K_LOOP:
        b = numerics.spec.b
        sums = "scaled_lines" if b is not None and b.tile.mn == 1 else "scaled"
    bits = sum(
        read_as(numerics.spec.operand(side)).format.packed_bits for side in Side if blocks.decodes(side)
    )
    words = [blocks.variant.value, multiplied, sums]
    words += [f"{bits} bits decoded"] * (bits > 0)
    words += [f"{blocks.warps} warps"] * blocks.variant.is_simple + ["transposed"] * blocks.transposed
    words += ["deep"] * (blocks.variant.is_simple and blocks.stages > 3)
    return " ".join(words + ["pairs"] * (offer.own_splits > 1))


def predict_us(
    numbers: Mapping[str, Any], split: Integers, group: Integers, mnk: tuple[Any, Any, Any], device: Device
) -> Vector:
    """float64[launches]: microseconds by the model.

    numbers: facts_of, Rates.of and Rates.shared, an array or a number each. mnk: three sizes, or an array of
    each.
    """
    (m, n, k), sms, of = mnk, device.sms, SimpleNamespace(**numbers)
    sharing, steps = _sharing(of, split, k)
    items = _up(m, of.block_m) * _up(n, of.block_n) * sharing  # of work, one program's share of a block each
    few = np.where(np.asarray(m) <= FEW, sms, _up(items, _up(items, sms)))  # as Blocks.programs
    programs = np.where(of.persistent & (items > sms), few, items)
    at_once, waves, last = _waves(items, programs, of.resident, sms)
    # a step along K, an item
    step_bytes = of.step_bytes - np.maximum(0, of.block_m - m) * of.step_row_bytes
    load_ns = np.maximum(step_bytes / of.sm_gb_s, of.smem_bytes / of.smem_gb_s)
    load_ns = load_ns + _zero_lines(of, m, n) * of.zero_row_ns
    multiply_ns = of.product_ns * (of.block_m * of.block_n * of.block_k / 2**20)
    multiply_ns = multiply_ns + of.load_ns * ((of.block_m + of.block_n) * of.block_k / 1024) + of.step_ns
    block_ns = of.block_ns + of.element_ns * (of.block_m * of.block_n / 1024)

    def step_ns(together: Integers) -> Vector:
        """A step of programs that share an SM: multiplying, or loading."""
        longer = _longer(np.maximum(together, of.alone) * multiply_ns, together * load_ns, _SEAM)
        return np.maximum(of.latency_ns / of.stages, longer)

    def item_ns(together: Integers) -> Vector:
        return steps * step_ns(together) + block_ns * (1 + together) / 2

    multiplying_ns = waves * item_ns(of.resident) + np.where(last > 0, item_ns(last), 0.0)
    # memory and the L2
    busy = np.minimum(1.0, items / sms)  # part of the SMs that have work
    read, run_bytes = _traffic(of, group, np.maximum(1, at_once // sharing), mnk, device.l2_bytes)
    written = m * n * of.out_bytes
    traffic = read + of.write_cost * written * (1 + of.page_bytes / run_bytes)
    memory_ns = traffic / (of.dram_gb_s * of.reach)
    memory_ns = np.maximum(memory_ns, _items_of_a_pair(items, at_once, sms) / items * read / of.pair_gb_s)
    rows = np.where(of.sums_all_rows, of.block_m, np.minimum(of.block_m, _up(m, _WARP_ROWS) * _WARP_ROWS))
    part_bytes = np.where(sharing > 1, rows * of.block_n * _SUM_BYTES, 0)
    l2_bytes = items * steps * step_bytes + written + 2 * items * part_bytes
    beside_ns = _longer(memory_ns, l2_bytes / (of.l2_gb_s * busy), of.sharpness)
    # all together
    cold_ns = _longer(multiplying_ns, beside_ns, of.sharpness) + of.launch_us * 1e3
    duty = np.minimum(1.0, items * steps * step_ns(of.resident) / of.resident / (sms * cold_ns))
    multiplying_ns = multiplying_ns * (1 + of.heat * duty)  # the card lowers its clock
    total_us = of.launch_us + _longer(multiplying_ns, beside_ns, of.sharpness) / 1e3
    part_us = part_bytes / of.split_gb_s / 1e3
    once_us = of.split_us + sharing * (of.program_us + part_us)
    # A wave begins anew; a persistent program writes, counts and reads a part while nothing is multiplied.
    again_us = waves * np.where(programs < items, _PARTS * part_us, of.again_us + part_us)
    return total_us + np.where(sharing > 1, once_us + again_us, 0.0) + _passes_us(of, mnk)


def _up(size: Any, of: Any) -> Integers:
    return -(-size // of)


def _longer(one: Vector, other: Vector, sharpness: float) -> Vector:
    """The longer of two times that overlap, with a little of the shorter one."""
    return (one**sharpness + other**sharpness) ** (1 / sharpness)


def _sharing(of: SimpleNamespace, split: Integers, k: Any) -> tuple[Integers, Integers]:
    """(programs that share a block, steps of each): Blocks.splits and own_splits on arrays."""
    steps = np.maximum(1, _up(k, of.block_k))
    length = _up(steps, np.minimum(split, steps))
    splits = _up(steps, length)
    pairs = (splits % 2 == 0) & (steps - (splits - 1) * length >= length - 1) & ~((splits == 2) & (split > 2))
    own = np.where((of.own_splits > 1) & pairs, 2, 1)
    return splits // own, np.minimum(length * own, steps)


def _waves(
    items: Integers, programs: Integers, resident: Integers, sms: int
) -> tuple[Integers, Integers, Integers]:
    """(programs at once, full waves of them, programs of an SM in the last wave)."""
    at_once = np.minimum(programs, sms * resident)
    waves, rest = items // at_once, items % at_once
    partial = (rest == 0) & (at_once < sms * resident)  # the last wave leaves SMs idle
    return at_once, waves - partial, _up(np.where(partial, at_once, rest), sms)


def _items_of_a_pair(items: Integers, at_once: Integers, sms: int) -> Integers:
    """Items of the two SMs that have most: programs take one SM of each pair first, then the other."""
    each = np.where(at_once <= sms // _PAIR, 1, _PAIR * _up(at_once, sms))
    rest = items % at_once
    return items // at_once * each + np.where(rest > sms // _PAIR, _PAIR, np.minimum(rest, 1))


def _passes_us(of: SimpleNamespace, mnk: tuple[Any, Any, Any]) -> Vector:
    m, n, k = mnk
    element_bytes, bits, of_n, rows = of.passes.T  # [passes, launches] each
    mn = np.where(of_n, n, m)
    needed = (element_bytes > 0) & ((rows == 0) | (mn % np.maximum(1, rows) > 0))
    gb_s = np.array([getattr(of, f"pass_{number}_gb_s", 1.0) for number in range(17)])[bits.astype(int)]
    return (needed * (of.pass_us + element_bytes * (mn * k) / gb_s / 1e3)).sum(axis=0)


def _zero_lines(of: SimpleNamespace, m: Any, n: Any) -> Integers:
    """Lines of 128 zeros that TMA writes in a step of the slowest block: slower than loading as many."""
    block_m, block_n = of.block_m, of.block_n
    high = np.minimum(block_m, np.maximum(of.least_rows, np.exp2(np.ceil(np.log2(m))).astype(int)))
    of_a = np.where(m <= block_m, -m % high, -(m - block_m) % TMA_BYTES)
    of_b = np.where(of.within_n & (n > block_n), -(n - block_n) % TMA_BYTES, -n % block_n)
    return of_a * of.a_lines + of_b * of.b_lines


def _traffic(
    of: SimpleNamespace, group: Integers, at_once: Integers, mnk: tuple[Any, Any, Any], l2_bytes: int
) -> tuple[Vector, Vector]:
    """(bytes of A and B from memory, bytes of a row of D that are written at about one time).

    Programs that run at once go through D in groups. A group's own rows of one operand stay in the L2 while
    it sweeps over the other operand, which each group reads anew unless the L2 holds all of it.
    """
    m, n, k = mnk

    def side(of_b: NDArray[np.bool_]) -> tuple[Vector, Vector, Integers]:
        """(bytes of an operand, of a block's part of it, its blocks): of B, else A."""
        size, block = np.where(of_b, n, m), np.where(of_b, of.block_n, of.block_m)
        row_bytes = k * np.where(of_b, of.b_bits, of.a_bits) / 8
        return size * row_bytes, np.minimum(size, block) * row_bytes, _up(size, block)

    def missing(reused_bytes: Vector) -> Vector:
        return np.clip((reused_bytes / l2_bytes - _RESERVED_L2) / (1.0 - _RESERVED_L2) / 2, 0.0, 1.0)

    own, own_panel, across = side(of.by_columns)
    other, other_panel, along = side(~of.by_columns)
    group = np.minimum(group, across)
    width = np.minimum(along, np.maximum(1, _up(at_once, group)))
    again = 1 + (_up(along, width) - 1) * missing(group * own_panel + width * other_panel)
    swept = 1 + (_up(across, group) - 1) * missing(group * own_panel + other)
    beside = np.where(of.by_columns, group, np.maximum(1, at_once // group))
    beside = np.minimum(beside, _up(n, of.block_n))
    row_bytes = np.minimum(n * of.out_bytes, beside * of.block_n * of.out_bytes)
    return own * again + other * swept, row_bytes
