"""The contest that times a job: all contenders in one process, in turns.

The kernel runs against the simple kernel, bf16 torch.mm and torch's own scaled ops. Quantizing is timed apart
from them, and so is tl.dot_scaled where Triton emulates it. These draw little power: after them the clock
would be higher, which would favor the next contender.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from kernels.bench.job import Cache, GemmJob, Into
from kernels.bench.machine import Timing
from kernels.bench.operands import Operands, least_bytes
from kernels.bench.peers.attempt import attempt
from kernels.bench.peers.torch_ops import ScaledOp, bf16_ops, scaled_ops
from kernels.bench.timing import (
    MAX_SETS,
    ColdTurn,
    Contender,
    HotTurn,
    Load,
    Loaded,
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

_GEMM, _SIMPLE, _QUANTIZE = "gemm", "simple", "quantize"
_US_A_MS = 1e3
_EMPTY = "no times: an empty matmul"
_FIRST_ROUNDS, _FIRST_MS, _FIRST_SETS = 3, 2, 8

TurnMaker = Callable[[Contender], Turn]


@dataclass(frozen=True, kw_only=True)
class Times:
    """The times of a contest, as Row has them.

    load, peer_load: the clock and power under the kernel, and under torch's best op, or bf16 where torch has
    none.
    """

    gemm: Timing | None = None
    quantize: Timing | None = None
    bf16: Timing | None = None
    bf16_op: str = ""
    simple: Timing | None = None
    torch_scaled: Timing | None = None
    torch_op: str = ""
    dot_scaled: Timing | None = None
    note: str = ""
    load: Load = field(default_factory=Load)
    peer_load: Load = field(default_factory=Load)
    turns: int | None = None


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

    def bf16(self) -> list[Contender]:
        """Torch's bf16 matmuls."""
        adds = self.job.into is Into.ACCUMULATE
        given = [
            (*own.as_operands(), o if adds else None) for own, o in zip(self.sets, self.outs, strict=True)
        ]
        a, b, into = given[0]
        ops = bf16_ops(a, b, self.outs[0].dtype, into)
        return [Contender(op.title, [op.build(*each) for each in given]) for op in ops]

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
    bf16 = buffers.bf16()
    contenders = [Contender(_GEMM, buffers.launches(plan)), *bf16]
    if simple is not None:
        contenders.append(Contender(_SIMPLE, buffers.launches(simple)))
    ops = scaled_ops(*buffers.pairs[0], plan)
    peers = _Peers([one.name for one in bf16], ops)
    if not isinstance(ops, str):
        contenders += map(buffers.torch_op, ops)
    groups, fault = [contenders, buffers.quantize()], ""
    emulated = dot_scaled_plan(plan, device)
    if emulated is not None:
        between(0.0)
        fault = refusal(buffers.launches(emulated)[0], buffers.outs[0].device)
        groups += [[Contender(DOT_SCALED, buffers.launches(emulated))]] * (not fault)
    timings = _timed(groups, turn_of or _turns(job, device), job.runs, between, peers.loaded)
    return _times(timings, peers, fault, job)


def race(
    job: GemmJob,
    plan: GemmPlan,
    operands: Operands,
    device: Device,
    between: Callable[[float], None],
    turn_of: TurnMaker | None = None,
) -> Times:
    """Time a plan against torch's ops alone: no other kernel of ours, no quantizing, no clocks.

    Raises torch.OutOfMemoryError.
    """
    if not job.flop:
        return Times(note=_EMPTY)
    buffers = _Buffers.of(job, plan, operands, device, MAX_SETS)
    bf16, ops = buffers.bf16(), scaled_ops(*buffers.pairs[0], plan)
    scaled = [] if isinstance(ops, str) else [buffers.torch_op(op) for op in ops]
    contenders = [Contender(_GEMM, buffers.launches(plan)), *bf16, *scaled]
    timings = _timed([contenders], turn_of or _turns(job, device), job.runs, between)
    return _times(timings, _Peers([one.name for one in bf16], ops), "", job)


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
    bf16 = buffers.bf16()
    peers = _Peers([one.name for one in bf16], "its time comes with the careful answer")
    groups = [[Contender(_GEMM, buffers.launches(plan)), *bf16], buffers.quantize()]
    timings = _timed(groups, turn_of or _turns(quick, device), quick.runs, between)
    return _times(timings, peers, "", quick)


@dataclass(frozen=True)
class _Peers:
    """Torch's contenders: the names of its bf16 matmuls, and its scaled ops or why there is none."""

    bf16: Sequence[str]
    ops: Sequence[ScaledOp] | str

    def fastest_bf16(self, by_name: Mapping[str, Timing]) -> str:
        return min(self.bf16, key=lambda name: by_name[name].median_us)

    def fastest_op(self, by_name: Mapping[str, Timing]) -> ScaledOp | None:
        if isinstance(self.ops, str):
            return None
        return min(self.ops, key=lambda op: by_name[op.title].median_us)

    def peer(self, by_name: Mapping[str, Timing]) -> str:
        """The name of the contender that a speed is compared with: bf16 where there is no op."""
        op = self.fastest_op(by_name)
        return op.title if op else self.fastest_bf16(by_name)

    def loaded(self, by_name: Mapping[str, Timing]) -> Collection[str]:
        """The kernel and its peer, among the contenders that took turns."""
        return (_GEMM, self.peer(by_name)) if _GEMM in by_name else ()


def _timed(
    groups: Sequence[Sequence[Contender]],
    turn_of: TurnMaker,
    rounds: int,
    between: Callable[[float], None],
    loaded: Loaded = lambda by_name: (),
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

    error = attempt(launch, place, TritonError, AssertionError)
    return "" if error is None else f"{type(error).__name__}: {first_line(error)}"


def _times(timings: Timings, peers: _Peers, fault: str, job: GemmJob) -> Times:
    by_name, ops = timings.by_name, peers.ops
    best, bf16 = peers.fastest_op(by_name), peers.fastest_bf16(by_name)
    notes = [ops] if isinstance(ops, str) else []
    notes += [f"{DOT_SCALED} was not timed: {fault}"] if fault else []
    return Times(
        gemm=by_name[_GEMM],
        quantize=by_name.get(_QUANTIZE),
        bf16=by_name[bf16],
        bf16_op=bf16 + _chosen(len(peers.bf16)),
        simple=by_name.get(_SIMPLE),
        torch_scaled=by_name[best.title] if best else None,
        torch_op=best.named(job.into) + _chosen(len(ops)) if best else "",
        dot_scaled=by_name.get(DOT_SCALED),
        note="; ".join(notes),
        load=timings.loads.get(_GEMM, Load()),
        peer_load=timings.loads.get(peers.peer(by_name), Load()),
        turns=job.runs,
    )


def _chosen(among: int) -> str:
    """A note on how many forms of an op were timed, where there were several."""
    return f" (the fastest of {among})" if among > 1 else ""


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
