"""What the tuner tries: of each body, the blocks that a plan and a shape could do with. Pure; no torch.

A body's list is in kernels.gemm.bodies and coarse; the fastest few of the simple kernel's are then varied.
"""

from collections.abc import Collection
from dataclasses import replace

from kernels.device import Device
from kernels.gemm.blocks import MAX_SPLIT, Blocks, Body
from kernels.gemm.bodies import tries
from kernels.gemm.plan import GemmPlan
from kernels.gemm.shape_class import FEW, ShapeClass
from kernels.gemm.simple.blocks import fit
from kernels.gemm.tuned import table


def coarse(plan: GemmPlan, mnk: tuple[int, int, int], device: Device) -> list[Blocks]:
    """First tries for a plan's meaning, of every body that runs it on the device."""
    few = mnk[0] < FEW // 2
    bodies = (
        body for body in Body if body is not Body.CHAINED or not few
    )  # chained blocks are 128 rows high
    found = (blocks for body in bodies for blocks in tries(body, plan.meaning, mnk, device))
    return list(dict.fromkeys(found))


def again(
    plan: GemmPlan, mnk: tuple[int, int, int], device: Device, bodies: Collection[Body]
) -> list[Blocks]:
    """First tries where some bodies are searched anew: their own, beside the table's of the others.

    Where no body is named, all of every body.
    """
    found = coarse(plan, mnk, device)
    if not bodies:
        return found
    shape = ShapeClass.of(mnk, device.sms)
    tabled = table(device.capability or (0, 0)).get(str(plan.meaning.family), ())
    others = (row.blocks for row in tabled if row.shape == shape and row.blocks.body not in bodies)
    return [blocks for blocks in found if blocks.body in bodies] + list(others)


def finer(plan: GemmPlan, mnk: tuple[int, int, int], device: Device, best: Blocks) -> list[Blocks]:
    """One step away from blocks that did well: the order of blocks, stages, and the neighboring splits."""
    if not best.body.is_simple:  # its coarse list is all there is
        return []
    tries = [replace(best, group=group) for group in (4, 16, 32)] if mnk[0] > 4 * best.block_m else []
    tries += [replace(best, stages=stages) for stages in (best.stages - 1, best.stages + 1) if stages > 1]
    splits = {best.split_k * 3 // 2, best.split_k * 3 // 4} if best.split_k > 1 else set()
    tries += [replace(best, split_k=split) for split in sorted(splits) if 1 < split <= MAX_SPLIT]
    fitting = (fit(plan.meaning, blocks, device) for blocks in tries)
    return [blocks for blocks in dict.fromkeys(fitting) if blocks is not None and blocks != best]
