"""Passes over a tensor before the quantizer, for the amax that each operand's scales need."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from fp8core.formats import FORMATS
from fp8core.tiles import TileShape
from kernels.device import DeviceKind, current_device
from kernels.launching.launch import empty, filled, launch, zeros_of_stream
from kernels.quantize.facts import PARTIALS, TENSOR, part_within, power_over
from kernels.quantize.plan import QuantizePlan, plan_computed, plan_quantize, whole_amax_of

if TYPE_CHECKING:
    import torch

    from kernels.quantize.launch import Output, Source


class Amax(NamedTuple):
    """Bits of amax of tiles and of outer tiles from earlier passes; None if the quantizer needs none.

    new: memory for this step's amax under a delayed scale.
    """

    tiles: "torch.Tensor | None" = None
    outer: "torch.Tensor | None" = None
    new: "torch.Tensor | None" = None


def loadable(plan: QuantizePlan, x: "torch.Tensor") -> QuantizePlan:
    """The plan, without patches if a GPU is to load other numbers than neighbors of two bytes."""
    in_patches = x.element_size() == FORMATS["bf16"].bytes and 1 in x.stride()
    return plan if in_patches or current_device().kind is DeviceKind.INTERPRETER else plan.without_patches()


def set_amaxes_of_x(source: "Source", outputs: "Sequence[Output]", plan: QuantizePlan) -> None:
    """Find the amax of x for each output: in one pass if two need the same."""
    amaxes: dict[object, Amax] = {}
    for number, output in enumerate(outputs):
        key = whole_amax_of(output.operand.spec, fits_block=output.facts.fits_block) or number
        if key not in amaxes:
            amaxes[key] = _amax_for(source, output, plan)
        output.amax = amaxes[key]


def _amax_for(source: "Source", output: "Output", plan: QuantizePlan) -> Amax:
    """Amax for one operand, by passes over x; or zeros for a cooperative launch."""
    import torch

    spec, rule, device = output.operand.spec, output.operand.spec.scale_rule, source.x.device
    tiles = outer = new = None
    if source.amax is not None or plan.cooperative:
        whole = zeros_of_stream(device) if source.amax is None else source.amax
        new = empty((1,), torch.int32, device) if rule.history else None
        return Amax(outer=whole) if rule.has_fitted_outer else Amax(tiles=whole, new=new)
    if rule.history or not output.facts.fits_block:
        tiles, new = _amax_of_x(source, output, plan, spec.tile, output.scale)
    if rule.has_fitted_outer:
        outer, _ = _amax_of_x(source, output, plan, rule.outer.tile, output.outer)
    return Amax(tiles, outer, new)


def _amax_of_x(
    source: "Source", output: "Output", plan: QuantizePlan, tile: TileShape, scale: "torch.Tensor"
) -> "tuple[torch.Tensor, torch.Tensor | None]":
    """(bits of each tile's largest |x|, int32[k_tiles, mn_tiles] as `scale` has them; None).

    A single tile has the values of `_whole_amax`.
    """
    import torch

    from kernels.quantize.passes import amax_kernel

    x, spec, sizes, kind = source.x, output.operand.spec, output.sizes, current_device().kind
    strides = output.operand.stored((x.stride(0), x.stride(1)))
    plan = plan.alone(output.facts)
    if whole_amax_of(spec, fits_block=output.facts.fits_block) is not None:
        # Order does not matter, so x is read as memory holds it.
        if strides[0] == 1:
            sizes, strides = sizes[::-1], strides[::-1]
        plan = plan_quantize(spec, *sizes, kind, side_by_side=strides[1] == 1)
    if spec.rotation is None and plan.only.saved is None and not plan.down:
        plan = replace(plan, rows=2 * plan.rows)  # this pass does nothing else, and has registers for more
    plan = loadable(plan, x)
    block_mn, block_k = plan.block
    grid = -(-sizes[0] // block_mn), -(-sizes[1] // block_k)
    if tile == TENSOR:
        return _whole_amax(source, output, plan, (*sizes, *strides, None, None, None), prod(grid))
    amax = filled(scale.shape, torch.int32, x.device)
    part_mn, part_k = part_within(tile, block_mn, block_k)
    launch(
        amax_kernel,
        grid,
        *(x, amax, *sizes, *strides, scale.shape[1]),
        PLAN=plan,
        TILE_MN=tile.mn or 0,
        TILE_K=tile.k or 0,
        PART_MN=part_mn,
        PART_K=part_k,
        CAST=kind is DeviceKind.GPU,
        num_warps=plan.warps,
    )
    return amax, None


def _whole_amax(
    source: "Source",
    output: "Output",
    plan: QuantizePlan,
    sizes: tuple[Any, ...],
    blocks: int,
) -> "tuple[torch.Tensor, torch.Tensor | None]":
    """(int32[PARTIALS], of which the largest is the bits of amax; memory for this step's, if it is delayed).

    With a history, that is the largest amax of earlier steps, unless it is 0. sizes: whole_amax_kernel's
    arguments from mn to blocks.
    """
    import torch

    from kernels.quantize.passes import whole_amax_kernel

    steps, earlier = output.operand.spec.scale_rule.history, output.earlier()
    amax = empty((PARTIALS,), torch.int32, source.x.device)
    new = empty((1,), torch.int32, source.x.device) if steps else None
    launch(
        whole_amax_kernel,
        (min(PARTIALS, blocks),),
        *(source.x, source.other, amax, new),
        *(earlier, None if earlier is None else earlier.numel(), *sizes),
        SOURCE=source.name,
        EPS=source.eps,
        PLAN=plan,
        HISTORY=power_over(steps),
        CAST=current_device().kind is DeviceKind.GPU,
        num_warps=plan.warps,
    )
    return amax, new


def set_amaxes_of_result(source: "Source", outputs: "Sequence[Output]") -> None:
    """Find the amax of a computed result for each output: in one pass for all with equally long histories."""
    passes: dict[int, tuple[torch.Tensor, torch.Tensor | None]] = {}
    for output in outputs:
        rule = output.operand.spec.scale_rule
        tiles = bool(rule.history) or not output.facts.fits_block
        if not tiles and not rule.has_fitted_outer:
            continue
        if rule.history not in passes:
            plan = _plan_without_copies(source)
            across, high = plan.blocks(source.rows, source.columns)
            stride = None if source.other is None else source.other.stride(0)
            sizes = (source.rows, source.columns, source.x.stride(0), 1, stride, across, across * high)
            passes[rule.history] = _whole_amax(source, output, plan, sizes, across * high)
        amax, new = passes[rule.history]
        outer = amax if rule.has_fitted_outer else None
        output.amax = Amax(tiles=amax if tiles else None, outer=outer, new=new)


def _plan_without_copies(source: "Source") -> QuantizePlan:
    plan = plan_computed(None, None, source.rows, source.columns, whole_rows=source.is_norm)
    assert plan is not None, "a launch without operands takes every result"
    return plan


def reciprocals_of(source: "Source", block_columns: int) -> "torch.Tensor | None":
    """float32[rows] for a norm, unless its blocks have whole rows; else None."""
    import torch

    from kernels.quantize.passes import reciprocal_rms_kernel

    if not source.is_norm or block_columns >= source.columns:
        return None
    reciprocals = empty((source.rows,), torch.float32, source.x.device)
    plan = _plan_without_copies(source)
    launch(
        reciprocal_rms_kernel,
        (-(-source.rows // plan.rows),),
        *(source.x, reciprocals, source.rows, source.columns, source.x.stride(0)),
        EPS=source.eps,
        PLAN=plan,
        num_warps=plan.warps,
    )
    return reciprocals
