"""The contest that times a job: all contenders in one process, in turns.

The kernel runs against the simple kernel, bf16 torch.mm and torch's own scaled ops. Quantizing is timed apart
from them, and so is tl.dot_scaled where Triton emulates it. These draw little power: after them the clock
would be higher, which would favor the next contender.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from kernels.bench.job import Cache, GemmJob, Into
from kernels.bench.machine import Timing
from kernels.bench.operands import Operands, least_bytes
from kernels.bench.peers import REFUSALS, ScaledOp, bf16_peer, scaled_ops
from kernels.bench.timing import (
    ColdTurn,
    Contender,
    HotTurn,
    Load,
    Timings,
    Turn,
    buffer_sets,
    flush_buffer,
    interleaved,
)
from kernels.device import Device
from kernels.faults import first_line
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.plan import GemmPlan
from kernels.gemm.simple.dot_scaled import TITLE as DOT_SCALED
from kernels.gemm.simple.dot_scaled import dot_scaled_plan

_GEMM, _SIMPLE, _QUANTIZE, _BF16 = "gemm", "simple", "quantize", "bf16"
_US_A_MS = 1e3

TurnMaker = Callable[[Contender], Turn]


@dataclass(frozen=True, kw_only=True)
class Times:
    """The times of a contest, as Row has them. `load` is the clock and power under the kernel."""

    gemm: Timing | None = None
    quantize: Timing | None = None
    bf16: Timing | None = None
    simple: Timing | None = None
    torch_scaled: Timing | None = None
    torch_op: str = ""
    dot_scaled: Timing | None = None
    note: str = ""
    load: Load = field(default_factory=Load)


def contest(
    job: GemmJob,
    plan: GemmPlan,
    simple: GemmPlan | None,
    operands: Operands,
    device: Device,
    between: Callable[[float], None],
    turn_of: TurnMaker | None = None,
) -> Times:
    """Time a plan against torch over job.runs rounds, and beside it the simple plan, if that is another.

    `between(fraction done)` is called before each round. `turn_of` makes a contender's turn; by default the
    job's.

    Raises torch.OutOfMemoryError.
    """
    if not job.flop:
        return Times(note="no times: an empty matmul")
    sets = _sets(job, plan, operands, device)
    pairs = [own.quantized() for own in sets]
    outs = [_out(job, plan, device_of=own) for own in sets]
    adds = job.into is Into.ACCUMULATE

    def launches(of: GemmPlan) -> list[Callable[[], object]]:
        return [
            lambda p=p, o=o: gemm(*p, of, out=o, accumulate=adds) for p, o in zip(pairs, outs, strict=True)
        ]

    contenders = [
        Contender(_GEMM, launches(plan)),
        Contender(
            _BF16,
            [bf16_peer(*own.as_operands(), o if adds else None) for own, o in zip(sets, outs, strict=True)],
        ),
    ]
    if simple is not None:
        contenders.append(Contender(_SIMPLE, launches(simple)))
    ops = scaled_ops(*pairs[0], plan)
    if not isinstance(ops, str):
        contenders += [
            Contender(op.title, [op.launch(*p, o, job.into) for p, o in zip(pairs, outs, strict=True)])
            for op in ops
        ]
    groups, fault = [contenders, [Contender(_QUANTIZE, [own.quantized for own in sets])]], ""
    emulated = dot_scaled_plan(plan, device)
    if emulated is not None:
        fault = refusal(launches(emulated)[0], outs[0].device)
        groups += [[Contender(DOT_SCALED, launches(emulated))]] * (not fault)
    return _times(_timed(groups, turn_of or _turns(job, device), job.runs, between), ops, fault, job.into)


def _timed(
    groups: Sequence[Sequence[Contender]], turn_of: TurnMaker, rounds: int, between: Callable[[float], None]
) -> Timings:
    """Times of all contenders. Those of a group take turns; one group follows the other."""
    timings, in_all, before = Timings(by_name={}, loads={}), sum(map(len, groups)), 0
    for group in groups:
        turns, start, share = [turn_of(one) for one in group], before / in_all, len(group) / in_all
        more = interleaved(
            turns,
            rounds,
            lambda done, start=start, share=share: between(start + share * done),
            loaded=(_GEMM,),
        )
        timings = Timings(by_name={**timings.by_name, **more.by_name}, loads={**timings.loads, **more.loads})
        before += len(group)
    return timings


def refusal(launch: Callable[[], object], place: torch.device) -> str:
    """The reason why a launch does not compile or run, in a line; empty where it does.

    Raises torch.OutOfMemoryError.
    """
    from triton.errors import TritonError

    try:
        launch()
        if place.type == "cuda":
            torch.cuda.synchronize(place)
    except torch.OutOfMemoryError:
        raise
    except (TritonError, AssertionError, *REFUSALS) as error:
        return f"{type(error).__name__}: {first_line(error)}"
    return ""


def _times(timings: Timings, ops: Sequence[ScaledOp] | str, fault: str, into: Into) -> Times:
    by_name = timings.by_name
    best = None if isinstance(ops, str) else min(ops, key=lambda op: by_name[op.title].median_us)
    notes = [ops] if isinstance(ops, str) else []
    notes += [f"{DOT_SCALED} was not timed: {fault}"] if fault else []
    choice = f" (the fastest of {len(ops)})" if best and len(ops) > 1 else ""
    return Times(
        gemm=by_name[_GEMM],
        quantize=by_name[_QUANTIZE],
        bf16=by_name[_BF16],
        simple=by_name.get(_SIMPLE),
        torch_scaled=by_name[best.title] if best else None,
        torch_op=best.named(into) + choice if best else "",
        dot_scaled=by_name.get(DOT_SCALED),
        note="; ".join(notes),
        load=timings.loads.get(_GEMM, Load()),
    )


def _sets(job: GemmJob, plan: GemmPlan, operands: Operands, device: Device) -> list[Operands]:
    """The operands. A hot job gets enough copies to exceed the L2; a cold one needs none, its L2 is
    flushed.
    """
    wanted = 1 if job.cache is Cache.COLD else buffer_sets(least_bytes(job, plan), device.l2_bytes)
    return [operands] + [operands.copied() for _ in range(wanted - 1)]


def _out(job: GemmJob, plan: GemmPlan, *, device_of: Operands) -> torch.Tensor:
    """A new D to write, or a D of zeros to add into."""
    make = torch.zeros if job.into is Into.ACCUMULATE else torch.empty
    return make((job.m, job.n), dtype=torch_dtype(plan.meaning.spec.out), device=device_of.a.device)


def _turns(job: GemmJob, device: Device) -> TurnMaker:
    settle_us = job.settle_ms * _US_A_MS
    if job.cache is Cache.COLD:
        flush = flush_buffer(device.l2_bytes)
        return lambda contender: ColdTurn(contender, flush, settle_us)
    return lambda contender: HotTurn(contender, job.turn_ms * _US_A_MS, settle_us)
