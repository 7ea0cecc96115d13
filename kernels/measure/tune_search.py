"""The tuner's search for one GEMM: compile the candidates, check their bits, time them, vary the best."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kernels.device import Device
from kernels.gemm.blocks import MAX_SPLIT, Blocks, Variant
from kernels.gemm.choose import tries
from kernels.gemm.plan import GemmPlan
from kernels.gemm.shape_class import FEW, ShapeClass
from kernels.gemm.simple.blocks import fit
from kernels.gemm.tuned import table
from kernels.measure.exactness import predictable
from kernels.measure.jobs import Cache


def coarse(plan: GemmPlan, mnk: tuple[int, int, int], device: Device) -> list[Blocks]:
    """First tries for a plan's meaning, of every variant that runs it on the device."""
    few = mnk[0] < FEW // 2
    variants = (
        variant for variant in Variant if variant is not Variant.CHAINED or not few
    )  # chained blocks are 128 rows high
    candidates = (blocks for variant in variants for blocks in tries(variant, plan.meaning, mnk, device))
    return list(dict.fromkeys(candidates))


def again(
    plan: GemmPlan, mnk: tuple[int, int, int], device: Device, variants: Collection[Variant]
) -> list[Blocks]:
    """First tries where some variants are searched anew: their own, beside the table's of the others.

    Where no variant is named, all of every variant.
    """
    candidates = coarse(plan, mnk, device)
    if not variants:
        return candidates
    shape = ShapeClass.of(mnk, device.sms)
    tabled = table(device.capability or (0, 0)).get(str(plan.meaning.family), ())
    others = (row.blocks for row in tabled if row.shape == shape and row.blocks.variant not in variants)
    return [blocks for blocks in candidates if blocks.variant in variants] + list(others)


def finer(plan: GemmPlan, mnk: tuple[int, int, int], device: Device, best: Blocks) -> list[Blocks]:
    """One step away from blocks that did well: the order of blocks, stages, and the neighboring splits."""
    if not best.variant.is_simple:  # its coarse list is all there is
        return []
    tries = [replace(best, group=group) for group in (4, 16, 32)] if mnk[0] > 4 * best.block_m else []
    tries += [replace(best, stages=stages) for stages in (best.stages - 1, best.stages + 1) if stages > 1]
    splits = {best.split_k * 3 // 2, best.split_k * 3 // 4} if best.split_k > 1 else set()
    tries += [replace(best, split_k=split) for split in sorted(splits) if 1 < split <= MAX_SPLIT]
    fitting = (fit(plan.meaning, blocks, device) for blocks in tries)
    return [blocks for blocks in dict.fromkeys(fitting) if blocks is not None and blocks != best]


if TYPE_CHECKING:
    from kernels.measure.tune_job import TuneJob

_COARSE = {"runs": 5, "turn_ms": 4, "settle_ms": 0}
_FINAL = {"runs": 5, "turn_ms": 50, "settle_ms": 100}
_BEST = 3
_COMPILED, _CHECKED, _TIMED = 0.4, 0.5, 0.8

Tell = Callable[[float, str], None]
Compile = Callable[[Sequence[Blocks]], Sequence[str]]


@dataclass
class Outcome:
    """Microseconds of a launch by blocks, hot and with the L2 flushed.

    For blocks that cannot run or gave wrong bits, a sentence says so.
    """

    times: dict[Blocks, float] = field(default_factory=dict)
    cold: dict[Blocks, float] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def fastest(self) -> list[Blocks]:
        """The fastest blocks of the simple variants and of the others, by the geometric mean of hot and cold.

        The best blocks at a card's power limit need not be the best below it, and a kernel is judged by both.
        """
        best: dict[object, Blocks] = {}
        for blocks in sorted(self.times, key=lambda blocks: self.times[blocks] * self.cold[blocks]):
            best.setdefault(blocks.variant.is_simple, blocks)
        return list(best.values())


def _kind(blocks: Blocks) -> tuple[object, ...]:
    """What short turns cannot compare: in them all share a clock, and what draws less power gains nothing."""
    if blocks.variant.is_simple:
        return (blocks.variant,)
    return (blocks.variant, blocks.block_m, blocks.block_n, blocks.decoded, blocks.stages)


def search(
    plan: GemmPlan,
    mnk: tuple[int, int, int],
    device: Device,
    *,
    compile_: Compile,
    bench: "TuneJob",
    check_only: bool,
    tell: Tell,
    variants: Collection[Variant] = (),
) -> Outcome:
    """Times of a plan's candidates, all right to the last bit; none where they are only to be checked.

    Variants that are named are searched anew, beside the table's blocks of the others.
    """
    outcome = Outcome()

    def good(tries: Sequence[Blocks]) -> list[Blocks]:
        faults = compile_(tries)
        outcome.dropped += [fault for fault in faults if fault]
        running = [blocks for blocks, fault in zip(tries, faults, strict=True) if not fault]
        wrong = {blocks: bench.fault(blocks) for blocks in running}
        outcome.wrong += [fault for fault in wrong.values() if fault]
        return [blocks for blocks in running if not wrong[blocks]]

    splits = predictable(plan, device.capability)  # what a split K should give, nothing else can say
    tell(0.0, "compiling and checking")
    first = good([blocks for blocks in again(plan, mnk, device, variants) if splits or blocks.split_k == 1])
    if check_only or not first:
        return outcome
    tell(_COMPILED, f"timing {len(first)} candidates")
    quick = bench.times_us(first, **_COARSE)
    by_speed = sorted(quick, key=lambda blocks: quick[blocks])
    best_of_each = {_kind(blocks): blocks for blocks in reversed(by_speed)}
    best = list(dict.fromkeys([*by_speed[:_BEST], *best_of_each.values()]))
    tell(_CHECKED, "varying the best")
    varied = [blocks for blocks in best if not variants or blocks.variant in variants]
    near = dict.fromkeys(other for blocks in varied for other in finer(plan, mnk, device, blocks))
    last = best + good([blocks for blocks in near if blocks not in quick])
    tell(_TIMED, f"timing the best {len(last)}")
    outcome.times = bench.times_us(last, cache=Cache.HOT, **_FINAL)
    outcome.cold = bench.times_us(last, cache=Cache.COLD, **_FINAL)
    return outcome
