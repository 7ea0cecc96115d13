"""Passes before the fused kernel: the amax of a whole result, and the root mean squares of its rows."""

from typing import TYPE_CHECKING

from kernels.device import COMPILE_OPTIONS, DeviceKind
from kernels.fused.plan import plan_fused
from kernels.fused.source import Source
from kernels.launching.launch import launch
from kernels.quantize.plan import PARTIALS
from kernels.quantize.work import Amax, Work

if TYPE_CHECKING:
    import torch


def collected(
    source: Source,
    works: dict[int, Work],
    x: "torch.Tensor",
    other: "torch.Tensor | None",
    kind: DeviceKind,
) -> dict[int, Amax]:
    """What each operand needs to know of the whole result: one pass for all that look back equally far.

    x, other: the source's tensors, as the kernels read them.
    """
    passes: dict[int, tuple[torch.Tensor, torch.Tensor | None]] = {}
    found = {}
    for number, work in works.items():
        rule = work.operand.spec.scale_rule
        tiles = bool(rule.history) or not work.plan.fused
        if not tiles and not rule.has_fitted_outer:
            found[number] = Amax()
            continue
        if rule.history not in passes:
            passes[rule.history] = _amax(source, work.history, rule.history, x, other, kind)
        amax, new = passes[rule.history]
        found[number] = Amax(
            tiles=amax if tiles else None, outer=amax if rule.has_fitted_outer else None, new=new
        )
    return found


def _amax(
    source: Source,
    history: "torch.Tensor | None",
    steps: int,
    x: "torch.Tensor",
    other: "torch.Tensor | None",
    kind: DeviceKind,
) -> "tuple[torch.Tensor, torch.Tensor | None]":
    """(int32[PARTIALS], whose largest is the bits of amax; room for this step's, under a delayed scale).

    steps: how many a scale looks back on, 0 where it does not.
    """
    import torch

    from kernels.fused.amax_kernel import fused_amax_kernel

    room = torch.empty(PARTIALS + (steps > 0), dtype=torch.int32, device=x.device)
    before = None
    if steps and history is not None and history.numel():
        before = history[-steps:].contiguous()
    plan = plan_fused(None, None, source.rows, source.columns, whole_rows=source.is_norm)
    assert plan is not None, "a launch without operands takes every result"
    across, high = plan.blocks(source.rows, source.columns)
    amax, new = (room[:PARTIALS], room[PARTIALS:]) if steps else (room, None)
    launch(
        fused_amax_kernel,
        (min(PARTIALS, across * high),),
        x,
        other,
        amax,
        new,
        before,
        0 if before is None else before.numel(),
        source.rows,
        source.columns,
        x.stride(0),
        0 if other is None else other.stride(0),
        across,
        across * high,
        SOURCE=source.name,
        EPS=source.eps,
        BLOCK_ROWS=plan.block_rows,
        BLOCK_COLUMNS=plan.block_columns,
        HISTORY=1 << max(steps - 1, 0).bit_length(),
        PARTIALS=PARTIALS,
        CAST=kind is DeviceKind.GPU,
        num_warps=plan.warps,
        **COMPILE_OPTIONS,
    )
    return amax, new


def reciprocals_of(source: Source, block_columns: int, x: "torch.Tensor") -> "torch.Tensor | None":
    """float32[rows] for a norm whose blocks, of so many columns, have no whole rows; else None."""
    import torch

    from kernels.fused.norm_kernel import reciprocal_rms_kernel

    if not source.is_norm or block_columns >= source.columns:
        return None
    found = torch.empty(source.rows, dtype=torch.float32, device=x.device)
    plan = plan_fused(None, None, source.rows, source.columns, whole_rows=True)
    assert plan is not None, "a launch without operands takes every result"
    launch(
        reciprocal_rms_kernel,
        (-(-source.rows // plan.block_rows),),
        x,
        found,
        source.rows,
        source.columns,
        x.stride(0),
        EPS=source.eps,
        BLOCK_ROWS=plan.block_rows,
        BLOCK_COLUMNS=plan.block_columns,
        num_warps=plan.warps,
        **COMPILE_OPTIONS,
    )
    return found
