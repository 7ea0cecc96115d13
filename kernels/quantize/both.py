"""Two layouts of one tensor, from one read where that is possible: `quantize_both(x, first, second)`."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fp8core.recipes import Operand
from kernels.device import DeviceKind, current_device, launching
from kernels.launching.gradients import refuse_gradient
from kernels.launching.launch import launch
from kernels.launching.parameters import Word
from kernels.launching.tokens import layout, token, word_kind
from kernels.launching.warm import Done, Warm
from kernels.quantize.both_plan import BothPlan, both_constants, both_grid, plan_both
from kernels.quantize.constants import for_numbers
from kernels.quantize.launch import check_tensor, quantize_now
from kernels.quantize.meeting import meeting_programs
from kernels.quantize.tensor import QuantizedTensor
from kernels.quantize.work import Amax, Work, launch_options
from kernels.strips.launch import launch_strips, lies_in_words
from kernels.strips.plan import strip_plan, takes_strips

if TYPE_CHECKING:
    import torch

TAPES = Warm()
"""What calls of `quantize_both` left, by the operands and the layout of x."""

Seed = "int | torch.Tensor | None"
Pair = tuple[QuantizedTensor, QuantizedTensor]


def quantize_both(
    x: "torch.Tensor",
    first: Operand,
    second: Operand,
    *,
    seeds: "Sequence[int | torch.Tensor | None] | None" = None,
    history: "torch.Tensor | None" = None,
) -> Pair:
    """Quantize x [rows, columns] as two operands: the bits of `quantize(x, first)` and `quantize(x, second)`.

    One kernel reads x once and writes both, where K of one runs along the rows and K of the other down the
    columns. Amax that is not a block's own is collected before, for both at once where it is the same.

    - seeds: one for each operand, as `quantize` takes it; None where rounding is not random.
    - history: as `quantize` takes it, for every operand under a delayed scale.

    Raises as `quantize` does.
    """
    refuse_gradient("quantize_both", x=x)
    given_seeds = tuple(Word(each) if isinstance(each, int) else each for each in seeds or (None, None))
    if len(given_seeds) != 2:
        raise ValueError(f"there is a seed for each of two operands, got {len(given_seeds)}")
    words = tuple(each for each in given_seeds if isinstance(each, Word))
    stored = [each for each in given_seeds if each is not None and not isinstance(each, Word)]
    given = (x, *([] if history is None else [history]), *stored)
    asked = (
        *((token(each.spec), each.k_is_rows) for each in (first, second)),
        layout(x),
        layout(history),
        *map(word_kind, given_seeds),
    )
    tape = TAPES.get(asked)
    if tape is not None:
        return tape(given, words)
    return _recorded(asked, given, words, lambda: _quantize_both(x, (first, second), given_seeds, history))


def quantize_both_by(
    x: "torch.Tensor",
    operands: Sequence[Operand],
    seeds: "Sequence[Word | torch.Tensor | None]",
    found: "torch.Tensor",
) -> Pair:
    """As `quantize_both`, of an x whose amax is known: the largest of `found`, int32[PARTIALS], is its bits.

    The scales of both operands ask for it, and look back on no earlier steps.
    """
    first, second = operands
    given_seeds = tuple(seeds)
    words = tuple(each for each in given_seeds if isinstance(each, Word))
    stored = [each for each in given_seeds if each is not None and not isinstance(each, Word)]
    given = (x, found, *stored)
    asked = (
        "amax known",
        *((token(each.spec), each.k_is_rows) for each in (first, second)),
        *map(layout, (x, found)),
        *map(word_kind, given_seeds),
    )
    tape = TAPES.get(asked)
    if tape is not None:
        return tape(given, words)
    run = partial(_quantize_both, x, (first, second), given_seeds, None, found)
    return _recorded(asked, given, words, run)


def _recorded(
    asked: Hashable, given: "Sequence[torch.Tensor]", words: Sequence[Word], quantize_them: Callable[[], Pair]
) -> Pair:
    """What a call gives that nobody made before; its tape is kept."""

    def run() -> Done[Pair]:
        with launching(given[0]):
            made = quantize_them()
        one, other = made
        count, first_again, second_again = len(one.made), one.like(), other.like()

        def finish(tensors: "list[torch.Tensor]") -> Pair:
            return first_again(tensors[:count]), second_again(tensors[count:])

        return Done(value=made, results=(*one.made, *other.made), finish=finish)

    return TAPES.record(asked, given, words, run)


def _quantize_both(
    x: "torch.Tensor",
    operands: tuple[Operand, Operand],
    seeds: "tuple[Word | torch.Tensor | None, ...]",
    history: "torch.Tensor | None",
    found: "torch.Tensor | None" = None,
) -> Pair:
    """Quantize, as nobody has yet: check everything, plan, and launch. found: as quantize_both_by has it."""
    device = current_device()
    histories = [history if each.spec.scale_rule.history else None for each in operands]
    if history is not None and not any(each is not None for each in histories):
        raise ValueError("these rules take the tensor's own amax, got a history")
    for operand, seed, own in zip(operands, seeds, histories, strict=True):
        check_tensor(x, None, operand, seed, own)
    turned = _lies_turned(x)
    along = [number for number, each in enumerate(operands) if each.k_is_rows is turned]
    plan = None
    if len(along) == 1 and x.numel() and 1 in x.stride():
        specs = operands[along[0]].spec, operands[1 - along[0]].spec
        sizes = (x.shape[1], x.shape[0]) if turned else (x.shape[0], x.shape[1])
        if takes_strips("", *specs, *sizes, device) and lies_in_words(x.T if turned else x):
            return _in_strips(x, operands, along[0])
        plan = plan_both(*specs, *sizes, programs=0 if found is not None else meeting_programs(device))
    if plan is None:
        made = [
            quantize_now(x, each, seed, own)
            for each, seed, own in zip(operands, seeds, histories, strict=True)
        ]
        return made[0], made[1]
    if device.kind is DeviceKind.INTERPRETER:
        x = x.float()  # its loads of bfloat16 are not to be trusted; the values are the same
    works = [
        Work(
            operand=operands[number],
            plan=plan.along if number == along[0] else plan.down,
            x=x,
            kind=device.kind,
            seed=seeds[number],
            history=histories[number],
        )
        for number in range(len(operands))
    ]
    amax = _collected(works) if found is None else [each.known(found) for each in works]
    _launch(plan, works, amax, along[0])
    return works[0].result(amax[0]), works[1].result(amax[1])


def _in_strips(x: "torch.Tensor", operands: tuple[Operand, Operand], first: int) -> Pair:
    """Both copies by the kernel that is fastest where shapes are even; `first` runs along memory."""
    works = []
    for operand in operands:
        cut = strip_plan(operand.spec, *operand.stored((x.shape[0], x.shape[1])))
        works.append(Work(operand=operand, plan=cut, x=x, kind=DeviceKind.GPU, seed=None, history=None))
    x = x.T if _lies_turned(x) else x
    launch_strips(works[first], works[1 - first], x)
    return works[0].result(Amax()), works[1].result(Amax())


def _lies_turned(x: "torch.Tensor") -> bool:
    """Neighbors down the columns are neighbors in memory."""
    return x.stride(0) == 1 and x.stride(1) != 1


def _collected(works: list[Work]) -> list[Amax]:
    """Amax of both operands: one pass where both ask for the same of the same numbers."""
    one, other = works
    first = one.collect()
    return [first, first if one.collects == other.collects else other.collect()]


def _launch(plan: BothPlan, works: list[Work], amax: list[Amax], first: int) -> None:
    """Launch the kernel that writes both; `first` is the number of the operand along the rows."""
    from kernels.quantize.both_kernel import both_kernel

    order = (first, 1 - first)
    along, down = (works[number] for number in order)
    rows, columns = along.sizes
    given = []
    for number in order:
        given += [*works[number].pointers(amax[number]), *works[number].counts]
    constants = for_numbers(
        both_constants(along.operand.spec, down.operand.spec, plan, along.kind),
        along.kind,
        along.x.element_size(),
    )
    launch(
        both_kernel,
        both_grid(plan, rows, columns),
        along.x,
        *along.earlier,
        *given,
        rows,
        columns,
        *along.strides,
        **constants,
        num_warps=plan.warps,
        **launch_options(meets=plan.along.meets),
    )
