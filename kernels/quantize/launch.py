"""Launches of the quantizer: passes for an amax, memory for codes and scales, the kernel that writes them."""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from fp8core.packing import packed_bytes
from fp8core.recipes import Operand
from kernels.device import DeviceKind, current_device
from kernels.launching.launch import empty, filled, launch
from kernels.launching.parameters import Scalar
from kernels.quantize.collect import (
    Amax,
    loadable,
    reciprocals_of,
    set_amaxes_of_result,
    set_amaxes_of_x,
)
from kernels.quantize.facts import PARTIALS, OperandFacts, padded, power_over
from kernels.quantize.plan import (
    QuantizePlan,
    cooperative_programs,
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
    strip_facts,
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


class Source(NamedTuple):
    """The input of a result [rows, halves · columns]: x itself, or tensors to compute it from.

    - name: the kernel's SOURCE, "" for x. other: a second tensor to read, or None.
    - eps: bits of the number that a norm adds to the mean square; else 0.
    - amax: int32[PARTIALS], of which the largest is the bits of x's amax; None if unknown.
    """

    x: "torch.Tensor"
    name: str = ""
    other: "torch.Tensor | None" = None
    eps: int = 0
    amax: "torch.Tensor | None" = None

    @property
    def rows(self) -> int:
        return self.x.shape[0]

    @property
    def columns(self) -> int:
        """Columns of the result, or of each half."""
        return self.x.shape[1] // (2 if self.name.startswith("swiglu") else 1)

    @property
    def halves(self) -> int:
        return 2 if self.name == "swiglu backward" else 1

    @property
    def tensors(self) -> "tuple[torch.Tensor, ...]":
        return tuple([each for each in (self.x, self.other, self.amax) if each is not None])

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

    def plan(
        self, operands: Sequence[Operand | None], kind: DeviceKind = DeviceKind.GPU
    ) -> QuantizePlan | None:
        return plan_copies(operands, self.rows, self.columns, kind, halves=self.halves, is_norm=self.is_norm)


class Output:
    """Memory of a copy, and the amax that its scales need: None, but for an earlier pass or launch."""

    def __init__(
        self,
        source: Source,
        operand: Operand,
        facts: OperandFacts,
        seed: "Scalar | torch.Tensor | None" = None,
        history: "torch.Tensor | None" = None,
    ) -> None:
        import torch

        self.operand, self.facts, self._seed, self._history = operand, facts, seed, history
        self.amax = Amax()
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

    def arguments(self) -> tuple[Any, ...]:
        """A kernel's arguments for this operand, from amax_ptr to outer_mn_tiles."""
        spec, tables, amax = self.operand.spec, (None, None), self.amax
        if self.facts.element.encode_by == "table":
            tables = lookup_tables(spec.format.name, spec.rounding, self.codes.device)
        outer = self.outer if spec.scale_rule.has_fitted_outer else None
        return (
            *(amax.tiles, amax.outer, amax.new, self.words, self.scale, outer, *tables, self._seed),
            *(self.words.stride(0), self.scale.shape[1], 1 if outer is None else outer.shape[1]),
        )

    def result(self) -> QuantizedTensor:
        import torch

        new = self.amax.new
        if new is not None:
            new = new.view(torch.float32).view(1, 1)
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

    grid = operand.outer_grid(shape)
    if grid is None:
        return None
    constant, sizes = operand.spec.scale_rule.outer.constant, operand.stored(grid.scale_shape)[::-1]
    if constant is None and prod(shape):
        return empty(sizes, torch.float32, device)
    return filled(sizes, torch.float32, device, constant or 0.0)


def _quantize_alone(
    x: "torch.Tensor",
    operand: Operand,
    seed: "Scalar | torch.Tensor | None" = None,
    history: "torch.Tensor | None" = None,
) -> QuantizedTensor:
    device, spec, source = current_device(), operand.spec, Source(x)
    sizes, along_k = operand.stored(source.shape), operand.stored((x.stride(0), x.stride(1)))[1]
    lines = x if operand.k_is_rows else x.T
    part_rows = panel_rows(spec, *sizes, device)
    if part_rows and lies_in_words(lines):
        output = Output(source, operand, strip_facts(operand, source.shape))
        launch_panels(output, lines, part_rows)
        return output.result()
    programs = cooperative_programs(device)
    plan = plan_quantize(spec, *sizes, device.kind, side_by_side=along_k == 1, programs=programs)
    if operand.saved is not None and plan.only.saved is None:
        source = Source(_quantize_alone(x, operand.saved).values())
    output = Output(source, operand, plan.only, seed, history)
    if x.numel():
        _write(source, plan, {_ALONG if plan.down is None else _DOWN: output})
    return output.result()


def quantize_x(
    source: Source,
    operands: tuple[Operand, ...],
    seeds: "Sequence[Scalar | torch.Tensor | None]",
    history: "torch.Tensor | None",
) -> tuple[QuantizedTensor, ...]:
    """Quantize a checked x; two operands from one read if K of one runs along rows, of the other down."""
    x, device, strips, plan = source.x, current_device(), False, None
    is_transposed = x.stride(0) == 1 and x.stride(1) != 1
    lines = source._replace(x=x.T) if is_transposed else source
    sides = [_DOWN if each.k_is_rows != is_transposed else _ALONG for each in operands]
    if len(set(sides)) == 2 and x.numel() and 1 in x.stride():
        along, down = (operands[sides.index(side)].spec for side in (_ALONG, _DOWN))
        strips = takes_strips("", along, down, *lines.shape, device) and lies_in_words(lines.x)
        programs = 0 if source.amax is not None else cooperative_programs(device)
        plan = None if strips else plan_both(along, down, *lines.shape, device.kind, programs=programs)
    if plan is None and not strips:
        pairs = zip(operands, seeds, strict=True)
        return tuple([_quantize_alone(x, operand, seed, history) for operand, seed in pairs])
    outputs = {}
    for side, operand, seed in zip(sides, operands, seeds, strict=True):
        facts = strip_facts(operand, source.shape) if strips else plan.down if side else plan.along
        outputs[side] = Output(source, operand, facts, seed, history)
    if strips:
        launch_strips(lines, outputs[_ALONG], outputs[_DOWN])
    else:
        _write(source, plan, outputs)
    return tuple([each.result() for each in outputs.values()])


def quantize_computed(
    source: Source,
    operands: Sequence[Operand | None],
    seeds: "Sequence[Scalar | torch.Tensor | None]",
    history: "torch.Tensor | None",
    *,
    adds_amax: bool,
) -> "tuple[Copy, ...]":
    """Compute and quantize, all in one launch; the result in bf16 where an operand is None.

    adds_amax: int32[PARTIALS] comes last, of which the largest is the bits of the result's amax.
    """
    import torch

    device, specs, outputs = current_device(), specs_of(operands), {}
    plan = source.plan(operands, device.kind)
    assert plan is not None, "one launch takes these operands"
    aligned = all(is_aligned(each) if each.ndim == 1 else lies_in_words(each) for each in source.tensors)
    strips = aligned and None not in operands
    strips = strips and takes_strips(source.name, *specs, source.rows, source.columns, device)
    for operand, seed in zip(operands, seeds, strict=True):
        if operand is not None:
            facts = plan.down if operand.k_is_rows else plan.along
            facts = strip_facts(operand, source.shape) if strips else facts
            outputs[operand.k_is_rows] = Output(source, operand, facts, seed, history)
    amax = [filled((PARTIALS,), torch.int32, source.x.device)] if adds_amax else []
    out = empty_result(source) if None in operands else None
    if strips:
        launch_strips(source, outputs.get(_ALONG), outputs[_DOWN], reciprocals_of(source, 0))
    else:
        _write(source, plan, outputs, out, *amax)
    return *(out if each is None else outputs[each.k_is_rows].result() for each in operands), *amax


def empty_result(source: Source) -> "torch.Tensor":
    import torch

    return empty(source.shape, torch.bfloat16, source.x.device)


def _write(
    source: Source,
    plan: QuantizePlan,
    outputs: dict[bool, Output],
    out: "torch.Tensor | None" = None,
    out_amax: "torch.Tensor | None" = None,
) -> None:
    """Write the outputs by side: passes for the amax that they need, then the kernel."""
    from kernels.quantize.kernel import quantize_kernel

    along, down = outputs.get(_ALONG), outputs.get(_DOWN)
    lead, target, reciprocals = along or down, out, None
    if current_device().kind is DeviceKind.INTERPRETER:
        # Its loads and stores of bfloat16 are not to be trusted; the values are the same.
        other = None if source.other is None else source.other.float()
        source = source._replace(x=source.x.float(), other=other)
        target = None if out is None else out.float()
    x, rows, columns, strides = source.x, source.rows, source.columns, (source.x.stride(0), 1)
    is_computed = source.name != ""
    if is_computed:
        set_amaxes_of_result(source, list(outputs.values()))
        reciprocals = reciprocals_of(source, plan.columns)
    else:
        set_amaxes_of_x(source, list(outputs.values()), plan)
        plan = loadable(plan, x)
        if plan.down is None:
            along, down = lead, None
        # Rows and columns are those of a block: K of the first operand runs along them.
        order = 1 if along else -1
        rows, columns = lead.sizes[::order]
        strides = lead.operand.stored((x.stride(0), x.stride(1)))[::order]
    across, high = plan.blocks(rows, columns)
    history = lead.earlier() if plan.cooperative else None
    # Of two copies of x, the first one counts.
    passes = [each.amax for each in (outputs.values() if is_computed else (lead,))]
    is_read = any(each.tiles is not None or each.outer is not None for each in passes)
    grid = (across, high) if plan.down else (high, across)
    launch(
        quantize_kernel,
        (across * high * (1 + plan.split),) if is_computed else grid,
        *(x, source.other, reciprocals, target, out_amax),
        *(history, None if history is None else history.numel()),
        *(_ABSENT if along is None else along.arguments()),
        *(_ABSENT if down is None else down.arguments()),
        *(rows, columns, *strides),
        None if source.other is None else source.other.stride(0),
        None if target is None else target.stride(0),
        across if is_computed else None,
        SOURCE=source.name,
        EPS=source.eps,
        PLAN=plan,
        HISTORY=1 if lead is None else power_over(lead.operand.spec.scale_rule.history),
        REVERSED=is_read or reciprocals is not None,
        CAST=current_device().kind is DeviceKind.GPU,
        num_warps=plan.warps,
        **({"launch_cooperative_grid": True} if plan.cooperative else {}),
    )
    if target is not out:
        out.copy_(target)
