"""Measure one GemmJob: draw, quantize, multiply, compare with fp64, time beside torch's own operations.

The kernel, the simple kernel, bf16 torch.mm and torch's scaled ops take turns in one process. Quantizing, and
an emulated tl.dot_scaled, have turns of their own: they draw little power, and the higher clock after them
would favor the next contender.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from kernels.device import Device, DeviceKind, Unsupported, current_device
from kernels.faults import first_line
from kernels.gemm.blocks import Blocks
from kernels.gemm.factor import GemmOperand
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.plan import GemmPlan, plan_gemm, plan_simple
from kernels.gemm.simple.dot_scaled import TITLE as DOT_SCALED
from kernels.gemm.simple.dot_scaled import dot_scaled_plan
from kernels.measure.exactness import Errors, Sampled, errors, predictable
from kernels.measure.jobs import FIRST_FLOP, Cache, GemmJob, Into
from kernels.measure.machine import halt_if, measured, memory
from kernels.measure.operands import Operands, least_bytes
from kernels.measure.rows import SIMPLE_FIRST, Peer, Row, Timing
from kernels.measure.timing import (
    MAX_SETS,
    ColdTurn,
    Contender,
    HotTurn,
    Loaded,
    Turn,
    buffer_sets,
    flush_launch,
    interleaved,
)
from kernels.measure.torch_peers import ScaledOp, attempt, bf16_ops, scaled_ops

_GEMM = Peer.OURS.value
_US_A_MS = 1e3
_FIRST_ROUNDS, _FIRST_MS, _FIRST_SETS = 3, 2, 8

TurnMaker = Callable[[Contender], Turn]


@dataclass(frozen=True, kw_only=True)
class Times:
    """Times by contender; `note`: why one has none. by_blocks: microseconds under each of our blocks."""

    by_peer: dict[Peer, Timing] = field(default_factory=dict)
    note: str = ""
    by_blocks: dict[Blocks, float] = field(default_factory=dict)


_EMPTY = Times(note="no times: an empty matmul")


@dataclass(frozen=True)
class Buffers:
    """Buffers of a contest, in sets. Contenders do equal work on each set in turn."""

    job: GemmJob
    sets: Sequence[Operands]
    pairs: Sequence[tuple[GemmOperand, GemmOperand]]
    outs: Sequence[torch.Tensor]

    @classmethod
    def of(
        cls, job: GemmJob, plan: GemmPlan, operands: Operands, device: Device, most: int = MAX_SETS
    ) -> "Buffers":
        """At most `most` sets: a hot job gets enough to exceed the L2; a cold one's L2 is flushed."""
        count = 1 if job.cache is Cache.COLD else buffer_sets(least_bytes(job, plan), device.l2_bytes)
        sets = [operands] + [operands.copied() for _ in range(min(count, most) - 1)]
        new = torch.zeros if job.into is Into.ACCUMULATE else torch.empty
        shape, dtype = (job.m, job.n), torch_dtype(plan.numerics.spec.out)
        outs = [new(shape, dtype=dtype, device=own.a.device) for own in sets]
        return cls(job, sets, [own.quantized() for own in sets], outs)

    def ours(self, plan: GemmPlan, name: str = _GEMM) -> Contender:
        adds = self.job.into is Into.ACCUMULATE
        both = zip(self.pairs, self.outs, strict=True)
        return Contender(name, [lambda p=p, o=o: gemm(*p, plan, out=o, accumulate=adds) for p, o in both])

    def bf16(self) -> list[Contender]:
        adds = self.job.into is Into.ACCUMULATE
        operands = [
            (*own.as_operands(), o if adds else None) for own, o in zip(self.sets, self.outs, strict=True)
        ]
        a, b, into = operands[0]
        ops = bf16_ops(a, b, self.outs[0].dtype, into)
        return [Contender(name, [build(*each) for each in operands]) for name, build in ops.items()]

    def torch_op(self, op: ScaledOp) -> Contender:
        both = zip(self.pairs, self.outs, strict=True)
        return Contender(op.title, [op.launch(*p, o, self.job.into) for p, o in both])

    def quantize(self) -> list[Contender]:
        spec = self.job.spec
        return [Contender(Peer.QUANTIZE, [own.quantized for own in self.sets])] if spec.quantized else []


