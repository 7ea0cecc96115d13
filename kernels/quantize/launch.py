"""Launches of the quantizer: passes for an amax, memory for codes and scales, the kernel that writes them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from fp8core.packing import packed_bytes
from fp8core.recipes import Operand
from kernels.device import COMPILE_OPTIONS, DeviceKind, current_device
from kernels.launching.launch import empty, filled, launch
from kernels.launching.parameters import Scalar
from kernels.quantize.collect import (
    Amax,
    amaxes_of_result,
    amaxes_of_x,
    loads_in_patches,
    reciprocals_of,
)
from kernels.quantize.facts import OperandFacts, history_extent, operand_facts
from kernels.quantize.plan import (
    Cut,
    QuantizePlan,
    cooperative_programs,
    padded,
    plan_both,
    plan_copies,
    plan_quantize,
    specs_of,
)
from kernels.quantize.strips import (
    is_aligned,
    launch_panels,
    launch_strips,
    lies_in_words,
    panel_rows,
    strip_cut,
    takes_strips,
)
from kernels.quantize.tensor import QuantizedTensor, empty_scale, lookup_tables

if TYPE_CHECKING:
    import torch

Copy = "QuantizedTensor | torch.Tensor"
_ALONG, _DOWN = False, True
"""Sides of a block: codes run along its rows, or down its columns."""
_ABSENT = (None,) * 9 + (None, None, 1)
"""Arguments of an absent operand, from amax_ptr to outer_mn_tiles."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """The input of a result [rows, halves · columns]: x itself, or tensors to compute it from.

    - name: the kernel's SOURCE, "" for x. other: a second tensor to read, or None.
    - eps: bits of the number that a norm adds to the mean square; else 0.
    - amax: int32[PARTIALS], of which the largest is the bits of x's amax; None if unknown.
    """

    name: str
    x: "torch.Tensor"
    rows: int
    columns: int
    other: "torch.Tensor | None" = None
    halves: int = 1
    eps: int = 0
    amax: "torch.Tensor | None" = None

    @property
    def tensors(self) -> "tuple[torch.Tensor, ...]":
        return tuple(each for each in (self.x, self.other, self.amax) if each is not None)

    @property
    def reads(self) -> float:
        """Numbers read for each number of the result."""
        other = 0 if self.is_norm or self.other is None else self.other.numel()
        return (self.x.numel() + other) / max(1, prod(self.shape))

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns * self.halves

    @property
    def is_norm(self) -> bool:
        return self.name == "rms norm"

    def plan(self, operands: Sequence[Operand | None]) -> QuantizePlan | None:
        return plan_copies(operands, self.rows, self.columns, halves=self.halves, is_norm=self.is_norm)


class Output:
    def __init__(
        self,
        source: Source,
        operand: Operand,
        cut: Cut,
        seed: "Scalar | torch.Tensor | None" = None,
        history: "torch.Tensor | None" = None,
    ) -> None:
        import torch

        self.operand, self.cut, self._seed, self._history = operand, cut, seed, history
        self.sizes = operand.stored(source.shape)
        """(mn, K)"""
        device = source.x.device
        row_bytes = packed_bytes(padded(self.sizes[1]), operand.spec.format.packed_bits)
        self.codes = empty((self.sizes[0], row_bytes), torch.uint8, device)
        self.scale = empty_scale(operand, source.shape, device)
        self.outer = _outer_scale(operand, source.shape, device)

    @property
    def words(self) -> "torch.Tensor":
        """Codes, in words of 32 bits where they are packed."""
        import torch

        return self.codes if self.operand.spec.format.packed_bits == 8 else self.codes.view(torch.int32)

    @property
    def facts(self) -> OperandFacts:
        return operand_facts(self.operand.spec, self.cut, current_device().kind)

    def arguments(self, amax: Amax) -> tuple[Any, ...]:
        """A kernel's arguments for this operand, from amax_ptr to outer_mn_tiles."""
        spec, tables = self.operand.spec, (None, None)
        if self.facts.element.encode_by == "table":
            tables = lookup_tables(spec.format.name, spec.rounding, self.codes.device)
        outer = self.outer if spec.scale_rule.has_fitted_outer else None
        return (
            *(amax.tiles, amax.outer, amax.new, self.words, self.scale, outer, *tables, self._seed),
            *(self.words.stride(0), self.scale.shape[1], 1 if outer is None else outer.shape[1]),
        )

    def result(self, amax: Amax) -> QuantizedTensor:
        import torch

        new = None
        if amax.new is not None:
            new = amax.new.view(torch.float32).view(1, 1)
        elif self.operand.spec.scale_rule.history:
            new = torch.zeros((1, 1), dtype=torch.float32, device=self.codes.device)
        return QuantizedTensor.of(self.operand, self.codes, self.scale, self.sizes[1], self.outer, new)

    def earlier(self) -> "torch.Tensor | None":
        """The amax of earlier steps for a delayed scale; None for other scales, or without a history."""
        steps = self.operand.spec.scale_rule.history
        if not steps or self._history is None or not self._history.numel():
            return None
        return self._history[-steps:].contiguous()


