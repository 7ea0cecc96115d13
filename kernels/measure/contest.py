"""The contest that times a job: all contenders in one process, in turns.

The kernel runs against the simple kernel, bf16 torch.mm and torch's own scaled ops. Quantizing is timed apart
from them, and so is tl.dot_scaled where Triton emulates it. These draw little power: after them the clock
would be higher, which would favor the next contender.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from kernels.device import Device
from kernels.faults import first_line
from kernels.gemm.blocks import Blocks
from kernels.gemm.factor import GemmOperand
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.plan import GemmPlan
from kernels.gemm.simple.dot_scaled import TITLE as DOT_SCALED
from kernels.gemm.simple.dot_scaled import dot_scaled_plan
from kernels.measure.jobs import Cache, GemmJob, Into
from kernels.measure.operands import Operands, least_bytes
from kernels.measure.rows import Peer, Timing
from kernels.measure.timing import (
    MAX_SETS,
    ColdTurn,
    Contender,
    HotTurn,
    Loaded,
    Turn,
    buffer_sets,
    flush_buffer,
    interleaved,
)
from kernels.measure.torch_peers import ScaledOp, attempt, bf16_ops, scaled_ops

_GEMM = Peer.OURS.value
_US_A_MS = 1e3
_EMPTY = "no times: an empty matmul"
_FIRST_ROUNDS, _FIRST_MS, _FIRST_SETS = 3, 2, 8

TurnMaker = Callable[[Contender], Turn]


@dataclass(frozen=True, kw_only=True)
class Times:
    """Times by contender; `note` says why one has none. by_blocks: microseconds under each of our blocks."""

    by_peer: dict[Peer, Timing] = field(default_factory=dict)
    note: str = ""
    by_blocks: dict[Blocks, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Buffers:
    """The buffers of a contest. Contenders do equal work on each set in turn."""

    job: GemmJob
    sets: Sequence[Operands]
    pairs: Sequence[tuple[GemmOperand, GemmOperand]]
    outs: Sequence[torch.Tensor]

    @classmethod
    def of(
        cls, job: GemmJob, plan: GemmPlan, operands: Operands, device: Device, most: int = MAX_SETS
    ) -> "Buffers":
        """At most so many sets. A hot job gets enough to exceed the L2; a cold one needs one, its L2 is
        flushed.
        """
        wanted = 1 if job.cache is Cache.COLD else buffer_sets(least_bytes(job, plan), device.l2_bytes)
        sets = [operands] + [operands.copied() for _ in range(min(wanted, most) - 1)]
        return cls(job, sets, [own.quantized() for own in sets], [_out(job, plan, own) for own in sets])

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
        return [Contender(op.title, [op.build(*each) for each in operands]) for op in ops]

    def torch_op(self, op: ScaledOp) -> Contender:
        both = zip(self.pairs, self.outs, strict=True)
        return Contender(op.title, [op.launch(*p, o, self.job.into) for p, o in both])

    def quantize(self) -> list[Contender]:
        """Quantizing both operands; nothing where both stay bf16."""
        spec = self.job.recipe_data.spec(self.job.matmul_data)
        return [Contender(Peer.QUANTIZE, [own.quantized for own in self.sets])] if spec.quantized else []


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
    buffers = Buffers.of(job, plan, operands, device)
    bf16 = buffers.bf16()
    contenders = [buffers.ours(plan), *bf16]
    if simple is not None:
        contenders.append(buffers.ours(simple, Peer.SIMPLE))
    ops = scaled_ops(*buffers.pairs[0], plan)
    peers = _Peers([one.name for one in bf16], ops, job.into)
    contenders += map(buffers.torch_op, peers.scaled)
    groups, notes = [contenders, buffers.quantize()], [ops] if isinstance(ops, str) else []
    emulated = dot_scaled_plan(plan, device)
    if emulated is not None:
        between(0.0)
        other = buffers.ours(emulated, Peer.DOT_SCALED)
        if fault := refusal(other.launches[0], buffers.outs[0].device):
            notes.append(f"{DOT_SCALED} was not timed: {fault}")
        else:
            groups.append([other])
    by_name = timed(groups, turn_of or turns_of(job, device), job.runs, between, peers.loaded)
    return Times(by_peer=peers.by_peer(by_name), note="; ".join(notes))


def race(
    job: GemmJob,
    plan: GemmPlan,
    operands: Operands,
    device: Device,
    between: Callable[[float], None],
    others: Sequence[Blocks] = (),
) -> Times:
    """Time a plan, and other blocks of it, against torch's ops: no simple kernel, no quantizing, no clocks.

    Raises torch.OutOfMemoryError.
    """
    if not job.flop:
        return Times(note=_EMPTY)
    buffers = Buffers.of(job, plan, operands, device)
    bf16, ops = buffers.bf16(), scaled_ops(*buffers.pairs[0], plan)
    peers = _Peers([one.name for one in bf16], ops, job.into)
    plans = {_GEMM: plan} | {str(place): replace(plan, blocks=each) for place, each in enumerate(others)}
    ours = [buffers.ours(each, name) for name, each in plans.items()]
    contenders = [*ours, *bf16, *map(buffers.torch_op, peers.scaled)]
    by_name = timed([contenders], turns_of(job, device), job.runs, between)
    return Times(
        by_peer=peers.by_peer(by_name),
        note=ops if isinstance(ops, str) else "",
        by_blocks={each.blocks: by_name[name].median_us for name, each in plans.items()},
    )


def first_times(
    job: GemmJob,
    plan: GemmPlan,
    operands: Operands,
    device: Device,
    between: Callable[[float], None],
) -> Times:
    """First times of a plan, of bf16 torch.mm and of quantizing: a few short turns over a few buffers.

    Raises torch.OutOfMemoryError.
    """
    if not job.flop:
        return Times(note=_EMPTY)
    quick = replace(job, runs=min(job.runs, _FIRST_ROUNDS), turn_ms=min(job.turn_ms, _FIRST_MS), settle_ms=0)
    buffers = Buffers.of(quick, plan, operands, device, _FIRST_SETS)
    bf16, note = buffers.bf16(), "its time comes with the careful answer"
    peers = _Peers([one.name for one in bf16], note, job.into)
    groups = [[buffers.ours(plan), *bf16], buffers.quantize()]
    by_name = timed(groups, turns_of(quick, device), quick.runs, between)
    return Times(by_peer=peers.by_peer(by_name), note=note)


@dataclass(frozen=True)
class _Peers:
    """Torch's contenders: the names of its bf16 matmuls, and its scaled ops or why there is none."""

    bf16: Sequence[str]
    ops: Sequence[ScaledOp] | str
    into: Into

    @property
    def scaled(self) -> Sequence[ScaledOp]:
        return () if isinstance(self.ops, str) else self.ops

    def fastest(self, by_name: Mapping[str, Timing]) -> tuple[str, ScaledOp | None]:
        """The name of the fastest bf16 matmul, and the fastest scaled op."""
        bf16 = min(self.bf16, key=lambda name: by_name[name].median_us)
        return bf16, min(self.scaled, key=lambda op: by_name[op.title].median_us, default=None)

    def loaded(self, by_name: Mapping[str, Timing]) -> tuple[str, ...]:
        """The kernel and its peer, bf16 where there is no op, among the contenders that took turns."""
        if _GEMM not in by_name:
            return ()
        bf16, op = self.fastest(by_name)
        return _GEMM, op.title if op else bf16

    def by_peer(self, by_name: Mapping[str, Timing]) -> dict[Peer, Timing]:
        """The times that a row keeps: of torch's contenders the fastest, by their names."""
        bf16, op = self.fastest(by_name)
        times = {peer: by_name[peer.value] for peer in Peer if peer.value in by_name}
        times[Peer.BF16] = replace(by_name[bf16], op=bf16 + _among(self.bf16))
        if op is not None:
            times[Peer.TORCH] = replace(by_name[op.title], op=op.named(self.into) + _among(self.ops))
        return times


