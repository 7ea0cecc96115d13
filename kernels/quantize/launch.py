"""Launches of the quantizer: passes for an amax, memory for codes and scales, the kernel that writes them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
    plan_computed,
    plan_quantize,
    sides_of,
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
_ABSENT = (None,) * 9 + (None, None, 1)
"""Arguments of an absent operand, from amax_ptr to outer_mn_tiles."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """The input of a result [rows, halves · columns]: x itself, or tensors to compute it from.

    - name: the kernel's SOURCE, "" for x. other: a second tensor to read, or None.
    - eps: the bits of the number that a norm adds to the mean square; else 0.
    - halves: the result has so many halves, each of `columns`.
    - amax: int32[PARTIALS], of which the largest is the bits of x's amax; None if it is unknown.
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
        every = self.x, self.other, self.amax
        return tuple(each for each in every if each is not None)

    @property
    def reads(self) -> float:
        """Numbers read for each number of the result."""
        other = 0 if self.is_norm or self.other is None else self.other.numel()
        return (self.x.numel() + other) / max(1, self.rows * self.columns * self.halves)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the result."""
        return self.rows, self.columns * self.halves

    @property
    def is_norm(self) -> bool:
        return self.name == "rms norm"

    def plan(self, operands: Sequence[Operand | None]) -> QuantizePlan | None:
        """The plan of one launch that computes the result and writes all its copies, if there is one."""
        sides = sides_of(operands)
        if sides is None:
            return None
        specs = [None if number is None else operands[number].spec for number in sides]
        whole = plan_computed(*specs, self.rows, self.columns, whole_rows=True) if self.is_norm else None
        return whole or plan_computed(*specs, self.rows, self.columns, halves=self.halves)


@dataclass(frozen=True)
class Output:
    """Memory for the codes and scales of one operand of a result."""

    source: Source
    operand: Operand
    cut: Cut
    seed: "Scalar | torch.Tensor | None" = None
    history: "torch.Tensor | None" = None
    codes: "torch.Tensor" = field(init=False)
    scale: "torch.Tensor" = field(init=False)
    outer: "torch.Tensor | None" = field(init=False)

    def __post_init__(self) -> None:
        import torch

        mn, k = self.sizes
        row = packed_bytes(padded(k), self.operand.spec.format.packed_bits)
        codes = empty((mn, row), torch.uint8, self.source.x.device)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "scale", empty_scale(self.operand, self.source.shape, self.source.x.device))
        object.__setattr__(self, "outer", self._outer_scale())

    @property
    def sizes(self) -> tuple[int, int]:
        """(mn, K)."""
        return self.operand.stored(self.source.shape)

    @property
    def facts(self) -> OperandFacts:
        """The kernel's constant for this operand."""
        return operand_facts(self.operand.spec, self.cut, current_device().kind)

    def arguments(self, amax: Amax) -> tuple[Any, ...]:
        """A kernel's arguments for this operand, from amax_ptr to outer_mn_tiles."""
        spec, tables = self.operand.spec, (None, None)
        if self.facts.element.encode_by == "table":
            tables = lookup_tables(spec.format.name, spec.rounding, self.source.x.device)
        outer = self.outer if spec.scale_rule.has_fitted_outer else None
        outer_tiles = 1 if outer is None else outer.shape[1]
        words = self.words
        return (
            *(amax.tiles, amax.outer, amax.new, words, self.scale, outer, *tables, self.seed),
            *(words.stride(0), self.scale.shape[1], outer_tiles),
        )

    @property
    def words(self) -> "torch.Tensor":
        """Codes, in words of 32 bits where they are packed."""
        import torch

        return self.codes if self.operand.spec.format.packed_bits == 8 else self.codes.view(torch.int32)

    def result(self, amax: Amax) -> QuantizedTensor:
        """The tensor of these codes and scales."""
        import torch

        new = None
        if amax.new is not None:
            new = amax.new.view(torch.float32).view(1, 1)
        elif self.operand.spec.scale_rule.history:
            new = torch.zeros((1, 1), dtype=torch.float32, device=self.source.x.device)
        return QuantizedTensor.of(self.operand, self.codes, self.scale, self.sizes[1], self.outer, new)

    def earlier(self) -> "torch.Tensor | None":
        """The amax of earlier steps for a delayed scale; None for other scales, or without a history."""
        steps = self.operand.spec.scale_rule.history
        if not steps or self.history is None or not self.history.numel():
            return None
        return self.history[-steps:].contiguous()

    def _outer_scale(self) -> "torch.Tensor | None":
        """float32[outer k_tiles, outer mn_tiles]: a constant, or room for the kernel's."""
        import torch

        grid, outer = self.operand.outer_grid(self.source.shape), self.operand.spec.scale_rule.outer
        if grid is None or outer is None:
            return None
        mn_tiles, k_tiles = self.operand.stored(grid.scale_shape)
        if outer.constant is None and prod(self.source.shape):
            return empty((k_tiles, mn_tiles), torch.float32, self.source.x.device)
        value = 0.0 if outer.constant is None else outer.constant
        return filled((k_tiles, mn_tiles), torch.float32, self.source.x.device, value)


