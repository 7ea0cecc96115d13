"""The tuner's search for one GEMM: compile the candidates, check their bits, time them, vary the best."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kernels.bench.exactness.predict import predictable
from kernels.device import Device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.plan import GemmPlan
from kernels.tune.candidates import again, finer

COARSE_ROUNDS, FINAL_ROUNDS = 5, 5
COARSE_TURN_US, FINAL_TURN_US, FINAL_SETTLE_US = 4_000.0, 50_000.0, 100_000.0
_BEST = 3
_COMPILED, _CHECKED, _TIMED = 0.4, 0.5, 0.8

Tell = Callable[[float, str], None]
Compile = Callable[[Sequence[Blocks]], Sequence[str]]


class Bench(Protocol):
    """The interface of kernels.tune.job.TuneJob."""

    def fault(self, blocks: Blocks) -> str: ...

    def times_us(
        self, tries: Sequence[Blocks], rounds: int, turn_us: float, settle_us: float
    ) -> dict[Blocks, float]: ...

    def cold_us(self, tries: Sequence[Blocks], rounds: int, settle_us: float) -> dict[Blocks, float]: ...


@dataclass
class Found:
    """Microseconds of a launch by blocks, hot and with the L2 flushed.

    For blocks that cannot run or gave wrong bits, a sentence says so.
    """

    times: dict[Blocks, float] = field(default_factory=dict)
    cold: dict[Blocks, float] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def fastest(self) -> list[Blocks]:
        """The fastest blocks of the simple bodies and of the others, by the geometric mean of hot and cold.

        The best blocks at a card's power limit need not be the best below it, and a kernel is judged by both.
        """
        best: dict[object, Blocks] = {}
        for blocks in sorted(self.times, key=lambda blocks: self.times[blocks] * self.cold[blocks]):
            best.setdefault(blocks.body.is_simple, blocks)
        return list(best.values())


def _kind(blocks: Blocks) -> tuple[object, ...]:
    """What short turns cannot compare: in them all share a clock, and what draws less power gains nothing."""
    if blocks.body.is_simple:
        return (blocks.body,)
    return (blocks.body, blocks.block_m, blocks.block_n, blocks.decoded, blocks.stages)


def search(
    plan: GemmPlan,
    mnk: tuple[int, int, int],
    device: Device,
    *,
    compile_: Compile,
    bench: Bench,
    check_only: bool,
    tell: Tell,
    bodies: Collection[Body] = (),
) -> Found:
    """Times of a plan's candidates, all right to the last bit; none where they are only to be checked.

    With bodies named, these are searched anew. For the others, the blocks in the table are timed beside them.
    """
    found = Found()

    def good(tries: Sequence[Blocks]) -> list[Blocks]:
        faults = compile_(tries)
        found.dropped += [fault for fault in faults if fault]
        running = [blocks for blocks, fault in zip(tries, faults, strict=True) if not fault]
        wrong = {blocks: bench.fault(blocks) for blocks in running}
        found.wrong += [fault for fault in wrong.values() if fault]
        return [blocks for blocks in running if not wrong[blocks]]

    splits = predictable(plan, device.capability)  # what a split K should give, nothing else can say
    tell(0.0, "compiling and checking")
    first = good([blocks for blocks in again(plan, mnk, device, bodies) if splits or blocks.split_k == 1])
    if check_only or not first:
        return found
    tell(_COMPILED, f"timing {len(first)} candidates")
    quick = bench.times_us(first, COARSE_ROUNDS, COARSE_TURN_US, 0.0)
    by_speed = sorted(quick, key=lambda blocks: quick[blocks])
    best_of_each = {_kind(blocks): blocks for blocks in reversed(by_speed)}
    best = list(dict.fromkeys([*by_speed[:_BEST], *best_of_each.values()]))
    tell(_CHECKED, "varying the best")
    varied = [blocks for blocks in best if not bodies or blocks.body in bodies]
    near = dict.fromkeys(other for blocks in varied for other in finer(plan, mnk, device, blocks))
    last = best + good([blocks for blocks in near if blocks not in quick])
    tell(_TIMED, f"timing the best {len(last)}")
    found.times = bench.times_us(last, FINAL_ROUNDS, FINAL_TURN_US, FINAL_SETTLE_US)
    found.cold = bench.cold_us(last, FINAL_ROUNDS, FINAL_SETTLE_US)
    return found
