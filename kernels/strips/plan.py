"""Operands that are written in strips, and what the kernel knows of them. Pure; no torch, no GPU."""

from functools import lru_cache

from fp8core.formats import FORMATS
from fp8core.recipes import OperandSpec
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE
from kernels.device import HOPPER, Device, DeviceKind, lacks_gluon
from kernels.quantize.constants import operand_facts
from kernels.quantize.operands import OperandFacts
from kernels.quantize.plan import QuantizePlan, plan_within

EDGE = 128
"""Rows of a block, and columns of a wide one."""
LANES = 8
"""Threads of a warp beside each other down a column."""
WARPS = 8
PANEL = 64
"""Columns of a panel: 128 bytes in a row."""
_PARTS = (512, 256)
"""Rows of a program that holds its part of a panel in shared memory, as they are preferred."""
_NARROW = 64
"""Columns of a block where tiles along rows are no longer: 128 bytes in a row of what is read."""
_LEAST_TILE = 32
"""Numbers of a tile, at least: those of four threads."""
_KEPT = 4096


@lru_cache(maxsize=_KEPT)
def takes_strips(
    source: str, along: OperandSpec | None, down: OperandSpec | None, rows: int, columns: int, device: Device
) -> bool:
    """True where all copies of what `source` names, a result [rows, columns], are written in strips.

    columns: those of a half, where the result has two. They fill blocks, so that no column is masked. A copy
    along rows alone is left to other kernels, and so are short tiles of what is not computed: these are as
    fast.
    """
    if down is None or not _is_able(device):
        return False
    specs = (down,) if along is None else (along, down)
    # Codes along rows have zeros up to a whole wide block.
    full = rows > 0 and columns > 0 and not columns % (_NARROW if along is None else EDGE)
    long = source != "" or all(each.tile.k == EDGE for each in specs)
    return full and long and all(map(_is_plain, specs))


def block_columns(along: OperandSpec | None) -> int:
    """Columns of a block, which has whole tiles. Of narrow blocks more are on their way at once."""
    return EDGE if along is not None and along.tile.k == EDGE else _NARROW


@lru_cache(maxsize=_KEPT)
def panel_rows(spec: OperandSpec, mn: int, k: int, device: Device) -> int:
    """Rows of a program that writes lines [mn, K] down whole columns; 0 where no such programs do.

    Those of a panel run at once, one an SM at least.
    """
    lines = spec.tile.mn == 1 and spec.tile.k is WHOLE and _is_cast(spec)
    even = mn > 0 and not mn % PANEL and _is_able(device)
    parts = (rows for rows in _PARTS if k and not k % rows and k // rows <= device.sms)
    return next(parts, 0) if lines and even else 0


def _is_able(device: Device) -> bool:
    """It runs kernels in Gluon that are for Hopper."""
    hopper = device.kind is DeviceKind.GPU and device.capability == HOPPER.capability
    return hopper and not lacks_gluon(device.triton)


def _is_plain(spec: OperandSpec) -> bool:
    """Its tiles are lines of a block, and a cast to e4m3 is all that a number needs once it is scaled."""
    tile = spec.tile
    lines = tile.mn == 1 and tile.k is not WHOLE and _LEAST_TILE <= tile.k <= EDGE and not EDGE % tile.k
    return lines and _is_cast(spec)


def _is_cast(spec: OperandSpec) -> bool:
    """A cast to e4m3 is all that a number needs once it is scaled, by the amax of its tile alone."""
    rule = spec.scale_rule
    one_scale = rule.outer is None and not rule.history and len(rule.search) == 1
    plain = spec.rotation is None and spec.saved_as is None and spec.rounding is Rounding.NEAREST_EVEN
    return one_scale and plain and spec.format == FORMATS["e4m3"]


def strip_plan(spec: OperandSpec, mn: int, k: int) -> QuantizePlan:
    """How an operand [mn, K] cuts a block."""
    return plan_within(spec, mn, k, (EDGE, EDGE), fused=True)


def strip_constants(
    source: str, along: OperandSpec | None, down: OperandSpec, rows: int, columns: int
) -> dict[str, object]:
    """The constexpr arguments of strip_kernel. rows, columns: those of the result."""
    return {
        "SOURCE": source,
        "COLUMNS": block_columns(along),
        "EVEN": not rows % EDGE,
        "ALONG": along and _facts(along, rows, columns),
        "DOWN": _facts(down, columns, rows),
    }


def _facts(spec: OperandSpec, mn: int, k: int) -> OperandFacts:
    return operand_facts(spec, strip_plan(spec, mn, k), DeviceKind.GPU)