def contest(
    job: GemmJob,
    plan: GemmPlan,
    simple: GemmPlan | None,
    operands: Operands,
    device: Device,
    between: Callable[[float], None],
) -> Times:
    """Time a plan against torch over job.runs rounds, and beside it the simple plan, if that is another.

    `between(fraction done)` is called before each round, and before each contender is set up.
    """
    from triton.errors import TritonError

    buffers = Buffers.of(job, plan, operands, device)
    peers = _Peers(buffers, scaled_ops(*buffers.pairs[0], plan))
    contenders = [buffers.ours(plan), *peers.contenders]
    if simple is not None:
        contenders.append(buffers.ours(simple, Peer.SIMPLE))
    groups, notes = [contenders, buffers.quantize()], [peers.note] if peers.note else []
    emulated = dot_scaled_plan(plan, device)
    if emulated is not None:
        between(0.0)
        other = buffers.ours(emulated, Peer.DOT_SCALED)
        if error := attempt(other.launches[0], buffers.outs[0].device, TritonError, AssertionError):
            notes.append(f"{DOT_SCALED} was not timed: {type(error).__name__}: {first_line(error)}")
        else:
            groups.append([other])
    by_name = timed(groups, turns_of(job, device), job.runs, between, peers.loaded)
    return Times(by_peer=peers.by_peer(by_name), note="; ".join(notes))


def race(
    job: GemmJob,
    plan: GemmPlan,
    operands: Operands,
    device: Device,
    between: Callable[[float], None],
    others: Sequence[Blocks] = (),
) -> Times:
    """Time a plan, and other blocks of it, against torch's ops: no simple kernel, no quantizing."""
    buffers = Buffers.of(job, plan, operands, device)
    peers = _Peers(buffers, scaled_ops(*buffers.pairs[0], plan))
    plans = {_GEMM: plan} | {str(place): replace(plan, blocks=each) for place, each in enumerate(others)}
    contenders = [*(buffers.ours(each, name) for name, each in plans.items()), *peers.contenders]
    by_name = timed([contenders], turns_of(job, device), job.runs, between)
    by_blocks = {each.blocks: by_name[name].median_us for name, each in plans.items()}
    return Times(by_peer=peers.by_peer(by_name), note=peers.note, by_blocks=by_blocks)


def first_times(
    job: GemmJob, plan: GemmPlan, operands: Operands, device: Device, between: Callable[[float], None]
) -> Times:
    """First times of a plan, of bf16 torch.mm and of quantizing: a few short turns over a few buffers."""
    quick = replace(job, runs=min(job.runs, _FIRST_ROUNDS), turn_ms=min(job.turn_ms, _FIRST_MS), settle_ms=0)
    buffers = Buffers.of(quick, plan, operands, device, _FIRST_SETS)
    peers = _Peers(buffers, "its time comes with the careful answer")
    groups = [[buffers.ours(plan), *peers.contenders], buffers.quantize()]
    by_name = timed(groups, turns_of(quick, device), quick.runs, between)
    return Times(by_peer=peers.by_peer(by_name), note=peers.note)


