"""Work of a GEMM under given blocks: its programs, their steps, and the bytes that they move. Pure; no torch.

A unit is a block of D, one run of K of a block, or a share of all steps. A program computes one unit, or
several if it is persistent.
"""

from dataclasses import dataclass
from math import ceil

from fp8core.linear import Side
from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import BODIES
from kernels.gemm.cost.beyond import zero_rows
from kernels.gemm.cost.facts import Facts
from kernels.gemm.cost.passes import Pass, passes
from kernels.gemm.cost.traffic import Factors, dram_bytes, out_of_step_bytes, written_run_bytes
from kernels.gemm.cost.variant import Variant
from kernels.gemm.hopper.decoding.blocks import beside, runs_each
from kernels.gemm.hopper.sizes import SLAB
from kernels.gemm.meaning import Meaning
from kernels.gemm.simple.blocks import THREADS_A_WARP

Mnk = tuple[int, int, int]

_REGISTERS = 1 << 16
_SHARED_BYTES = 228 << 10
_OTHER_REGISTERS = 56
"""Registers of a thread of the simple kernels beside its sums: addresses, counters, scales."""
_MOST_REGISTERS = 255
_SUM_BYTES = 4
_WARP_ROWS = SLAB // 4
"""Rows of a slab that one warp has; those beyond D need no traffic."""


@dataclass(frozen=True, slots=True)
class Work:
    """What one launch does, in numbers that a prediction needs.

    - units: blocks of D, or runs of K of those that programs share, or programs' shares of steps where their
      parts are uneven. programs: those that are launched.
    - whole: units that are whole blocks beside others that are not, in full waves. resident: programs that an
      SM holds at once.
    - steps: steps along K of a unit, of a run or a share where there are some. whole_steps: of a whole block.
      all_steps: of all units. step_bytes: bytes that a unit loads in a step. zero_rows: rows that TMA fills
      with zeros in a step of a block at D's end. stages: of its ring.
    - read_bytes, written_bytes: traffic with memory. written_run: bytes that are written side by side.
      l2_bytes: traffic with the L2.
    - runs: programs that share a block in equal runs. uneven: they have uneven parts. sum_bytes: one
      program's part of the block's sum.
    - passes: launches before the kernel.
    """

    variant: Variant
    units: int
    programs: int
    whole: int
    resident: int
    steps: int
    whole_steps: int
    all_steps: int
    step_bytes: int
    zero_rows: int
    stages: int
    read_bytes: float
    written_bytes: float
    written_run: float
    l2_bytes: float
    runs: int
    uneven: bool
    sum_bytes: int
    passes: tuple[Pass, ...]
    sms: int

    @property
    def waves(self) -> tuple[int, int]:
        """Full waves of units, and the units that one SM has at most in the last wave; 0 where none is left.
        Whole blocks beside others are not counted.

        A wave has as many units as programs run at once. A persistent program takes one unit a wave.
        """
        at_once = min(self.programs, self.sms * self.resident)
        full, left = divmod(self.units - self.whole, at_once)
        if left == 0 and at_once < self.sms * self.resident:
            return full - 1, ceil(at_once / self.sms)
        return full, ceil(left / self.sms)