def _among(forms: Sequence[object]) -> str:
    """A note on how many forms of an op were timed, where there were several."""
    return f" (the fastest of {len(forms)})" if len(forms) > 1 else ""


def timed(
    groups: Sequence[Sequence[Contender]],
    turn_of: TurnMaker,
    rounds: int,
    between: Callable[[float], None] = lambda done: None,
    loaded: Loaded = lambda by_name: (),
) -> dict[str, Timing]:
    """Times of all contenders, with the clock and power of those that `loaded` names.

    Those of a group take turns; one group follows the other.
    """
    by_name: dict[str, Timing] = {}
    in_all, before = sum(map(len, groups)), 0
    for group in filter(None, groups):
        start, share, turns = before / in_all, len(group) / in_all, []
        for one in group:
            between(start)
            turns.append(turn_of(one))
        timings = interleaved(
            turns, rounds, lambda done, start=start, share=share: between(start + share * done), loaded
        )
        by_name |= timings.with_loads()
        before += len(group)
    return by_name


def refusal(launch: Callable[[], object], place: torch.device) -> str:
    """The reason why a launch does not compile or run, in a line; empty where it does.

    Raises torch.OutOfMemoryError.
    """
    from triton.errors import TritonError

    error = attempt(launch, place, TritonError, AssertionError)
    return "" if error is None else f"{type(error).__name__}: {first_line(error)}"


def _out(job: GemmJob, plan: GemmPlan, beside: Operands) -> torch.Tensor:
    make = torch.zeros if job.into is Into.ACCUMULATE else torch.empty
    return make((job.m, job.n), dtype=torch_dtype(plan.meaning.spec.out), device=beside.a.device)


def turns_of(job: GemmJob, device: Device) -> TurnMaker:
    settle_us = job.settle_ms * _US_A_MS
    if job.cache is Cache.COLD:
        flush = flush_buffer(device.l2_bytes)
        return lambda contender: ColdTurn(contender, flush, settle_us)
    return lambda contender: HotTurn(contender, job.turn_ms * _US_A_MS, settle_us)
