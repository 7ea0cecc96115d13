"""The blocks for a GEMM: measured ones for its shape, else the fastest by a small model of time.

| part of the time | is |
|---|---|
| launch | a constant of the variant |
| multiplying | waves of blocks · (steps along K · time of a step + all else that a block takes) |
| a step | products / rate + bytes / rate + a constant; or what an SM takes from the L2 in it |
| memory, L2 | bytes / bandwidth, of as many SMs as have work; both run beside multiplying |
| split-K | where programs share a block, the last one reads all parts of its sum |
| passes | each one a launch more, and its bytes |

A variant offers blocks without regard to a shape (Offer). The model holds their facts as arrays, so a new
shape costs a few operations on arrays. `python -m kernels.measure random --fit` fits the rates in
assets/cost/ to launches of random draws. No torch.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fp8core.linear import Side
from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm.arithmetic import Arithmetic, ScaleAt
from kernels.gemm.blocks import Blocks, Offer, Variant
from kernels.gemm.hopper.refusals import lacks_specialized
from kernels.gemm.hopper.sizes import SCALE_BYTES, SLAB, TMA_BYTES
from kernels.gemm.numerics import Numerics
from kernels.gemm.passes.decode import read_as
from kernels.gemm.shape_class import FEW
from kernels.gemm.simple.blocks import THREADS_A_WARP
from kernels.gemm.tuned import NEAR, Tuned, architecture, near, table
from kernels.gemm.variants import VARIANTS, product_refusal, refusal
from kernels.paths import COST
from kernels.typed import from_data

Mnk = tuple[int, int, int]
Vector = NDArray[np.float64]

AGREED = 1.05
"""A measured plan of a shape nearby wins within this factor of the model's best."""
_DOUBT = 1.1
"""Factor on the time of a class that nobody measured: else the most underestimated of many would win."""
_RESERVED_L2 = 0.5
"""Part of the L2 within which every second read hits. A judgment: the rest turns over."""
_SCALES = 0.03
"""Bytes of scales beside a byte of codes."""
_REGISTERS, _SHARED_BYTES, _OTHER_REGISTERS, _MOST_REGISTERS = 1 << 16, 228 << 10, 56, 255
_SUM_BYTES, _WARP_ROWS, _SEAM = 4, SLAB // 4, 8.0
_SHORT_K = 256
"""Products along K up to which an order that writes D row by row is offered, too."""
_MOST_SHARING, _LEAST_STEPS, _LEAST_SHARING = 16, 4, 16
"""The most programs that share a block, the fewest steps of each, and from how many a quarter is offered."""
_KEPT = 4096


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The model's numbers for one GPU, as assets/cost/ has them.

    - shared: of all kernels. dram_gb_s, l2_gb_s, sm_gb_s: bandwidth of memory, the L2, one SM. idle: loss
      of bandwidth while few SMs have work. write_cost: a byte written, in bytes read. page_bytes: cost
      of one more run of written bytes. zero_row_ns: for 128 zeros beyond an operand. latency_ns: of a stage's
      load. pass_us, pass_4_gb_s … pass_16_gb_s: a pass, and its bandwidth by the bits of its input.
      sharpness: how little the shorter of two overlapping times counts. heat: slowdown with all tensor cores
      busy.
    - variants: launch_us; alone, a step's time for a program with an SM to itself; split_us, run_us,
      split_gb_s: split-K once, for each program, and the bandwidth of adding parts; again_us: one more wave
      of such programs.
    - classes: of blocks that multiply alike (class_of). product_ns for 2**20 products, load_ns for 1024
      elements of a block's two sides along K, step_ns, block_ns, element_ns for 1024 numbers of D; reach: the
      part of dram_gb_s that they draw; count: measurements behind the fit.
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

    def vector(self, name: str, of: str, keys: Collection[str]) -> Vector:
        """float64[keys]: one number of each variant or class; for an unknown one, the first's."""
        rates = getattr(self, of)
        first = next(iter(rates.values()))
        return np.array([rates.get(key, first)[name] for key in keys])

    def on(self, device: Device) -> "Rates":
        """These rates for another device, with its memory and clock if they are known."""
        memory = device.memory_gb_s / self.memory_gb_s if device.memory_gb_s else 1.0
        clock = device.clock_mhz / self.clock_mhz if device.clock_mhz else 1.0
        factors = {"l2_gb_s": clock * device.sms / self.sms, "sm_gb_s": clock, "dram_gb_s": memory}
        factors |= {name: memory for name in self.shared if name.startswith("pass_") and name != "pass_us"}
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
    """Path of an architecture's rates, even where there is no such file."""
    return COST / f"{architecture(capability)}.json"


