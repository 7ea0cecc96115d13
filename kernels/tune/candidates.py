"""What the tuner tries: for each schedule, blocks that a plan and a shape could do with. Pure; no torch.

A schedule's list is coarse; the fastest few of it are then varied. A new schedule is one entry in COARSE.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm.blocks import MAX_SPLIT, Blocks, Schedule
from kernels.gemm.hopper import blocks as specialized_blocks
from kernels.gemm.hopper import narrow_blocks
from kernels.gemm.hopper.decoding import blocks as decoding_blocks
from kernels.gemm.meaning import Arithmetic
from kernels.gemm.plan import GemmPlan
from kernels.gemm.shape_class import FEW, ShapeClass
from kernels.gemm.simple.blocks import _fit, _simple
from kernels.gemm.tuned import table


def coarse(plan: GemmPlan, mnk: tuple[int, int, int], device: Device) -> list[Blocks]:
    """First tries for a plan's meaning, of every schedule that the device has."""
    found = (blocks for tries in COARSE.values() for blocks in tries(plan, mnk, device))
    return list(dict.fromkeys(found))


def again(
    plan: GemmPlan, mnk: tuple[int, int, int], device: Device, schedule: Schedule | None
) -> list[Blocks]:
    """First tries where one schedule is searched anew: its own, beside what the table has of the others. All
    of every schedule for None.
    """
    found = coarse(plan, mnk, device)
    if schedule is None:
        return found
    shape = ShapeClass.of(mnk, device.sms)
    tabled = table(device.capability or (0, 0)).get(str(plan.family), ())
    others = (row.blocks for row in tabled if row.shape == shape and row.blocks.schedule is not schedule)
    return [blocks for blocks in found if blocks.schedule is schedule] + list(others)


def finer(plan: GemmPlan, mnk: tuple[int, int, int], device: Device, best: Blocks) -> list[Blocks]:
    """One step away from blocks that did well: the order of blocks, stages, and the neighboring splits."""
    if best.schedule is Schedule.SPECIALIZED:  # its coarse list is all there is
        return []
    tries = [replace(best, group=group) for group in (4, 16, 32)] if mnk[0] > 4 * best.block_m else []
    tries += [replace(best, stages=stages) for stages in (best.stages - 1, best.stages + 1) if stages > 1]
    splits = {best.split_k * 3 // 2, best.split_k * 3 // 4} if best.split_k > 1 else set()
    tries += [replace(best, split_k=split) for split in sorted(splits) if 1 < split <= MAX_SPLIT]
    fitting = (_fit(plan, blocks, device) for blocks in tries)
    return [blocks for blocks in dict.fromkeys(fitting) if blocks is not None and blocks != best]


def _specialized(plan: GemmPlan, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    meaning = (plan.spec, plan.kernel, plan.scale_at, plan.promotion)
    if specialized_blocks.lacks_specialized(device) or specialized_blocks.lacking(*meaning, mnk):
        return
    if plan.kernel is Arithmetic.DEQUANTIZED and not decoding_blocks.lacking(plan.spec):
        yield from decoding_blocks.candidates(plan.spec, mnk, device)
    yield from narrow_blocks.candidates(*meaning, mnk, device)
    if mnk[0] >= FEW // 2 or plan.promotion is not WHOLE:  # the other blocks of one sum are 128 rows high
        yield from specialized_blocks.candidates(*meaning, mnk, device)


COARSE: dict[Schedule, Callable[[GemmPlan, tuple[int, int, int], Device], Iterator[Blocks]]] = {
    Schedule.SIMPLE: _simple,
    Schedule.SPECIALIZED: _specialized,
}