def quantize_one(
    x: "torch.Tensor",
    operand: Operand,
    seed: "Scalar | torch.Tensor | None",
    history: "torch.Tensor | None",
) -> QuantizedTensor:
    """Quantize a checked x as one operand."""
    device = current_device()
    if device.kind is DeviceKind.INTERPRETER:
        x = x.float()  # its loads of bfloat16 are not to be trusted; the values are the same
    source = Source(name="", x=x, rows=x.shape[0], columns=x.shape[1])
    sizes, along_k = operand.stored(source.shape), operand.stored((x.stride(0), x.stride(1)))[1]
    rows = panel_rows(operand.spec, *sizes, device)
    if rows and lies_in_words(x if operand.k_is_rows else x.T):
        plan = plan_quantize(operand.spec, *sizes, side_by_side=False)
        output = Output(source, operand, plan.only)
        launch_panels(output, x if operand.k_is_rows else x.T, rows)
        return output.result(Amax())
    programs = cooperative_programs(device)
    plan = plan_quantize(operand.spec, *sizes, side_by_side=along_k == 1, programs=programs)
    if operand.saved is not None and plan.only.saved is None:
        source = replace(source, x=quantize_one(x, operand.saved, None, None).values())
    output = Output(source, operand, plan.only, seed, history)
    if not x.numel():
        return output.result(Amax())
    (amax,) = amaxes_of_x(source, [output], plan)
    if device.kind is DeviceKind.GPU and not loads_in_patches(source.x):
        plan = plan.without_patches()
    sides, amaxes = (output, None), (amax, Amax())
    if plan.down:
        sides, amaxes = sides[::-1], amaxes[::-1]
    _launch(source, plan, sides, amaxes)
    return output.result(amax)


def quantize_two(
    source: Source,
    operands: tuple[Operand, Operand],
    seeds: "Sequence[Scalar | torch.Tensor | None]",
    history: "torch.Tensor | None",
) -> tuple[QuantizedTensor, QuantizedTensor]:
    """Quantize a checked x as two operands; from one read if K of one runs along rows, of the other down."""
    x, device, plan = source.x, current_device(), None
    turned = x.stride(0) == 1 and x.stride(1) != 1
    sizes = source.shape[::-1] if turned else source.shape
    runs = [number for number, each in enumerate(operands) if each.k_is_rows is turned]
    if len(runs) == 1 and x.numel() and 1 in x.stride():
        specs = operands[runs[0]].spec, operands[1 - runs[0]].spec
        if takes_strips("", *specs, *sizes, device) and lies_in_words(x.T if turned else x):
            cuts = (strip_cut(each.spec, *each.stored(source.shape)) for each in operands)
            outputs = [Output(source, *each) for each in zip(operands, cuts, strict=True)]
            launch_strips(outputs[runs[0]], outputs[1 - runs[0]], x.T if turned else x)
            return outputs[0].result(Amax()), outputs[1].result(Amax())
        programs = 0 if source.amax is not None else cooperative_programs(device)
        plan = plan_both(*specs, *sizes, programs=programs)
    if plan is None:
        own = [history if each.spec.scale_rule.history else None for each in operands]
        both = zip(operands, seeds, own, strict=True)
        first, second = (quantize_one(x, each, seed, steps) for each, seed, steps in both)
        return first, second
    if device.kind is DeviceKind.INTERPRETER:
        source = replace(source, x=x.float())  # as in quantize_one
    cuts = (plan.along, plan.down)[:: 1 if runs[0] == 0 else -1]
    both = zip(operands, cuts, seeds, strict=True)
    outputs = [Output(source, *each, history) for each in both]
    if device.kind is DeviceKind.GPU and not loads_in_patches(x):
        plan = replace(plan, patch=0)
    amax = amaxes_of_x(source, outputs, plan)
    order = (runs[0], 1 - runs[0])
    sides = outputs[order[0]], outputs[order[1]]
    _launch(source, plan, sides, (amax[order[0]], amax[order[1]]))
    return outputs[0].result(amax[0]), outputs[1].result(amax[1])


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
            if strips:
                cut = strip_cut(operand.spec, *operand.stored(source.shape))
            outputs[operand.k_is_rows] = Output(source, operand, cut, seed, history)
    if strips:
        options = {"other": source.other, "reciprocals": reciprocals_of(source, 0), "halves": source.halves}
        launch_strips(outputs.get(False), outputs[True], source.x, source.name, **options)
        return tuple(outputs[each.k_is_rows].result(Amax()) for each in operands)
    out = empty_result(source) if None in operands else None
    target = out
    if current_device().kind is DeviceKind.INTERPRETER:
        # Its loads and stores of bfloat16 are not to be trusted; the values are the same.
        other = None if source.other is None else source.other.float()
        source = replace(source, x=source.x.float(), other=other)
        target = None if out is None else out.float()
    amax = dict(zip(outputs, amaxes_of_result(source, list(outputs.values())), strict=True))
    _launch(
        source,
        plan,
        (outputs.get(False), outputs.get(True)),
        (amax.get(False, Amax()), amax.get(True, Amax())),
        reciprocals=reciprocals_of(source, plan.columns),
        out=target,
        out_amax=out_amax,
    )
    if target is not out:
        out.copy_(target.to(torch.bfloat16))
    sides = [None if each is None else each.k_is_rows for each in operands]
    return tuple(out if side is None else outputs[side].result(amax[side]) for side in sides)


