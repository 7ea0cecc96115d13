"""The contest that times a job: all contenders in one process, in turns.

The kernel runs against the simple kernel, bf16 torch.mm and torch's own scaled ops. Quantizing is timed apart
from them, and so is tl.dot_scaled where Triton emulates it. These draw little power: after them the clock
would be higher, which would favor the next contender.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import torch

from kernels.bench.job import Cache, GemmJob, Into
from kernels.bench.machine import Timing
from kernels.bench.operands import Operands, least_bytes
from kernels.bench.peers import REFUSALS, ScaledOp, bf16_peer, scaled_ops
from kernels.bench.timing import (
    MAX_SETS,
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
from kernels.gemm.factor import GemmOperand
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.plan import GemmPlan
from kernels.gemm.simple.dot_scaled import TITLE as DOT_SCALED
from kernels.gemm.simple.dot_scaled import dot_scaled_plan

_GEMM, _SIMPLE, _QUANTIZE, _BF16 = "gemm", "simple", "quantize", "bf16"
_US_A_MS = 1e3
_EMPTY = "no times: an empty matmul"
_FIRST_ROUNDS, _FIRST_MS, _FIRST_SETS = 3, 2, 8

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


@dataclass(frozen=True)
class _Buffers:
    """The buffers of a contest. Contenders do equal work on each set in turn."""

    job: GemmJob
    sets: Sequence[Operands]
    pairs: Sequence[tuple[GemmOperand, GemmOperand]]
    outs: Sequence[torch.Tensor]

    @classmethod
    def of(cls, job: GemmJob, plan: GemmPlan, operands: Operands, device: Device, most: int) -> "_Buffers":
        """At most so many sets. A hot job gets enough to exceed the L2; a cold one needs one, its L2 is
        flushed.
        """
        wanted = 1 if job.cache is Cache.COLD else buffer_sets(least_bytes(job, plan), device.l2_bytes)
        sets = [operands] + [operands.copied() for _ in range(min(wanted, most) - 1)]
        return cls(job, sets, [own.quantized() for own in sets], [_out(job, plan, own) for own in sets])

    def launches(self, of: GemmPlan) -> list[Callable[[], object]]:
        adds = self.job.into is Into.ACCUMULATE
        return [
            lambda p=p, o=o: gemm(*p, of, out=o, accumulate=adds)
            for p, o in zip(self.pairs, self.outs, strict=True)
        ]

    def bf16(self) -> Contender:
        adds, both = self.job.into is Into.ACCUMULATE, zip(self.sets, self.outs, strict=True)
        return Contender(_BF16, [bf16_peer(*own.as_operands(), o if adds else None) for own, o in both])

    def torch_op(self, op: ScaledOp) -> Contender:
        both = zip(self.pairs, self.outs, strict=True)
        return Contender(op.title, [op.launch(*p, o, self.job.into) for p, o in both])

    def quantize(self) -> list[Contender]:
        """Quantizing both operands; nothing where both stay bf16."""
        spec = self.job.recipe_data.spec(self.job.matmul_data)
        return [Contender(_QUANTIZE, [own.quantized for own in self.sets])] if spec.quantized else []


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

    `between(fraction done)` is called before each round, and before each contender is made ready. `turn_of`
    makes a contender's turn; by default the job's.

    Raises torch.OutOfMemoryError.
    """
    if not job.flop:
        return Times(note=_EMPTY)
    buffers = _Buffers.of(job, plan, operands, device, MAX_SETS)
    contenders = [Contender(_GEMM, buffers.launches(plan)), buffers.bf16()]
    if simple is not None:
        contenders.append(Contender(_SIMPLE, buffers.launches(simple)))
    ops = scaled_ops(*buffers.pairs[0], plan)
    if not isinstance(ops, str):
        contenders += map(buffers.torch_op, ops)
    groups, fault = [contenders, buffers.quantize()], ""
    emulated = dot_scaled_plan(plan, device)
    if emulated is not None:
        between(0.0)
        fault = refusal(buffers.launches(emulated)[0], buffers.outs[0].device)
        groups += [[Contender(DOT_SCALED, buffers.launches(emulated))]] * (not fault)
    timings = _timed(groups, turn_of or _turns(job, device), job.runs, between, loaded=(_GEMM,))
    return _times(timings, ops, fault, job.into)


def first_times(
    job: GemmJob,
    plan: GemmPlan,
    operands: Operands,
    device: Device,
    between: Callable[[float], None],
    turn_of: TurnMaker | None = None,
) -> Times:
    """First times of a plan, of bf16 torch.mm and of quantizing: a few short turns over a few buffers.

    Raises torch.OutOfMemoryError.
    """
    if not job.flop:
        return Times(note=_EMPTY)
    quick = replace(job, runs=min(job.runs, _FIRST_ROUNDS), turn_ms=min(job.turn_ms, _FIRST_MS), settle_ms=0)
    buffers = _Buffers.of(quick, plan, operands, device, _FIRST_SETS)
    groups = [[Contender(_GEMM, buffers.launches(plan)), buffers.bf16()], buffers.quantize()]
    timings = _timed(groups, turn_of or _turns(quick, device), quick.runs, between)
    return _times(timings, "its time comes with the careful answer", "", job.into)


def _timed(
    groups: Sequence[Sequence[Contender]],
    turn_of: TurnMaker,
    rounds: int,
    between: Callable[[float], None],
    loaded: Collection[str] = (),
) -> Timings:
    """Times of all contenders. Those of a group take turns; one group follows the other."""
    timings, in_all, before = Timings(by_name={}, loads={}), sum(map(len, groups)), 0
    for group in filter(None, groups):
        start, share, turns = before / in_all, len(group) / in_all, []
        for one in group:
            between(start)
            turns.append(turn_of(one))
        more = interleaved(
            turns,
            rounds,
            lambda done, start=start, share=share: between(start + share * done),
            loaded=loaded,
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
        quantize=by_name.get(_QUANTIZE),
        bf16=by_name[_BF16],
        simple=by_name.get(_SIMPLE),
        torch_scaled=by_name[best.title] if best else None,
        torch_op=best.named(into) + choice if best else "",
        dot_scaled=by_name.get(DOT_SCALED),
        note="; ".join(notes),
        load=timings.loads.get(_GEMM, Load()),
    )


def _out(job: GemmJob, plan: GemmPlan, beside: Operands) -> torch.Tensor:
    """A new D to write, or a D of zeros to add into."""
    make = torch.zeros if job.into is Into.ACCUMULATE else torch.empty
    return make((job.m, job.n), dtype=torch_dtype(plan.meaning.spec.out), device=beside.a.device)


def _turns(job: GemmJob, device: Device) -> TurnMaker:
    settle_us = job.settle_ms * _US_A_MS
    if job.cache is Cache.COLD:
        flush = flush_buffer(device.l2_bytes)
        return lambda contender: ColdTurn(contender, flush, settle_us)
    return lambda contender: HotTurn(contender, job.turn_ms * _US_A_MS, settle_us)