def work_of(meaning: Meaning, blocks: Blocks, mnk: Mnk, device: Device, facts: Facts | None = None) -> Work:
    """The work of a GEMM under blocks that its body carries out. facts: those of the meaning, if known."""
    facts = facts or Facts.of(meaning)
    m, n, k = mnk
    runs, steps = blocks.runs(k)
    if blocks.body is Body.DECODING:
        each = runs_each(blocks, k)
        runs, steps = runs // each, steps * each
    programs = blocks.programs(m, n, device.sms) * (1 if blocks.shares_last else runs)
    step_bytes, stage_bytes = _step_bytes(meaning, facts, blocks, m)
    resident = _resident(meaning, blocks, stage_bytes, k)
    count, whole_steps = blocks.count(m, n), -(-k // blocks.block_k)
    whole = blocks.whole(m, n, device.sms) if blocks.shares_last else 0
    units = whole + (count - whole) * runs
    steps = min(steps, whole_steps)
    all_steps = whole * whole_steps + (units - whole) * steps
    between = 0.0
    if blocks.uneven:
        whole, all_steps = blocks.whole(m, n, device.sms), count * whole_steps
        steps = blocks.share(mnk, device.sms)
        units = whole + -(-(count - whole) * whole_steps // steps)
        between = programs * max(0.0, steps / whole_steps - 1)  # whole blocks after parts that end anywhere
    factors = Factors.of(facts, blocks, mnk)
    at_once = min(programs, device.sms * resident) // (1 if blocks.shares_last else runs) or 1
    out_bytes = m * n * facts.out_bytes
    sum_bytes = _summed_rows(blocks, m) * blocks.block_n * _SUM_BYTES if runs > 1 or blocks.uneven else 0
    return Work(
        variant=Variant.of(facts, blocks),
        units=units,
        programs=programs,
        whole=whole,
        resident=resident,
        steps=steps,
        whole_steps=whole_steps,
        all_steps=all_steps,
        step_bytes=step_bytes,
        zero_rows=zero_rows(meaning, facts, blocks, mnk),
        stages=blocks.stages,
        read_bytes=dram_bytes(factors, blocks, at_once, device.l2_bytes)
        + out_of_step_bytes(factors, between, device.l2_bytes),
        written_bytes=float(out_bytes),
        written_run=written_run_bytes(factors, blocks, at_once, n * facts.out_bytes),
        l2_bytes=float(all_steps * step_bytes + out_bytes + 2 * (units - whole) * sum_bytes),
        runs=runs,
        uneven=blocks.uneven,
        sum_bytes=sum_bytes,
        passes=passes(meaning, blocks, mnk),
        sms=device.sms,
    )


def _step_bytes(meaning: Meaning, facts: Facts, blocks: Blocks, m: int) -> tuple[int, int]:
    """(bytes that a step loads, bytes of a stage of shared memory)."""
    storage_of = BODIES[blocks.body].storage
    if storage_of is None:
        rows = (min(blocks.block_m, m), blocks.block_n)
        loaded = sum(
            high * blocks.block_k * facts.bits(side, blocks) // 8
            for high, side in zip(rows, Side, strict=True)
        )
        return loaded, blocks.operand_bytes(facts.value_bytes[0])
    storage = storage_of(meaning, blocks)
    unread = max(0, storage.a_box[0] - m) * blocks.block_k * facts.value_bytes[0]
    return storage.stage_bytes - (0 if blocks.decoded else unread), storage.stage_bytes


def _summed_rows(blocks: Blocks, m: int) -> int:
    """Rows of a block's sum that pass through memory: those of warps that have rows of D, where the body is
    warp-specialized.
    """
    if blocks.body.is_simple or blocks.body is Body.DECODING:
        return blocks.block_m
    return min(blocks.block_m, -(-m // _WARP_ROWS) * _WARP_ROWS)


def _resident(meaning: Meaning, blocks: Blocks, stage_bytes: int, k: int) -> int:
    """Programs that an SM holds at once: those of a warp-specialized body fill its shared memory, but for two
    with half of it each.
    """
    if blocks.body is Body.DECODING:
        return 1 + beside(blocks, BODIES[Body.DECODING].storage(meaning, blocks), k)
    if not blocks.body.is_simple:
        return 1
    threads = blocks.warps * THREADS_A_WARP
    sums = blocks.block_m * blocks.block_n // threads
    held = sums * (1 if meaning.promotion is WHOLE else 2)
    registers = min(_MOST_REGISTERS, held + _OTHER_REGISTERS) * threads
    memory = blocks.stages * stage_bytes + blocks.decoded_bytes() + 1024
    return max(1, min(_REGISTERS // registers, _SHARED_BYTES // memory))