def _outer_scale(operand: Operand, shape: tuple[int, int], device: "torch.device") -> "torch.Tensor | None":
    """float32[outer k_tiles, outer mn_tiles]: a constant, or uninitialized for the kernel."""
    import torch

    grid, outer = operand.outer_grid(shape), operand.spec.scale_rule.outer
    if grid is None or outer is None:
        return None
    mn_tiles, k_tiles = operand.stored(grid.scale_shape)
    if outer.constant is None and prod(shape):
        return empty((k_tiles, mn_tiles), torch.float32, device)
    value = 0.0 if outer.constant is None else outer.constant
    return filled((k_tiles, mn_tiles), torch.float32, device, value)


def quantize_one(
    x: "torch.Tensor",
    operand: Operand,
    seed: "Scalar | torch.Tensor | None",
    history: "torch.Tensor | None",
) -> QuantizedTensor:
    device, spec = current_device(), operand.spec
    if device.kind is DeviceKind.INTERPRETER:
        x = x.float()  # its loads of bfloat16 are not to be trusted; the values are the same
    source = Source(name="", x=x, rows=x.shape[0], columns=x.shape[1])
    sizes, along_k = operand.stored(source.shape), operand.stored((x.stride(0), x.stride(1)))[1]
    lines = x if operand.k_is_rows else x.T
    part_rows = panel_rows(spec, *sizes, device)
    if part_rows and lies_in_words(lines):
        plan = plan_quantize(spec, *sizes, side_by_side=False)
        output = Output(source, operand, plan.only)
        launch_panels(output, lines, part_rows)
        return output.result(Amax())
    programs = cooperative_programs(device)
    plan = plan_quantize(spec, *sizes, side_by_side=along_k == 1, programs=programs)
    if operand.saved is not None and plan.only.saved is None:
        source = replace(source, x=quantize_one(x, operand.saved, None, None).values())
    output = Output(source, operand, plan.only, seed, history)
    if not x.numel():
        return output.result(Amax())
    (amax,) = amaxes_of_x(source, [output], plan)
    if device.kind is DeviceKind.GPU and not loads_in_patches(source.x):
        plan = plan.without_patches()
    side = _ALONG if plan.down is None else _DOWN
    _launch(source, plan, {side: output}, {side: amax})
    return output.result(amax)


def quantize_two(
    source: Source,
    operands: tuple[Operand, Operand],
    seeds: "Sequence[Scalar | torch.Tensor | None]",
    history: "torch.Tensor | None",
) -> tuple[QuantizedTensor, QuantizedTensor]:
    """Quantize a checked x as two operands; from one read if K of one runs along rows, of the other down."""
    x, device, plan = source.x, current_device(), None
    is_transposed = x.stride(0) == 1 and x.stride(1) != 1
    lines, sizes = (x.T, source.shape[::-1]) if is_transposed else (x, source.shape)
    sides = [_DOWN if each.k_is_rows != is_transposed else _ALONG for each in operands]
    if sides[0] != sides[1] and x.numel() and 1 in x.stride():
        along, down = (operands[sides.index(side)].spec for side in (_ALONG, _DOWN))
        if takes_strips("", along, down, *sizes, device) and lies_in_words(lines):
            cuts = [strip_cut(each, source.shape) for each in operands]
            outputs = {side: Output(source, *each) for side, *each in zip(sides, operands, cuts, strict=True)}
            launch_strips(replace(source, x=lines), outputs[_ALONG], outputs[_DOWN])
            return tuple(each.result(Amax()) for each in outputs.values())
        programs = 0 if source.amax is not None else cooperative_programs(device)
        plan = plan_both(along, down, *sizes, programs=programs)
    if plan is None:
        return tuple(
            quantize_one(x, each, seed, history if each.spec.scale_rule.history else None)
            for each, seed in zip(operands, seeds, strict=True)
        )
    if device.kind is DeviceKind.INTERPRETER:
        source = replace(source, x=x.float())  # as in quantize_one
    outputs = {
        side: Output(source, operand, plan.down if side else plan.along, seed, history)
        for side, operand, seed in zip(sides, operands, seeds, strict=True)
    }
    if device.kind is DeviceKind.GPU and not loads_in_patches(x):
        plan = replace(plan, patch=0)
    amaxes = dict(zip(sides, amaxes_of_x(source, list(outputs.values()), plan), strict=True))
    _launch(source, plan, outputs, amaxes)
    return tuple(each.result(amaxes[side]) for side, each in outputs.items())


