"""Launches of the fused kernels: what a layer has goes in, quantized copies of what it computes come out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fp8core.recipes import Operand, OperandSpec
from fp8core.tiles import WHOLE, TileShape
from kernels.device import COMPILE_OPTIONS, DeviceKind, current_device, launching
from kernels.fused.checks import Seed, check_history, seeds_of
from kernels.fused.passes import collected, reciprocals_of
from kernels.fused.plan import FusedPlan, keeps, plan_fused, sides_of
from kernels.fused.source import Source
from kernels.launching.launch import launch
from kernels.launching.parameters import Word
from kernels.launching.tokens import layout, token, word_kind
from kernels.launching.warm import Done, Warm
from kernels.quantize.both import quantize_both, quantize_both_by
from kernels.quantize.constants import operand_facts
from kernels.quantize.launch import check_place, check_tensor, quantize
from kernels.quantize.meeting import gathered
from kernels.quantize.operands import OperandFacts
from kernels.quantize.plan import PARTIALS
from kernels.quantize.tensor import QuantizedTensor
from kernels.quantize.work import Amax, Work
from kernels.strips.launch import is_aligned, launch_strips, lies_in_words
from kernels.strips.plan import strip_plan, takes_strips

if TYPE_CHECKING:
    import torch

TAPES = Warm()
"""What calls left, by the source, the operands and the layouts of what they were given."""
_ABSENT = (None,) * 9 + (0, 0, 1)
"""Arguments of an operand that is not there: pointers and a seed, a stride, tiles, outer tiles."""

Copy = "QuantizedTensor | torch.Tensor"


def copies_of(
    source: Source,
    operands: Sequence[Operand | None],
    seeds: Sequence[Seed] | None,
    history: "torch.Tensor | None",
) -> "tuple[Copy, ...]":
    """A copy of the result for each operand; the result in bf16 where an operand is None.

    One launch writes them all where it can. Else it writes bf16, and `quantize` reads that.
    """
    operands = tuple(operands)
    seeds = tuple(Word(each) if isinstance(each, int) else each for each in seeds_of(operands, seeds))
    words = tuple(each for each in seeds if isinstance(each, Word))
    stored = [each for each in seeds if each is not None and not isinstance(each, Word)]
    given = (*source.given, *([] if history is None else [history]), *stored)
    asked = (
        source.name,
        source.eps,
        *(each and (token(each.spec), each.k_is_rows) for each in operands),
        *map(layout, source.given),
        layout(history),
        *map(word_kind, seeds),
    )
    tape = TAPES.get(asked)
    if tape is not None:
        return tape(given, words)
    check_history(operands, history)
    plan = _plan(source, operands) if source.x.numel() else None
    if plan is None or keeps(operands, plan, source.reads):
        return _apart(source, operands, seeds, history)

    def run() -> "Done[tuple[Copy, ...]]":
        with launching(source.x):
            made = _Launch(source, operands, seeds, history, plan).run()
        return _done(made)

    return TAPES.record(asked, given, words, run)


def _plan(source: Source, operands: "tuple[Operand | None, ...]") -> FusedPlan | None:
    """The launch for all operands; None where there is none."""
    sides = sides_of(operands)
    if sides is None:
        return None
    along, down = (None if number is None else operands[number] for number in sides)
    specs = along and along.spec, down and down.spec
    size = {"halves": source.halves}
    whole = plan_fused(*specs, source.rows, source.columns, whole_rows=True) if source.is_norm else None
    return whole or plan_fused(*specs, source.rows, source.columns, **size)


def _apart(
    source: Source,
    operands: "tuple[Operand | None, ...]",
    seeds: "tuple[Word | torch.Tensor | None, ...]",
    history: "torch.Tensor | None",
) -> "tuple[Copy, ...]":
    """The result in bf16, and `quantize` of that; two copies come from one read of it where they can."""
    if len(operands) == 2 and None not in operands:
        able = source.x.numel() and not source.is_norm and history is None
        if able and all(_asks_for_amax(each.spec) for each in operands):
            made, found = _with_amax(source)
            return quantize_both_by(made, operands, seeds, found)
        (made,) = copies_of(source, [None], None, None) if source.x.numel() else (_nothing(source),)
        return quantize_both(made, *operands, seeds=seeds, history=history)
    (made,) = copies_of(source, [None], None, None) if source.x.numel() else (_nothing(source),)
    return tuple(
        made
        if operand is None
        else quantize(made, operand, seed=seed, history=history if operand.spec.scale_rule.history else None)
        for operand, seed in zip(operands, seeds, strict=True)
    )


def _asks_for_amax(spec: OperandSpec) -> bool:
    """Its scales need the amax of the whole result, as it is, and of no other numbers or steps."""
    return (
        not spec.scale_rule.history and gathered(spec, fused=spec.tile != TileShape(WHOLE, WHOLE)) is not None
    )


def _with_amax(source: Source) -> "tuple[torch.Tensor, torch.Tensor]":
    """(the result in bf16, int32[PARTIALS] whose largest is the bits of its amax), in one launch."""
    asked = (source.name, "with amax", *map(layout, source.given))
    tape = TAPES.get(asked)
    if tape is not None:
        return tape(source.given, ())
    plan = _plan(source, (None,))
    assert plan is not None, "a launch without operands takes every result"

    def run() -> "Done[tuple[torch.Tensor, torch.Tensor]]":
        with launching(source.x):
            made = _Launch(source, (None,), (None,), None, plan, finds_amax=True).run()
        return Done(value=made, results=made, finish=tuple)

    return TAPES.record(asked, source.given, (), run)


def _nothing(source: Source) -> "torch.Tensor":
    import torch

    return source.x.new_empty((source.rows, source.columns * source.halves), dtype=torch.bfloat16)


def _done(made: "tuple[Copy, ...]") -> "Done[tuple[Copy, ...]]":
    """What a call gave, as a tape keeps it: of each copy, how it becomes one again."""
    parts = [each.made if isinstance(each, QuantizedTensor) else (each,) for each in made]
    again = [each.like() if isinstance(each, QuantizedTensor) else None for each in made]
    counts = [len(each) for each in parts]

    def finish(tensors: "list[torch.Tensor]") -> "tuple[Copy, ...]":
        found, at = [], 0
        for count, like in zip(counts, again, strict=True):
            found.append(tensors[at] if like is None else like(tensors[at : at + count]))
            at += count
        return tuple(found)

    return Done(value=made, results=tuple(each for part in parts for each in part), finish=finish)


def _blocks(plan: FusedPlan, source: Source) -> tuple[int, int]:
    """(blocks beside each other in one half, all that programs share)."""
    across, high = plan.blocks(source.rows, source.columns)
    return across, across * high * (source.halves if plan.split else 1)


def _given(
    works: dict[int, Work], amax: dict[int, Amax], kind: DeviceKind
) -> tuple[list[OperandFacts | None], list[Any]]:
    """(facts, arguments) of the operand along the rows, then of the one down the columns."""
    facts: list[OperandFacts | None] = []
    arguments: list[Any] = []
    for down in (False, True):
        number = next((n for n, each in works.items() if each.operand.k_is_rows is down), None)
        if number is None:
            facts.append(None)
            arguments += _ABSENT
            continue
        work = works[number]
        facts.append(operand_facts(work.operand.spec, work.plan, kind))
        arguments += [*work.pointers(amax[number]), *work.counts]
    return facts, arguments


@dataclass(frozen=True)
class _Launch:
    """One call, as nobody has made it yet."""

    source: Source
    operands: "tuple[Operand | None, ...]"
    seeds: "tuple[Word | torch.Tensor | None, ...]"
    history: "torch.Tensor | None"
    plan: FusedPlan
    finds_amax: bool = False

    def run(self) -> "tuple[Copy, ...]":
        """Check, allocate what the kernel writes, and run it."""
        import torch

        source, plan, kind = self.source, self.plan, current_device().kind
        check_place(source.x, kind, "the tensor")
        strips = self._takes_strips()
        works, out = {}, None
        for number, (operand, seed) in enumerate(zip(self.operands, self.seeds, strict=True)):
            if operand is None:
                continue
            check_tensor(source.x, None, operand, seed, None)
            cut = plan.down if operand.k_is_rows else plan.along
            if strips:
                cut = strip_plan(operand.spec, *operand.stored(source.shape))
            works[number] = Work(
                operand=operand, plan=cut, x=source.result, kind=kind, seed=seed, history=self.history
            )
        if strips:
            self._write_strips({each.operand.k_is_rows: each for each in works.values()})
            return tuple(each.result(Amax()) for each in works.values())
        if None in self.operands:
            out = _nothing(source)
        found = None
        if self.finds_amax:
            found = torch.zeros(PARTIALS, dtype=torch.int32, device=source.x.device)
        amax = self._start(works, out, found, kind)
        if out is not None:
            out = out.to(torch.bfloat16)
        if found is not None:
            return out, found
        return tuple(
            out if operand is None else works[number].result(amax[number])
            for number, operand in enumerate(self.operands)
        )

    def _takes_strips(self) -> bool:
        """True where all copies are written in strips, and no bf16 beside them."""
        source, sides = self.source, sides_of(self.operands)
        if sides is None or None in self.operands:
            return False
        along, down = (None if number is None else self.operands[number].spec for number in sides)
        able = takes_strips(source.name, along, down, source.rows, source.columns, current_device())
        in_words = [is_aligned(each) if each.ndim == 1 else lies_in_words(each) for each in source.given]
        return able and all(in_words)

    def _write_strips(self, works: dict[bool, Work]) -> None:
        """Launch the kernels that write copies in strips, by whether codes lie down the columns."""
        source, x = self.source, self.source.x
        found, other = reciprocals_of(source, 0, x), source.other
        given = {"other": other, "reciprocals": found, "halves": source.halves}
        launch_strips(works.get(False), works[True], x, source.name, **given)

    def _start(
        self,
        works: dict[int, Work],
        out: "torch.Tensor | None",
        found: "torch.Tensor | None",
        kind: DeviceKind,
    ) -> dict[int, Amax]:
        """Launch the kernels; the amax that passes before the last one found, by the operand's number."""
        from kernels.fused.kernel import fused_kernel

        source, plan = self.source, self.plan
        x, other, result = source.x, source.other, out
        if kind is DeviceKind.INTERPRETER:
            # Its loads and stores of bfloat16 are not to be trusted; the values are the same.
            x, other = x.float(), None if other is None else other.float()
            result = None if out is None else out.float()
        amax = collected(source, works, x, other, kind)
        facts, arguments = _given(works, amax, kind)
        reciprocals = reciprocals_of(source, self.plan.block_columns, x)
        has_been_read = reciprocals is not None or any(
            each.tiles is not None or each.outer is not None for each in amax.values()
        )
        across, blocks = _blocks(plan, source)
        launch(
            fused_kernel,
            (blocks,),
            x,
            other,
            reciprocals,
            result,
            found,
            *arguments,
            source.rows,
            source.columns,
            x.stride(0),
            0 if other is None else other.stride(0),
            0 if result is None else result.stride(0),
            across,
            SOURCE=source.name,
            EPS=source.eps,
            ALONG=facts[0],
            DOWN=facts[1],
            REVERSED=has_been_read,
            CAST=kind is DeviceKind.GPU,
            **plan.constants,
            num_warps=plan.warps,
            **COMPILE_OPTIONS,
        )
        if result is not out:
            out.copy_(result)
        return amax