@lru_cache(maxsize=16)
def rates_of(device: Device) -> Rates:
    """The rates for a device: its architecture's own, or Hopper's, scaled by the device's facts."""
    own = rates_path(device.capability or (0, 0))
    return read(own if own.exists() else rates_path((9, 0))).on(device)


class Candidates:
    """The offers of all variants for a matmul on a device; `facts`: an array of each fact for the model."""

    def __init__(self, numerics: Numerics, device: Device) -> None:
        self.device, self.offers = device, [*_offers(numerics, device)]
        self.variants = np.array([offer.blocks.variant.value for offer in self.offers])
        self.classes = [class_of(numerics, offer) for offer in self.offers]
        facts = [facts_of(numerics, offer) for offer in self.offers]
        self.facts = {name: np.array([each[name] for each in facts]) for name in (facts[0] if facts else ())}
        self.tuned, self.unread = (), ""
        try:
            self.tuned = table(device.capability).get(str(numerics.family), ()) if device.capability else ()
        except ValueError as error:
            self.unread = f"; {error}"
        self._sizes = np.array([row.mnk for row in self.tuned]).reshape(-1, 3)

    def near(self, mnk: Mnk, variants: Collection[Variant]) -> tuple[Tuned, ...]:
        """Measured rows of these variants, of shapes nearby, the nearest first."""
        is_near = (np.abs(np.log2(self._sizes / mnk)) <= NEAR).all(axis=1)
        rows = [self.tuned[at] for at in np.nonzero(is_near)[0]]
        rows = [row for row in rows if row.blocks.variant in variants]
        return near(rows, mnk) if rows else ()

    @cached_property
    def rates(self) -> dict[str, Vector]:
        """The rates of each offer's variant and class."""
        rates = rates_of(self.device)
        return {
            name: rates.vector(name, of, keys)
            for of, keys in (("variants", self.variants.tolist()), ("classes", self.classes))
            for name in next(iter(getattr(rates, of).values()))
        }

    def expanded(self, mnk: Mnk, variants: Collection[Variant]) -> "Expansion":
        """Every offer of these variants for a shape, with each split-K and order of blocks."""
        f, (m, n, k), sms = self.facts, mnk, self.device.sms
        if not self.offers:
            return Expansion(*(np.zeros(0, int) for _ in range(3)))
        rows = np.where(f["rows_of_n"], n, m)
        count = _up(m, f["block_m"]) * _up(n, f["block_n"])
        offered = np.isin(self.variants, [variant.value for variant in variants])
        offered &= (rows > f["rows_above"]) & (rows <= f["rows_upto"])
        offered &= (count > f["waves_above"] * sms) & (count <= f["waves_upto"] * sms)
        offered &= (f["taller"] < 0) | (f["taller"] == (m > n))
        steps = np.maximum(1, _up(k, f["block_k"]))
        # fixed numbers of runs: while an SM has fewer than two programs, and a run a few steps
        runs = np.minimum(steps // _LEAST_STEPS, 2 * (2 * sms - 1) // count)
        splits = np.where(f["splits"] <= np.maximum(1, runs)[:, None], f["splits"], 0)
        splits = np.where((f["own_splits"] > 1)[:, None], f["splits"], splits)
        most = np.minimum(np.minimum(sms // count, steps // f["own_splits"] // _LEAST_STEPS), _MOST_SHARING)
        most = np.where(f["shared"], np.maximum(1, most), 0)
        shared = np.stack([most // 4 * (most >= _LEAST_SHARING), most // 2, most], axis=1)
        shared = np.where((shared > 1), shared * f["own_splits"][:, None], 0)
        splits = np.concatenate([splits, shared], axis=1)  # [offers, splits], 0 for none
        groups = f["groups"].copy()  # [offers, groups], 0 for none
        row = np.where(f["block_m"] > f["block_n"], _up(n, f["block_n"]), 1)
        by_rows = (k <= _SHORT_K) & (groups[:, 1] > 0) & ~(groups == row[:, None]).any(axis=1)
        groups = np.concatenate([groups, (row * by_rows)[:, None]], axis=1)
        valid = offered[:, None, None] & (splits > 0)[:, :, None] & (groups > 0)[:, None, :]
        valid[:, :, 1:] &= (splits == 1)[:, :, None]  # programs that share blocks go in one order
        o, s, g = np.nonzero(valid)
        expansion = Expansion(o, splits[o, s], groups[o, g])
        if not f["paired"].any():
            return expansion
        good = ~f["paired"][o] | (_runs(f["block_k"][o], f["own_splits"][o], expansion.split, k)[2] > 1)
        return Expansion(expansion.offer[good], expansion.split[good], expansion.group[good])

    def blocks(self, expansion: "Expansion", at: int) -> Blocks:
        """The blocks of one candidate."""
        blocks, split = self.offers[expansion.offer[at]].blocks, int(expansion.split[at])
        persistent = blocks.persistent and split == 1
        return replace(blocks, split_k=split, group=int(expansion.group[at]), persistent=persistent)

    def predicted(self, mnk: Mnk, variants: Collection[Variant]) -> tuple["Expansion", Vector]:
        """The candidates of these variants, and the microseconds of each with everything before it.

        A class that nobody measured counts as a little slower.
        """
        expansion = self.expanded(mnk, variants)
        if not self.offers:
            return expansion, np.zeros(0)
        f = {name: fact[expansion.offer] for name, fact in self.facts.items()}
        r = {name: each[expansion.offer] for name, each in self.rates.items()}
        us = predict_us(f, r, rates_of(self.device).shared, expansion, mnk, self.device)
        return expansion, us * np.where(r["count"] > 0, 1.0, _DOUBT)


@dataclass(frozen=True, slots=True)
class Expansion:
    """Candidates: int64[candidates] each: the offer, split-K, and the order of blocks."""

    offer: NDArray[np.int64]
    split: NDArray[np.int64]
    group: NDArray[np.int64]


def _offers(numerics: Numerics, device: Device) -> Iterator[Offer]:
    """The offers of all variants that a device runs and that compute a matmul."""
    for variant, entry in VARIANTS.items():
        able = entry.storage is None or not lacks_specialized(device)
        if able and not product_refusal(variant, numerics):
            yield from entry.offers(numerics, device)


@lru_cache(maxsize=256)
def candidates_of(numerics: Numerics, device: Device) -> Candidates:
    return Candidates(numerics, device)


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


def facts_of(numerics: Numerics, offer: Offer) -> dict[str, object]:
    """The facts of an offer that do not depend on a shape."""
    blocks, simple = offer.blocks, offer.blocks.variant.is_simple
    value_bytes = [each.bytes for each in numerics.multiplied]
    bits = []
    for side, size in zip(Side, value_bytes, strict=True):
        operand = numerics.spec.operand(side)
        coded = size * 8 if operand is None else operand.format.packed_bits
        bits.append(coded if blocks.decodes(side) else 8 * size)
    b_tile = numerics.applied(Side.B)
    squares = numerics.scale_at is ScaleAt.K_LOOP and b_tile is not None and b_tile.mn != 1
    storage = None if simple else VARIANTS[blocks.variant].storage(numerics, blocks)
    stage_bytes = blocks.operand_bytes(value_bytes[0]) if simple else storage.stage_bytes
    splits = [*offer.splits, *[0] * (10 - len(offer.splits))]
    passes = [*_passes(numerics, blocks), *[(0.0, 16, 0, 0)] * 4][:4]
    return {
        "block_m": blocks.block_m,
        "block_n": blocks.block_n,
        "block_k": blocks.block_k,
        "stages": blocks.stages,
        "persistent": blocks.persistent,
        "simple": simple,
        "by_columns": blocks.transposed or (not simple and blocks.block_m > blocks.block_n),
        "rows_of_n": blocks.decoded == "a" and not simple,
        "rows_above": offer.rows[0],
        "rows_upto": offer.rows[1],
        "waves_above": offer.waves[0],
        "waves_upto": offer.waves[1],
        "taller": -1 if offer.taller is None else int(offer.taller),
        "splits": splits,
        "shared": offer.shared,
        "own_splits": offer.own_splits,
        "paired": offer.own_splits > 1 and blocks.decoded == "ab",
        "groups": [*offer.groups, *[0] * (4 - len(offer.groups))],
        "a_bits": bits[0] * (1 + _SCALES * blocks.decodes(Side.A)),
        "b_bits": bits[1] * (1 + _SCALES * blocks.decodes(Side.B)),
        "a_lines": max(1, round(blocks.block_k * bits[0] / 1024)) * (not simple),
        "b_lines": max(1, round(blocks.block_k * bits[1] / 1024)) * (not simple),
        "least_rows": blocks.block_m if simple else storage.least_rows,
        "stays_n": blocks.variant is Variant.DECODING or not squares,
        "step_a_bytes": (bits[0] // 8 * simple or value_bytes[0] * (not blocks.decoded)) * blocks.block_k,
        "step_bytes": stage_bytes
        if not simple
        else (blocks.block_m * bits[0] + blocks.block_n * bits[1]) * blocks.block_k // 8,
        "resident": _resident(numerics, blocks, stage_bytes),
        "sums_all_rows": simple or blocks.variant is Variant.DECODING,
        "out_bytes": numerics.spec.out.bytes,
        "pass_bytes": [each[0] for each in passes],
        "pass_bits": [each[1] for each in passes],
        "pass_of_n": [each[2] for each in passes],
        "pass_unless": [each[3] for each in passes],
    }


def _resident(numerics: Numerics, blocks: Blocks, stage_bytes: int) -> int:
    """Programs that an SM holds at once: one of a warp-specialized variant fills its shared memory."""
    if not blocks.variant.is_simple:
        return 1
    threads = blocks.warps * THREADS_A_WARP
    sums = blocks.block_m * blocks.block_n // threads * (1 if numerics.promotion is WHOLE else 2)
    registers = min(_MOST_REGISTERS, sums + _OTHER_REGISTERS) * threads
    memory = blocks.stages * stage_bytes + blocks.decoded_bytes() + 1024
    return max(1, min(_REGISTERS // registers, _SHARED_BYTES // memory))


def _passes(numerics: Numerics, blocks: Blocks) -> Iterator[tuple[float, int, int, int]]:
    """(bytes an element, bits of a number it reads, 1 for B, rows) of each pass before the kernel. A multiple
    of `rows` rows needs no pass; 0: every operand needs it.
    """
    for of_n, side in enumerate(Side):
        operand, applied = numerics.spec.operand(side), numerics.applied(side)
        if numerics.scale_at is ScaleAt.K_LOOP and not blocks.variant.is_simple:
            if (
                applied is not None and applied.mn == 1 and applied.k
            ):  # scales are copied so that TMA can start
                yield 2 * SCALE_BYTES / applied.k, 16, of_n, TMA_BYTES // SCALE_BYTES
        elif numerics.arithmetic is not Arithmetic.DEQUANTIZED:
            continue
        elif operand is None:
            if blocks.variant is Variant.DECODING:
                yield 4.0, 16, of_n, 0
        elif not blocks.decodes(side):
            bits = operand.format.packed_bits
            yield bits / 8 + 2, bits, of_n, 0
        elif blocks.variant is Variant.DECODING:
            bits = operand.format.packed_bits
            if read_as(operand) != operand:
                yield bits / 8 + 1, bits, of_n, 0
            if (blocks.decoded != "ab" or side is Side.B) and operand.tile.k:
                yield 2 / operand.tile.k, 8, of_n, 0 if operand.tile.mn != 1 else TMA_BYTES


def _up(size: int, of: NDArray[np.int64]) -> NDArray[np.int64]:
    return -(-size // of)


def _runs(
    block_k: NDArray[np.int64], each: NDArray[np.int64], split: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(programs that share a block, steps of each, splits of K that a program takes): see Blocks.splits."""
    whole = np.maximum(1, _up(k, block_k))
    length = -(-whole // np.minimum(split, whole))
    runs = -(-whole // length)
    even = (runs % 2 == 0) & (whole - (runs - 1) * length >= length - 1) & ~((runs == 2) & (split > 2))
    each_program = np.where((each > 1) & even, 2, 1)
    return runs // each_program, np.minimum(length * each_program, whole), each_program


def predict_us(
    f: dict[str, NDArray],
    r: dict[str, Vector],
    shared: Mapping[str, float],
    expansion: Expansion,
    mnk: Mnk,
    device: Device,
) -> Vector:
    """float64[candidates]: microseconds by the model. f: facts of the candidates, r: their rates."""
    (m, n, k), sms = mnk, device.sms
    bm, bn, bk = f["block_m"], f["block_n"], f["block_k"]
    rows, columns = _up(m, bm), _up(n, bn)
    count = rows * columns
    runs, steps, _ = _runs(bk, f["own_splits"], expansion.split, k)
    few = np.where(np.asarray(m) <= FEW, sms, -(-count // -(-count // sms)))
    programs = np.where(f["persistent"] & (expansion.split == 1) & (count > sms), few, count) * runs
    units, at_once = count * runs, np.minimum(programs, sms * f["resident"])
    full, left = units // at_once, units % at_once
    partly = (left == 0) & (at_once < sms * f["resident"])  # the last wave leaves SMs idle
    full, last = full - partly, -(-np.where(partly, at_once, left) // sms)
    # a step: multiplying, or loading
    step_bytes = f["step_bytes"] - np.maximum(0, bm - m) * f["step_a_bytes"]
    loaded = step_bytes / shared["sm_gb_s"] + _zero_rows(f, m, n) * shared["zero_row_ns"]
    step = r["product_ns"] * (bm * bn * bk / 2**20) + r["load_ns"] * ((bm + bn) * bk / 1024) + r["step_ns"]
    block = r["block_ns"] + r["element_ns"] * (bm * bn / 1024)
    latency = shared["latency_ns"] / f["stages"]

    def step_ns(together: NDArray) -> Vector:
        return np.maximum(latency, _longer(np.maximum(together, r["alone"]) * step, together * loaded, _SEAM))

    def unit_ns(together: NDArray) -> Vector:
        return steps * step_ns(together) + block * (1 + together) / 2

    multiplying = full * unit_ns(f["resident"]) + np.where(last > 0, unit_ns(last), 0.0)
    # memory and the L2
    busy = np.minimum(1.0, units / sms)
    side_by_side = np.maximum(1, np.minimum(programs, sms * f["resident"]) // runs)
    read, run_bytes = _traffic(f, expansion.group, side_by_side, mnk, device.l2_bytes)
    written = m * n * f["out_bytes"]
    traffic = read + shared["write_cost"] * written * (1 + shared["page_bytes"] / run_bytes)
    speed = shared["dram_gb_s"] / (1 + shared["idle"] * (1 - busy))
    memory = traffic / np.minimum(speed * r["reach"], busy * sms * shared["sm_gb_s"])
    summed = (
        np.where(f["sums_all_rows"], bm, np.minimum(bm, -(-m // _WARP_ROWS) * _WARP_ROWS)) * bn * _SUM_BYTES
    )
    summed = np.where(runs > 1, summed, 0)
    l2 = (units * steps * step_bytes + written + 2 * units * summed) / (shared["l2_gb_s"] * busy)
    beside = _longer(memory, l2, shared["sharpness"])
    cold = _longer(multiplying, beside, shared["sharpness"]) + r["launch_us"] * 1e3
    duty = np.minimum(1.0, units * steps * step_ns(f["resident"]) / f["resident"] / (sms * cold))
    multiplying *= 1 + shared["heat"] * duty  # the card lowers its clock
    total = r["launch_us"] + _longer(multiplying, beside, shared["sharpness"]) / 1e3
    part_us = summed / r["split_gb_s"] / 1e3
    once = r["split_us"] + runs * (r["run_us"] + part_us)
    again = np.where(programs < units, 0, full * (r["again_us"] + part_us))  # the next wave begins anew
    return total + np.where(runs > 1, once + again, 0.0) + _passes_us(f, shared, mnk)


def _passes_us(f: dict[str, NDArray], shared: Mapping[str, float], mnk: Mnk) -> Vector:
    """Microseconds of the passes."""
    m, n, k = mnk
    mn = np.where(f["pass_of_n"].T, n, m).T  # [candidates, passes]
    needed = (f["pass_bytes"] > 0) & ((f["pass_unless"] == 0) | (mn % np.maximum(1, f["pass_unless"]) > 0))
    speeds = np.array([shared.get(f"pass_{bits}_gb_s", 1.0) for bits in range(17)])[f["pass_bits"]]
    elements = (mn.T * k).T
    return (needed * (shared["pass_us"] + f["pass_bytes"] * elements / speeds / 1e3)).sum(axis=1)


def _longer(one: Vector, other: Vector, sharpness: float) -> Vector:
    """The longer of two times that overlap, with a little of the shorter one."""
    return (one**sharpness + other**sharpness) ** (1 / sharpness)


def _zero_rows(f: dict[str, NDArray], m: int, n: int) -> Vector:
    """Lines of 128 zeros that TMA writes in a step of the slowest block: slower than loading as many."""
    bm, bn = f["block_m"], f["block_n"]
    high = np.minimum(bm, np.maximum(f["least_rows"], np.exp2(np.ceil(np.log2(m))).astype(int)))
    of_a = np.where(m <= bm, -m % np.where(m < bm, high, bm), -(m - bm) % TMA_BYTES)
    of_b = np.where(~f["stays_n"] | (n <= bn), -n % bn, -(n - bn) % TMA_BYTES)
    return of_a * f["a_lines"] + of_b * f["b_lines"]


def _traffic(
    f: dict[str, NDArray], group: NDArray[np.int64], at_once: NDArray, mnk: Mnk, l2_bytes: int
) -> tuple[Vector, Vector]:
    """(bytes of A and B that come from memory, bytes of a row of D that are written at about one time).

    Programs that run at once go through D in groups. A group's own rows of one operand stay in the L2 while
    it sweeps over all of the other operand, which each group reads anew unless the L2 holds all of it.
    """
    m, n, k = mnk
    a_row, b_row = k * f["a_bits"] / 8, k * f["b_bits"] / 8
    rows, columns, by_columns = _up(m, f["block_m"]), _up(n, f["block_n"]), f["by_columns"]
    a, b = (m * a_row, np.minimum(m, f["block_m"]) * a_row), (n * b_row, np.minimum(n, f["block_n"]) * b_row)
    own, own_panel = np.where(by_columns, b[0], a[0]), np.where(by_columns, b[1], a[1])
    other, other_panel = np.where(by_columns, a[0], b[0]), np.where(by_columns, a[1], b[1])
    across, along = np.where(by_columns, columns, rows), np.where(by_columns, rows, columns)
    group = np.minimum(group, across)
    groups = -(-across // group)
    width = np.minimum(along, np.maximum(1, -(-at_once // group)))
    waves = -(-along // width)
    own_bytes = group * own_panel
    again = 1 + (waves - 1) * _reread_part(own_bytes + width * other_panel, l2_bytes)
    swept = 1 + (groups - 1) * _reread_part(own_bytes + other, l2_bytes)
    beside = np.minimum(np.where(by_columns, group, np.maximum(1, at_once // group)), columns)
    row_bytes = n * f["out_bytes"]
    return own * again + other * swept, np.minimum(row_bytes, beside * f["block_n"] * f["out_bytes"])


def _reread_part(wanted_bytes: Vector, l2_bytes: int) -> Vector | float:
    """Part of a second read that the L2 no longer has."""
    if not l2_bytes:
        return 1.0
    return np.clip((wanted_bytes / l2_bytes - _RESERVED_L2) / (1.0 - _RESERVED_L2) / 2, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Choice:
    """Blocks, and a sentence on the choice."""

    blocks: Blocks
    why: str


def ranked(
    numerics: Numerics, mnk: Mnk, device: Device, variants: Collection[Variant]
) -> list[tuple[float, Blocks]]:
    """(microseconds, blocks) of all candidates of these variants, the fastest first.

    Raises ValueError where there are no rates.
    """
    candidates = candidates_of(numerics, device)
    expansion, us = candidates.predicted(mnk, variants)
    return [
        (float(us[at]), candidates.blocks(expansion, at)) for at in np.argsort(us, kind="stable").tolist()
    ]


def tries(variant: Variant, numerics: Numerics, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """The blocks that a variant offers for a GEMM; none if it does not run it."""
    if not refusal(variant, numerics, mnk, device):
        candidates = candidates_of(numerics, device)
        expansion = candidates.expanded(mnk, [variant])
        yield from dict.fromkeys(candidates.blocks(expansion, at) for at in range(expansion.offer.size))


@lru_cache(maxsize=_KEPT)
def best_blocks(numerics: Numerics, mnk: Mnk, device: Device, variants: frozenset[Variant]) -> Choice:
    """The fastest blocks. A measured plan wins at its own shape, and at a shape nearby if the model puts it
    near its best. A variant that was never measured runs only if no other can.

    Raises ValueError for a shape without a measurement where there are no rates, or no candidates.
    """
    candidates = candidates_of(numerics, device)
    rows = candidates.near(mnk, variants)
    if rows and rows[0].mnk == mnk:
        return Choice(rows[0].blocks, f"the best blocks measured on {_source(rows[0])}, for this shape")
    rates = rates_of(device)
    measured = [variant for variant in variants if variant.value in rates.variants] or variants
    expansion, us = candidates.predicted(mnk, measured)
    if not us.size:
        raise ValueError("no variant has candidates for it")
    best = int(us.argmin())
    near_best = np.nonzero(us <= us[best] * AGREED)[0].tolist() if rows else []
    near_best = [candidates.blocks(expansion, at) for at in near_best]
    for row in rows:
        if row.blocks in near_best:
            sizes = " × ".join(map(str, row.mnk))
            return Choice(row.blocks, f"the best blocks measured on {_source(row)}, for {sizes}")
    why = f"the fastest of {us.size} candidates by the cost model of {rates.gpu}"
    return Choice(candidates.blocks(expansion, best), f"{why}: about {us[best]:.3g} µs{candidates.unread}")


def _source(row: Tuned) -> str:
    return f"{row.measurement.gpu}, {row.measurement.date}"
