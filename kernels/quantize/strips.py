"""Operands that are written in strips or by panels, and the launches of these kernels: for Hopper.

One H200 before and after (rows of 892f614 and 22b4891): two copies of DeepSeek-V3's x took 81, then 73 µs,
those of RMSNorm 64, then 59. Whole columns of rowwise took 86, then 75 µs.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

from fp8core.formats import FORMATS
from fp8core.recipes import Operand, OperandSpec
from fp8core.tiles import WHOLE
from kernels.device import HOPPER, Device, DeviceKind, lacks_gluon
from kernels.launching.launch import filled, launch
from kernels.quantize.facts import OperandFacts, operand_facts
from kernels.quantize.plan import is_cast

if TYPE_CHECKING:
    import torch

    from kernels.quantize.launch import Output, Source

EDGE = 128
"""Rows of a block, and columns of a wide block."""
LANES = 8
"""Threads of a warp beside each other down a column."""
PANEL = 64
"""Columns of a panel: 128 bytes in a row."""
_WARPS = 8
_PARTS = (512, 256)
"""Rows of a program with its part of a panel in shared memory, the best first."""
_NARROW = 64
"""Columns of a block with tiles along rows as short as that: 128 bytes of a row."""
_LEAST_TILE = 32
"""Numbers of four threads."""
_ALIGNED = 16
_UP = 1 << 16
_KEPT = 4096


@lru_cache(maxsize=_KEPT)
def takes_strips(
    source: str, along: OperandSpec | None, down: OperandSpec | None, rows: int, columns: int, device: Device
) -> bool:
    """True if strips write all copies of a result [rows, columns] of `source`; columns: of a half of two.

    Columns fill blocks, so none is masked. quantize_kernel is as fast for a copy along rows alone, and for
    short tiles of x itself.
    """
    if down is None or not _is_able(device):
        return False
    specs = (down,) if along is None else (along, down)
    # Codes along rows have zeros up to a whole wide block.
    full = rows > 0 and columns > 0 and not columns % (_NARROW if along is None else EDGE)
    long = source != "" or all(each.tile.k == EDGE for each in specs)
    return full and long and all(map(_is_plain, specs))


@lru_cache(maxsize=_KEPT)
def panel_rows(spec: OperandSpec, mn: int, k: int, device: Device) -> int:
    """Rows of a program that writes lines [mn, K] down whole columns, 0 for none: a panel's run at once."""
    lines = spec.tile.mn == 1 and spec.tile.k is WHOLE and _is_e4m3_cast(spec)
    even = mn > 0 and not mn % PANEL and _is_able(device)
    parts = (rows for rows in _PARTS if k and not k % rows and k // rows <= device.sms)
    return next(parts, 0) if lines and even else 0


def strip_facts(operand: Operand, shape: tuple[int, int]) -> OperandFacts:
    return operand_facts(operand.spec, *operand.stored(shape), (EDGE, EDGE), DeviceKind.GPU, fits_block=True)


def lies_in_words(x: "torch.Tensor") -> bool:
    """True for bf16 rows with eight neighbors to load at once, from any start of a block."""
    import torch

    even = x.stride(1) == 1 and not x.stride(0) * x.element_size() % _ALIGNED
    return x.dtype == torch.bfloat16 and even and is_aligned(x)


def is_aligned(x: "torch.Tensor") -> bool:
    return not x.data_ptr() % _ALIGNED


def launch_strips(
    source: "Source", along: "Output | None", down: "Output", reciprocals: "torch.Tensor | None" = None
) -> None:
    """Write the outputs of a source's result. reciprocals: float32[rows] of a norm."""
    from kernels.quantize.strip_kernel import strip_kernel

    rows, columns = source.rows, source.columns
    # A block has whole tiles. More of the narrow blocks load at once.
    block = EDGE if along is not None and along.operand.spec.tile.k == EDGE else _NARROW
    launch(
        strip_kernel,
        (columns // block * -(-rows // EDGE),),
        *(source.x, source.other, reciprocals),
        *((None, None, 0, 0) if along is None else _arguments(along)),
        *_arguments(down),
        *(rows, columns, source.x.stride(0)),
        0 if source.other is None else source.other.stride(0),
        columns // block,
        _UP,
        SOURCE=source.name,
        COLUMNS=block,
        EVEN=not rows % EDGE,
        ALONG=along and along.facts,
        DOWN=down.facts,
        num_warps=_WARPS,
    )


def launch_panels(output: "Output", x: "torch.Tensor", rows: int) -> None:
    """Write an output whose lines are whole columns of x; a program has `rows` of them."""
    import torch

    from kernels.quantize.strip_kernel import panel_kernel

    mn, k = output.sizes
    panels, programs = mn // PANEL, k // rows
    room = filled((mn + panels,), torch.int32, x.device)
    codes, scale, stride, _ = _arguments(output)
    launch(
        panel_kernel,
        (panels * programs,),
        *(x, room, room[mn:], codes, scale),
        *(x.stride(0), stride, programs, _UP),
        OPERAND=output.facts,
        ROWS=rows,
        num_warps=_WARPS,
    )


def _arguments(output: "Output") -> tuple[object, ...]:
    """Codes, scales, the stride of codes and tiles along mn."""
    return output.words, output.scale, output.words.stride(0), output.scale.shape[1]


def _is_able(device: Device) -> bool:
    hopper = device.kind is DeviceKind.GPU and device.capability == HOPPER.capability
    return hopper and not lacks_gluon(device.triton)


def _is_plain(spec: OperandSpec) -> bool:
    """True for tiles that are lines of a block, with a cast to e4m3 alone."""
    tile = spec.tile
    lines = tile.mn == 1 and tile.k is not WHOLE and _LEAST_TILE <= tile.k <= EDGE and not EDGE % tile.k
    return lines and _is_e4m3_cast(spec)


def _is_e4m3_cast(spec: OperandSpec) -> bool:
    rule = spec.scale_rule
    one_scale = rule.outer is None and not rule.history and len(rule.search) == 1
    return one_scale and is_cast(spec) and spec.format == FORMATS["e4m3"]