class _Peers:
    """Torch's contenders: its bf16 matmuls, and its scaled ops, or a note on why there is none."""

    def __init__(self, buffers: Buffers, ops: Sequence[ScaledOp] | str) -> None:
        self.note = ops if isinstance(ops, str) else ""
        self._into, self._scaled = buffers.job.into, () if isinstance(ops, str) else ops
        bf16 = buffers.bf16()
        self._bf16 = [one.name for one in bf16]
        self.contenders = [*bf16, *map(buffers.torch_op, self._scaled)]

    def _fastest(self, by_name: Mapping[str, Timing]) -> tuple[str, ScaledOp | None]:
        bf16 = min(self._bf16, key=lambda name: by_name[name].median_us)
        return bf16, min(self._scaled, key=lambda op: by_name[op.title].median_us, default=None)

    def loaded(self, by_name: Mapping[str, Timing]) -> tuple[str, ...]:
        if _GEMM not in by_name:
            return ()
        bf16, op = self._fastest(by_name)
        return _GEMM, op.title if op else bf16

    def by_peer(self, by_name: Mapping[str, Timing]) -> dict[Peer, Timing]:
        bf16, op = self._fastest(by_name)
        times = {peer: by_name[peer.value] for peer in Peer if peer.value in by_name}
        times[Peer.BF16] = replace(by_name[bf16], op=bf16 + _among(self._bf16))
        if op is not None:
            times[Peer.TORCH] = replace(by_name[op.title], op=op.named(self._into) + _among(self._scaled))
        return times


def _among(forms: Sequence[object]) -> str:
    return f" (the fastest of {len(forms)})" if len(forms) > 1 else ""


def timed(
    groups: Sequence[Sequence[Contender]],
    turn_of: TurnMaker,
    rounds: int,
    between: Callable[[float], None] = lambda done: None,
    loaded: Loaded = lambda by_name: (),
) -> dict[str, Timing]:
    by_name: dict[str, Timing] = {}
    in_all, before = sum(map(len, groups)), 0
    for group in filter(None, groups):
        start, share, turns = before / in_all, len(group) / in_all, []
        for one in group:
            between(start)
            turns.append(turn_of(one))
        by_name |= interleaved(
            turns, rounds, lambda done, start=start, share=share: between(start + share * done), loaded
        )
        before += len(group)
    return by_name


def turns_of(job: GemmJob, device: Device) -> TurnMaker:
    settle_us = job.settle_ms * _US_A_MS
    if job.cache is Cache.COLD:
        flush = flush_launch(device.l2_bytes)
        return lambda contender: ColdTurn(contender, flush, settle_us)
    return lambda contender: HotTurn(contender, job.turn_ms * _US_A_MS, settle_us)


_DRAWN, _QUANTIZED, _COMPARED, _CHECKED, _DONE = 0.1, 0.15, 0.3, 0.35, 1.0
_ANSWERED = 0.25

Progress = Callable[[float, str], None]
Stopped = Callable[[], bool]


def measure_with_care(job: GemmJob, *, progress: Progress, stopped: Stopped) -> Row:
    """Measure one job on this process's device, without a first answer.

    Raises Unsupported where the plan refuses, Impossible for a time that the GPU cannot reach, NoTriton,
    StoppedEarly once `stopped()` is true, and MemoryError where the job does not fit.
    """
    with memory(job.size):
        return careful(Work.of(job, progress, stopped))


@dataclass
class Work:
    job: GemmJob
    device: Device
    plan: GemmPlan
    simple: GemmPlan | None
    operands: Operands
    pair: tuple[GemmOperand, GemmOperand]
    out: torch.Tensor
    progress: Callable[..., None]
    stopped: Stopped

    @classmethod
    def of(
        cls, job: GemmJob, progress: Callable[..., None], stopped: Stopped, *, simple_first: bool = False
    ) -> "Work":
        device = current_device()
        plan, simple = _plans(job, device)
        if simple_first and simple is not None:
            plan, simple = replace(simple, why=SIMPLE_FIRST), None
        progress(0.0, "drawing A and B")
        operands = Operands.of(job, device)
        halt_if(stopped)
        progress(_DRAWN, "quantizing and multiplying")
        pair = operands.quantized()
        out = _product(job, plan, *pair)
        return cls(job, device, plan, simple, operands, pair, out, progress, stopped)

    def tell(self, fraction: float, note: str) -> None:
        self.progress(fraction, note)
        halt_if(self.stopped)

    def errors(self, flop_limit: int | None = None) -> Errors:
        return errors(
            self.out,
            *self.operands.as_operands(),
            *self.pair,
            flop_limit=flop_limit,
            between=lambda: halt_if(self.stopped),
        )


