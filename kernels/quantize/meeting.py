"""Programs that meet: of a small tensor each holds a block, and they find the whole tensor's amax together.

One launch then does what else takes a pass before. Pure; no torch, no GPU.
"""

from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache

from fp8core.recipes import OperandSpec
from fp8core.tiles import WHOLE, TileShape
from kernels.device import Device, DeviceKind
from kernels.quantize.plan import (
    HELD,
    K_PADDING,
    SHORT,
    QuantizePlan,
    least_block,
    plan_quantize,
    plan_within,
)

_KEPT = 4096


@lru_cache(maxsize=_KEPT)
def gathered(spec: OperandSpec, *, fused: bool) -> Hashable:
    """Name what is collected of the whole tensor before it is scaled: equal where operands ask for the same.

    None where nothing is, or where amax of smaller tiles or of other numbers than the tensor's own is.
    """
    rule, whole = spec.scale_rule, TileShape(WHOLE, WHOLE)
    tiles, outer = bool(rule.history) or not fused, rule.has_fitted_outer
    own = spec.rotation is None and spec.saved_as is None
    around = whole if rule.outer is None else rule.outer.tile
    smaller = (tiles and spec.tile != whole) or (outer and around != whole)
    return (tiles, rule.history, outer) if own and not smaller and (tiles or outer) else None


@lru_cache(maxsize=_KEPT)
def plan_meeting(
    spec: OperandSpec, mn: int, k: int, programs: int, *, side_by_side: bool = True
) -> QuantizePlan | None:
    """The blocks with which at most so many programs hold the tensor at once; None where they cannot, or
    where they have nothing to find together.
    """
    usual = plan_quantize(spec, mn, k, side_by_side=side_by_side)
    if not mn * k or gathered(spec, fused=usual.fused) is None:
        return None
    least = least_block(spec, mn, k, fused=usual.fused) or (1, 1)
    block = meeting_block((usual.block_mn, usual.block_k), (mn, k), least[0], programs)
    if block is None:
        return None
    made = plan_within(spec, mn, k, block, fused=usual.fused)
    return replace(made, sixteens=usual.sixteens, side_by_side=side_by_side, turns=usual.turns, meets=True)


def meeting_programs(device: Device) -> int:
    """Programs that run at once on a device, one an SM. The interpreter runs one after the other."""
    return 1 if device.kind is DeviceKind.INTERPRETER else device.sms


def meeting_block(
    block: tuple[int, int], sizes: tuple[int, int], least: int, programs: int
) -> tuple[int, int] | None:
    """A block, lower or higher by powers of two, of which a tensor has at most so many; None for none.

    It is the smallest one that gives every program a block, down to `least` rows.
    """
    rows, columns = block
    padded = -(-sizes[1] // K_PADDING) * K_PADDING

    def count(rows: int) -> int:
        return -(-sizes[0] // rows) * -(-padded // columns)

    while count(rows) > programs and 2 * rows * columns <= HELD:
        rows *= 2
    while rows // 2 >= least and rows * columns > SHORT and count(rows // 2) <= programs:
        rows //= 2
    return (rows, columns) if count(rows) <= programs else None