def quantize_computed(
    source: Source,
    operands: Sequence[Operand | None],
    seeds: "Sequence[Scalar | torch.Tensor | None]",
    history: "torch.Tensor | None",
    plan: QuantizePlan,
    out_amax: "torch.Tensor | None" = None,
) -> "tuple[Copy, ...]":
    """Compute and quantize, all in one launch; the result in bf16 where an operand is None.

    out_amax: int32[PARTIALS] of zeros, of which the largest becomes the bits of the result's amax.
    """
    import torch

    strips, outputs = _takes_strips(source, operands), {}
    for operand, seed in zip(operands, seeds, strict=True):
        if operand is not None:
            cut = plan.down if operand.k_is_rows else plan.along
            cut = strip_cut(operand, source.shape) if strips else cut
            outputs[operand.k_is_rows] = Output(source, operand, cut, seed, history)
    if strips:
        launch_strips(source, outputs.get(_ALONG), outputs[_DOWN], reciprocals_of(source, 0))
        return tuple(outputs[each.k_is_rows].result(Amax()) for each in operands)
    out = empty_result(source) if None in operands else None
    target = out
    if current_device().kind is DeviceKind.INTERPRETER:
        # Its loads and stores of bfloat16 are not to be trusted; the values are the same.
        other = None if source.other is None else source.other.float()
        source = replace(source, x=source.x.float(), other=other)
        target = None if out is None else out.float()
    amaxes = dict(zip(outputs, amaxes_of_result(source, list(outputs.values())), strict=True))
    reciprocals = reciprocals_of(source, plan.columns)
    _launch(source, plan, outputs, amaxes, reciprocals=reciprocals, out=target, out_amax=out_amax)
    if target is not out:
        out.copy_(target.to(torch.bfloat16))
    sides = [None if each is None else each.k_is_rows for each in operands]
    return tuple(out if side is None else outputs[side].result(amaxes[side]) for side in sides)


def empty_result(source: Source) -> "torch.Tensor":
    import torch

    return empty(source.shape, torch.bfloat16, source.x.device)


def _takes_strips(source: Source, operands: Sequence[Operand | None]) -> bool:
    specs = specs_of(operands)
    if specs is None or None in operands:
        return False
    able = takes_strips(source.name, *specs, source.rows, source.columns, current_device())
    return able and all(
        is_aligned(each) if each.ndim == 1 else lies_in_words(each) for each in source.tensors
    )


def _launch(
    source: Source,
    plan: QuantizePlan,
    outputs: dict[bool, Output],
    amaxes: dict[bool, Amax],
    *,
    reciprocals: "torch.Tensor | None" = None,
    out: "torch.Tensor | None" = None,
    out_amax: "torch.Tensor | None" = None,
) -> None:
    """Launch the kernel for outputs and their amaxes, by side."""
    from kernels.quantize.kernel import quantize_kernel

    x, along, down = source.x, outputs.get(_ALONG), outputs.get(_DOWN)
    lead = along or down
    rows, columns, strides = source.rows, source.columns, (x.stride(0), 1)
    passes = list(amaxes.values())
    is_computed = source.name != ""
    if not is_computed:
        # Rows and columns are those of a block: K of the first operand runs along them.
        order = 1 if along else -1
        rows, columns = lead.sizes[::order]
        strides = lead.operand.stored((x.stride(0), x.stride(1)))[::order]
        # Of two copies of x, the first one counts.
        passes = [amaxes[_ALONG if along else _DOWN]]
    across, high = plan.blocks(rows, columns)
    history = lead.earlier() if plan.cooperative else None
    is_read = any(each.tiles is not None or each.outer is not None for each in passes)
    grid = (across, high) if plan.down else (high, across)
    launch(
        quantize_kernel,
        (across * high * (1 + plan.split),) if is_computed else grid,
        *(x, source.other, reciprocals, out, out_amax),
        *(history, None if history is None else history.numel()),
        *(_ABSENT if along is None else along.arguments(amaxes[_ALONG])),
        *(_ABSENT if down is None else down.arguments(amaxes[_DOWN])),
        *(rows, columns, *strides),
        None if source.other is None else source.other.stride(0),
        None if out is None else out.stride(0),
        across if is_computed else None,
        SOURCE=source.name,
        EPS=source.eps,
        PLAN=plan,
        ALONG=along and along.facts,
        DOWN=down and down.facts,
        HISTORY=1 if lead is None else history_extent(lead.operand.spec.scale_rule.history),
        REVERSED=is_read or reciprocals is not None,
        CAST=current_device().kind is DeviceKind.GPU,
        num_warps=plan.warps,
        **COMPILE_OPTIONS,
        **({"launch_cooperative_grid": True} if plan.cooperative else {}),
    )