def careful(work: Work) -> Row:
    job, plan, device, tell = work.job, work.plan, work.device, work.tell
    tell(_QUANTIZED, "comparing with fp64")
    d_errors = work.errors()
    prediction = None
    if job.flop and predictable(plan, device.capability):
        tell(_COMPARED, "predicting sampled outputs bit for bit")
        sampled = Sampled.of(plan, *work.pair, work.out, job.seed)
        prediction = sampled.prediction(lambda: halt_if(work.stopped))
    del work.out  # its memory is the contest's
    if device.kind is not DeviceKind.GPU:
        times = Times(note="no times: the interpreter's speed says nothing about a GPU's")
    elif not job.flop:
        times = _EMPTY
    else:
        tell(_CHECKED, "timing")

        def between(done: float) -> None:
            tell(_CHECKED + (_DONE - _CHECKED) * done, f"timing, {done:.0%}")

        times = contest(job, plan, work.simple, work.operands, device, between)
    work.progress(_DONE, "done")
    return row_of(job, plan, device, times, why=plan.why, errors=d_errors, prediction=prediction)


def _plans(job: GemmJob, device: Device) -> tuple[GemmPlan, GemmPlan | None]:
    to_plan = (job.spec, job.mnk, device, job.accumulation)
    plan, simple = plan_gemm(*to_plan), plan_simple(*to_plan)
    if isinstance(plan, Unsupported):
        raise plan
    return plan, None if isinstance(simple, Unsupported) or simple == plan else simple


def _product(job: GemmJob, plan: GemmPlan, a: GemmOperand, b: GemmOperand) -> torch.Tensor:
    """D, written over NaN, or added into zeros, which is exact."""
    adds = job.into is Into.ACCUMULATE
    dtype, start = torch_dtype(plan.numerics.spec.out), 0.0 if adds else torch.nan
    out = torch.full((job.m, job.n), start, dtype=dtype, device=current_device().place)
    return gemm(a, b, plan, out=out, accumulate=adds)


def row_of(job: GemmJob, plan: GemmPlan, device: Device, times: Times, **more: Any) -> Row:
    about = {"job": job, "bytes": least_bytes(job, plan), "kernel": plan.title, "plan": plan.record}
    return measured(Row, device, times=times.by_peer, note=times.note, **about, **more)


def measure(
    job: GemmJob,
    *,
    progress: Callable[..., None],
    stopped: Callable[[], bool],
    so_far: Row | None = None,
    simple_first: bool = False,
) -> Row:
    """Measure a job. On a GPU, its first answer comes as a progress's partial result, unless `so_far` is one.

    With `simple_first` the simple kernel gives the first answer. The job stops there if its plan is another,
    which is then still being compiled elsewhere. Raises what `measure_with_care` does.
    """
    with memory(job.size):
        work = Work.of(job, progress, stopped, simple_first=simple_first)
        if so_far is None and work.device.kind is DeviceKind.GPU:
            progress(_ANSWERED, "measuring with care", first_answer(work))
            halt_if(lambda: work.plan.why == SIMPLE_FIRST or stopped())
        return careful(work)


def first_answer(work: Work) -> Row:
    job, plan, device, d_errors = work.job, work.plan, work.device, work.errors(FIRST_FLOP)

    def between(done: float) -> None:
        work.tell(_ANSWERED * done, "timing")

    times = first_times(job, plan, work.operands, device, between) if job.flop else _EMPTY
    return row_of(job, plan, device, times, why=plan.why, errors=d_errors, is_first=True)
