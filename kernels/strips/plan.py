"""Pairs of operands that are written in strips, and what the kernel knows of them. Pure; no torch, no GPU."""

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
"""Rows and columns of a block."""
STRIP = 32
"""Rows that a program computes at once."""
WARPS = 8
PANEL = 64
"""Columns of a panel: 128 bytes in a row."""
_PARTS = (512, 256)
"""Rows of a program that holds its part of a panel in shared memory, as they are preferred."""
_LEAST_TILE = 32
"""Numbers of a tile, at least: those of four threads."""
_KEPT = 4096
_OF_SHORT = ("swiglu",)
"""Sources whose shorter tiles are written in strips, too. For others smaller blocks are faster."""
_AHEAD = {"": EDGE // STRIP, "swiglu": 1, "swiglu backward": 0, "rms norm": 1}
"""Strips that are loaded before one is computed, by what is computed: registers hold no more."""


@lru_cache(maxsize=_KEPT)
def takes_strips(
    source: str, along: OperandSpec, down: OperandSpec, rows: int, columns: int, device: Device
) -> bool:
    """True where both copies of what `source` names, a result [rows, columns], are written in strips.

    columns: those of a half, where the result has two. They fill blocks, so that no column is masked.
    """
    full = rows > 0 and columns > 0 and not columns % EDGE
    long = source in _OF_SHORT or along.tile.k == down.tile.k == EDGE
    return _is_able(device) and full and long and _is_plain(along) and _is_plain(down)


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


def strip_constants(source: str, along: OperandSpec, down: OperandSpec, mn: int, k: int) -> dict[str, object]:
    """The constexpr arguments of strip_kernel. mn, k: sizes of the operand along the rows."""
    return {
        "SOURCE": source,
        "AHEAD": _AHEAD[source],
        "EVEN": not mn % EDGE,
        "ALONG": _facts(along, mn, k),
        "DOWN": _facts(down, k, mn),
    }


def _facts(spec: OperandSpec, mn: int, k: int) -> OperandFacts:
    return operand_facts(spec, strip_plan(spec, mn, k), DeviceKind.GPU)
