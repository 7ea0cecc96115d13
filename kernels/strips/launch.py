"""The launchers of the kernels that write one layout or two in strips, and lines by panels."""

from typing import TYPE_CHECKING

from kernels.device import COMPILE_OPTIONS, DeviceKind
from kernels.launching.launch import launch
from kernels.quantize.constants import operand_facts
from kernels.quantize.work import Amax, Work
from kernels.strips.plan import EDGE, PANEL, WARPS, block_columns, strip_constants

if TYPE_CHECKING:
    import torch

_ALIGNED = 16
UP = 1 << 16


def lies_in_words(x: "torch.Tensor") -> bool:
    """True for bf16 numbers of which a thread can load eight neighbors of a row, wherever a block starts."""
    import torch

    even = x.stride(1) == 1 and not x.stride(0) * x.element_size() % _ALIGNED
    return x.dtype == torch.bfloat16 and even and is_aligned(x)


def is_aligned(x: "torch.Tensor") -> bool:
    """True for a tensor whose first numbers one load of 128 bits brings."""
    return not x.data_ptr() % _ALIGNED


def launch_strips(
    along: Work | None,
    down: Work,
    x: "torch.Tensor",
    source: str = "",
    *,
    other: "torch.Tensor | None" = None,
    reciprocals: "torch.Tensor | None" = None,
    halves: int = 1,
) -> None:
    """Write works of what `source` names of x, as kernels.fused.source.Source has it; "" for x itself.

    along: None where nothing is written along rows. reciprocals: float32[rows] of a norm. halves: those of
    the result, beside each other.
    """
    from kernels.strips.kernel import strip_kernel

    columns, rows = down.sizes
    specs = along and along.operand.spec, down.operand.spec
    across = columns // halves // block_columns(specs[0])
    launch(
        strip_kernel,
        (across * -(-rows // EDGE),),
        x,
        other,
        reciprocals,
        *_given(along),
        *_given(down),
        rows,
        columns // halves,
        x.stride(0),
        0 if other is None else other.stride(0),
        across,
        UP,
        **strip_constants(source, *specs, rows, columns),
        num_warps=WARPS,
        **COMPILE_OPTIONS,
    )


def launch_panels(work: Work, rows: int) -> None:
    """Write a work whose lines are whole columns of x; a program has so many rows of it."""
    import torch

    from kernels.strips.panel_kernel import panel_kernel

    (mn, k), x = work.sizes, work.x if work.operand.k_is_rows else work.x.T
    panels, programs = mn // PANEL, k // rows
    room = torch.zeros(mn + panels, dtype=torch.int32, device=x.device)
    codes, scale, stride, _ = _given(work)
    launch(
        panel_kernel,
        (panels * programs,),
        x,
        room,
        room[mn:],
        codes,
        scale,
        x.stride(0),
        stride,
        programs,
        UP,
        OPERAND=operand_facts(work.operand.spec, work.plan, DeviceKind.GPU),
        ROWS=rows,
        num_warps=WARPS,
        **COMPILE_OPTIONS,
    )


def _given(work: Work | None) -> tuple[object, ...]:
    """What a kernel is given of an operand."""
    if work is None:
        return None, None, 0, 0
    _, _, codes, scale, *_ = work.pointers(Amax())
    stride, tiles, _ = work.counts
    return codes, scale, stride, tiles