def empty_result(source: Source) -> "torch.Tensor":
    """bfloat16 of the result's shape, uninitialized."""
    import torch

    return empty(source.shape, torch.bfloat16, source.x.device)


def _takes_strips(source: Source, operands: Sequence[Operand | None]) -> bool:
    """True where all copies are written in strips, and no bf16 beside them."""
    sides = sides_of(operands)
    if sides is None or None in operands:
        return False
    along, down = (None if number is None else operands[number].spec for number in sides)
    able = takes_strips(source.name, along, down, source.rows, source.columns, current_device())
    return able and all(
        is_aligned(each) if each.ndim == 1 else lies_in_words(each) for each in source.tensors
    )


def _launch(
    source: Source,
    plan: QuantizePlan,
    outputs: "tuple[Output | None, Output | None]",
    amaxes: "tuple[Amax, Amax]",
    *,
    reciprocals: "torch.Tensor | None" = None,
    out: "torch.Tensor | None" = None,
    out_amax: "torch.Tensor | None" = None,
) -> None:
    """Launch the kernel for the outputs along the rows of a block, and down its columns."""
    from kernels.quantize.kernel import quantize_kernel

    x, lead = source.x, outputs[0] or outputs[1]
    rows, columns, strides = source.rows, source.columns, (x.stride(0), 1)
    if source.name == "":
        # Rows and columns are those of a block: K of the first operand runs along them.
        order = 1 if outputs[0] else -1
        rows, columns = lead.sizes[::order]
        strides = lead.operand.stored((x.stride(0), x.stride(1)))[::order]
    across, high = plan.blocks(rows, columns)
    history = lead.earlier() if plan.cooperative else None
    # Of two copies of x, the first one counts.
    passes = amaxes[:1] if source.name == "" and outputs[0] else amaxes
    is_read = reciprocals is not None or any(
        each.tiles is not None or each.outer is not None for each in passes
    )
    arguments = [
        _ABSENT if each is None else each.arguments(amax) for each, amax in zip(outputs, amaxes, strict=True)
    ]
    in_line = source.name != ""
    launch(
        quantize_kernel,
        (across * high * (1 + plan.split),) if in_line else (across, high) if plan.down else (high, across),
        *(x, source.other, reciprocals, out, out_amax),
        *(history, None if history is None else history.numel()),
        *arguments[0],
        *arguments[1],
        *(rows, columns, *strides),
        None if source.other is None else source.other.stride(0),
        None if out is None else out.stride(0),
        across if in_line else None,
        SOURCE=source.name,
        EPS=source.eps,
        PLAN=plan,
        ALONG=outputs[0] and outputs[0].facts,
        DOWN=outputs[1] and outputs[1].facts,
        HISTORY=1 if lead is None else history_extent(lead.operand.spec.scale_rule.history),
        REVERSED=is_read,
        CAST=current_device().kind is DeviceKind.GPU,
        num_warps=plan.warps,
        **COMPILE_OPTIONS,
        **({"launch_cooperative_grid": True} if plan.cooperative else {}),
    )
