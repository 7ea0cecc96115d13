"""Measure GEMMs: draw, quantize, multiply, compare with fp64, time beside torch's own operations.

The kernel, the simple kernel, bf16 torch.mm and torch's scaled ops take turns in one process. Quantizing, and
an emulated tl.dot_scaled, have turns of their own: they draw little power, and the higher clock after them
would favor the next contender.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import geometric_mean
from typing import Any

import torch

from fp8core.inputs import OFFERED, InputKind
from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import RECIPES
from kernels.device import Device, DeviceKind, Unsupported, current_device
from kernels.faults import first_line
from kernels.gemm.factor import GemmOperand
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import GemmPlan, plan_gemm, plan_simple
from kernels.gemm.simple.dot_scaled import NOTE as DOT_SCALED_NOTE
from kernels.gemm.simple.dot_scaled import TITLE as DOT_SCALED
from kernels.gemm.simple.dot_scaled import dot_scaled_plan
from kernels.measure.commands import (
    ALL,
    add_matmul,
    add_recipe,
    figure,
    grouped,
    job_parser,
    line_of,
    run_jobs,
    selected,
)
from kernels.measure.exactness import Errors, Sampled, errors, predictable
from kernels.measure.jobs import CUBE, FIRST_FLOP, SKINNY, STANDARD, Cache, GemmJob, Into, shape_text
from kernels.measure.machine import halt_if, measured, memory
from kernels.measure.operands import Operands, least_bytes
from kernels.measure.records import GEMMS
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
from kernels.measure.torch_peers import TorchOp, attempt, bf16_ops, scaled_ops
from kernels.paths import RECORDS
from kernels.text_table import columns, text

_SUSTAINED = {"runs": 7, "turn_ms": 250, "settle_ms": 100}
_TABLE = (
    *(("recipe", 16), ("matmul", 7), ("M × N × K", 20), ("how", 12), ("µs", 10), ("TFLOP/s", 9)),
    *(("× bf16", 7), ("+quant", 7), ("× torch", 8), ("× simple", 9), ("× dot_scaled", 13)),
    *(("rel_err", 9), ("kernel", 9), ("MHz", 6), ("W", 5), ("runs on", 0)),
)
_MEANS = ("recipe", "matmul", "how", "shapes", "× torch", "lowest", "× bf16", "× simple", "× dot_scaled")


def main(arguments: Sequence[str]) -> int:
    parser = job_parser("gemm", "Quantize, multiply, check and time GEMMs of a recipe, beside torch.")
    own_options = _add_options(parser)
    options = parser.parse_args(arguments)
    jobs = jobs_of(options)
    if options.recorded:
        for option in own_options:
            if getattr(options, option.dest) != option.default:
                flag = option.option_strings[0]
                raise ValueError(f"--recorded measures each GEMM as its row was: leave out {flag}")
        jobs = dict.fromkeys(row.job for row in GEMMS.read(RECORDS).rows)
        if not jobs:
            raise ValueError(f"--recorded measures what {RECORDS} holds, and that is nothing")
    return run_jobs(
        options,
        jobs,
        partial(measure, gives_first=False),
        GEMMS,
        table=_TABLE,
        show=_line,
        refused=lambda job, reason: line_of([*_about(job), reason], _TABLE),
        summary=_means_table,
        needs_gpu=False,
    )


def _add_options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Add the options, and --recorded; return those that --recorded excludes."""
    add, dims = parser.add_argument, ("M", "N", "K")
    standard, skinny = ("; ".join(map(shape_text, shapes)) for shapes in (STANDARD, SKINNY))
    caches = [*(cache.value for cache in Cache), ALL]
    hot = "hot: back to back over rotated buffers; cold: the L2 flushed before each launch"
    late = "how long before a turn is timed: the clock still has to leave the last one's (default 0)"
    long = "{} rounds of {} ms turns, {} ms late: the power limit shows".format(*_SUSTAINED.values())
    add("--recorded", action="store_true", help="every GEMM of assets/bench/, timed as its row was")
    return [
        add_recipe(parser),
        add_matmul(parser),
        add("--shape", nargs=3, type=int, action="append", metavar=dims, help="repeat for several"),
        add("--shapes", action="store_true", help=f"the standard set: {standard}"),
        add("--skinny", action="store_true", help=f"few tokens: {skinny}"),
        add("--input", default=InputKind.GAUSSIAN.value, choices=[kind.value for kind in OFFERED]),
        add("--seed", type=int, default=0),
        add("--accumulation", default=Summation.RECIPE.value, choices=[kind.value for kind in Summation]),
        add("--accumulate", action="store_true", help="add the product into D where the matmul writes fp32"),
        add("--cache", default=Cache.HOT.value, choices=caches, help=hot),
        add("--runs", type=int, help=f"rounds of each contender (default {GemmJob.runs})"),
        add("--turn-ms", type=int, help=f"a contender's turn in a round (default {GemmJob.turn_ms})"),
        add("--settle-ms", type=int, help=late),
        add("--sustained", action="store_true", help=long),
    ]


def jobs_of(options: argparse.Namespace) -> Iterator[GemmJob]:
    """Shapes outermost, recipes and caches innermost: neighbors share inputs. Raises ValueError."""
    how: dict[str, Any] = {**_SUSTAINED} if options.sustained else {}
    how |= {name: value for name in _SUSTAINED if (value := getattr(options, name)) is not None}
    how |= {"input": InputKind(options.input), "accumulation": Summation(options.accumulation)}
    shapes: list[tuple[int, ...] | LayerShape] = [tuple(shape) for shape in options.shape or ()]
    shapes += [*(STANDARD if options.shapes else ()), *(SKINNY if options.skinny else ())]
    matmuls, recipes = selected(options.matmul, MATMULS), selected(options.recipe, RECIPES)
    caches = Cache if options.cache == ALL else (Cache(options.cache),)
    for shape, matmul, recipe, cache in product(shapes or [CUBE], matmuls, recipes, caches):
        job = GemmJob.of(recipe, matmul, shape, cache=cache, seed=options.seed, **how)
        adds = options.accumulate and (job.writes_fp32 or options.matmul != ALL)
        yield replace(job, into=Into.ACCUMULATE) if adds else job


def _line(row: Row) -> str:
    own, errors_ = row.ours, row.errors
    cells = [
        *(*_about(row.job), figure(row.us(Peer.OURS), ".1f"), figure(row.tflop_s, ".0f")),
        *(figure(row.over(Peer.BF16), ".2f"), figure(row.over_bf16_with_quantize, ".2f")),
        *(figure(row.over(peer), ".2f") for peer in (Peer.TORCH, Peer.SIMPLE, Peer.DOT_SCALED)),
        *(figure(errors_ and errors_.rel_err, ".2e"), figure(errors_ and errors_.kernel_rel_err, ".2e")),
        *(figure(own and own.clock_mhz, ".0f"), figure(own and own.power_w, ".0f"), row.machine.name),
    ]
    return line_of(cells, _TABLE)


def _about(job: GemmJob) -> list[str]:
    return [job.recipe, job.matmul, job.sizes, _how(job)]


def _how(job: GemmJob) -> str:
    """Timing of a job, and differences from the recipe's GEMM, such as ``cold, fast, added``."""
    summed = "" if job.accumulation is Summation.RECIPE else f", {job.accumulation.words}"
    added = ", added" if job.into is Into.ACCUMULATE else ""
    return f"{job.cache.value}{summed}{added}"


def _means_table(rows: Iterable[Row]) -> str:
    """Geometric means of the speeds of each recipe and matmul, and the lowest over torch's scaled op."""
    rows, lines = [row for row in rows if row.ours], []
    for names, alike in grouped(rows, lambda job: (job.recipe, job.matmul, _how(job))).items():
        to_torch, *others = (
            [ratio for row in alike if (ratio := row.over(peer)) is not None]
            for peer in (Peer.TORCH, Peer.BF16, Peer.SIMPLE, Peer.DOT_SCALED)
        )
        means = [geometric_mean(ratios) if ratios else None for ratios in (to_torch, *others)]
        figures = (means[0], min(to_torch, default=None), *means[1:])
        shapes = str(len({row.job.mnk for row in alike}))
        lines.append((*names, shapes, *(figure(each, ".3f") for each in figures)))
    if not lines:
        return ""
    notes = [DOT_SCALED_NOTE] if any(Peer.DOT_SCALED in row.times for row in rows) else []
    return "\n".join(["", "geometric means over the shapes", text(columns(lines, header=_MEANS)), *notes])


_GEMM = Peer.OURS.value
_US_A_MS = 1e3
_FIRST_ROUNDS, _FIRST_MS, _FIRST_SETS = 3, 2, 8
_EMPTY = "no times: an empty matmul"

TurnMaker = Callable[[Contender], Turn]
Times = dict[Peer, Timing]


class Buffers:
    """Buffers of a contest, in sets. Contenders do equal work on each set in turn.

    At most `most` sets: a hot job gets enough to exceed the L2; a cold one's L2 is flushed.
    """

    def __init__(
        self, job: GemmJob, plan: GemmPlan, operands: Operands, device: Device, most: int = MAX_SETS
    ) -> None:
        count = 1 if job.cache is Cache.COLD else buffer_sets(least_bytes(job, plan), device.l2_bytes)
        self.job = job
        self.sets = [operands] + [operands.copied() for _ in range(min(count, most) - 1)]
        new = torch.zeros if job.into is Into.ACCUMULATE else torch.empty
        shape, dtype = (job.m, job.n), torch_dtype(plan.numerics.spec.out)
        self.outs = [new(shape, dtype=dtype, device=own.a.device) for own in self.sets]
        self.pairs = [own.quantized() for own in self.sets]

    def ours(self, plan: GemmPlan, name: str = _GEMM) -> Contender:
        adds = self.job.into is Into.ACCUMULATE
        both = zip(self.pairs, self.outs, strict=True)
        return Contender(name, [lambda p=p, o=o: gemm(*p, plan, out=o, accumulate=adds) for p, o in both])

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
) -> tuple[Times, str]:
    """Times of a plan, of torch's ops, and of the simple plan if that is another; why one has no time.

    `between(fraction done)` is called before each of job.runs rounds, and before each contender is set up.
    """
    from triton.errors import TritonError

    buffers = Buffers(job, plan, operands, device)
    peers = Peers(buffers, scaled_ops(*buffers.pairs[0], plan))
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
    by_name = times_by_name(groups, turns_of(job, device), job.runs, between, peers.loaded)
    return peers.times(by_name), "; ".join(notes)


class Peers:
    """Torch's contenders: its bf16 matmuls, and its scaled ops, or a note on why there is none."""

    def __init__(self, buffers: Buffers, scaled: Sequence[TorchOp] | str) -> None:
        self.note = scaled if isinstance(scaled, str) else ""
        self._into, outs = buffers.job.into, buffers.outs
        bf16 = [own.as_operands() for own in buffers.sets]
        self._ops = {Peer.BF16: bf16_ops(*bf16[0], outs[0], self._into)}
        self._ops[Peer.TORCH] = () if self.note else scaled
        self.contenders = []
        for ops, pairs in zip(self._ops.values(), (bf16, buffers.pairs), strict=True):
            for op in ops:
                launches = [op.launch(*pair, d, self._into) for pair, d in zip(pairs, outs, strict=True)]
                self.contenders.append(Contender(op.title, launches))

    def _fastest(self, by_name: Mapping[str, Timing]) -> dict[Peer, TorchOp]:
        forms = {peer: ops for peer, ops in self._ops.items() if ops}
        return {peer: min(ops, key=lambda op: by_name[op.title].median_us) for peer, ops in forms.items()}

    def loaded(self, by_name: Mapping[str, Timing]) -> tuple[str, ...]:
        """Ours and torch's scaled op, or bf16 where it has none."""
        if _GEMM not in by_name:
            return ()
        *_, op = self._fastest(by_name).values()
        return _GEMM, op.title

    def times(self, by_name: Mapping[str, Timing]) -> Times:
        """Times by contender, of torch's forms the fastest."""
        times = {peer: by_name[peer.value] for peer in Peer if peer.value in by_name}
        for peer, op in self._fastest(by_name).items():
            forms = len(self._ops[peer])
            among = f" (the fastest of {forms})" if forms > 1 else ""
            times[peer] = replace(by_name[op.title], op=op.named(self._into) + among)
        return times


def times_by_name(
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

Stopped = Callable[[], bool]


class Work:
    """A job's plans, operands and product."""

    def __init__(
        self, job: GemmJob, progress: Callable[..., None], stopped: Stopped, *, simple_first: bool = False
    ) -> None:
        self.job, self.progress, self.stopped, self.device = job, progress, stopped, current_device()
        self.plan = plan_of(job, self.device)
        simple = plan_simple(job.spec, job.mnk, self.device, job.accumulation)
        self.simple = None if isinstance(simple, Unsupported) or simple == self.plan else simple
        if simple_first and self.simple is not None:
            self.plan, self.simple = replace(self.simple, why=SIMPLE_FIRST), None
        progress(0.0, "drawing A and B")
        self.operands = Operands.of(job, self.device)
        halt_if(stopped)
        progress(_DRAWN, "quantizing and multiplying")
        self.pair = self.operands.quantized()
        self.out = _product(job, self.plan, *self.pair)

    def tell(self, fraction: float, note: str) -> None:
        self.progress(fraction, note)
        halt_if(self.stopped)

    def errors(self, flop_limit: int | None = None) -> Errors:
        inputs = (*self.operands.as_operands(), *self.pair)
        return errors(self.out, *inputs, flop_limit=flop_limit, between=lambda: halt_if(self.stopped))


def careful(work: Work) -> Row:
    job, plan, tell = work.job, work.plan, work.tell
    tell(_QUANTIZED, "comparing with fp64")
    d_errors = work.errors()
    prediction = None
    if job.flop and predictable(plan, work.device.capability):
        tell(_COMPARED, "predicting sampled outputs bit for bit")
        sampled = Sampled.of(plan, *work.pair, work.out, job.seed)
        prediction = sampled.prediction(lambda: halt_if(work.stopped))
    del work.out  # its memory is the contest's
    times, note = {}, _EMPTY
    if work.device.kind is not DeviceKind.GPU:
        note = "no times: the interpreter's speed says nothing about a GPU's"
    elif job.flop:
        tell(_CHECKED, "timing")

        def between(done: float) -> None:
            tell(_CHECKED + (_DONE - _CHECKED) * done, f"timing, {done:.0%}")

        times, note = contest(job, plan, work.simple, work.operands, work.device, between)
    work.progress(_DONE, "done")
    more = {"why": plan.why, "errors": d_errors, "prediction": prediction}
    return row_of(job, plan, work.device, times=times, note=note, **more)


def first_answer(work: Work) -> Row:
    """First times of a plan, of bf16 torch.mm and of quantizing: a few short turns over a few buffers."""
    job, plan, device, d_errors = work.job, work.plan, work.device, work.errors(FIRST_FLOP)
    times, note = {}, _EMPTY
    if job.flop:
        turn_ms = min(job.turn_ms, _FIRST_MS)
        quick = replace(job, runs=min(job.runs, _FIRST_ROUNDS), turn_ms=turn_ms, settle_ms=0)
        buffers = Buffers(quick, plan, work.operands, device, _FIRST_SETS)
        peers = Peers(buffers, "its time comes with the careful answer")
        groups = [[buffers.ours(plan), *peers.contenders], buffers.quantize()]

        def between(done: float) -> None:
            work.tell(_ANSWERED * done, "timing")

        times = peers.times(times_by_name(groups, turns_of(quick, device), quick.runs, between))
        note = peers.note
    more = {"why": plan.why, "errors": d_errors, "is_first": True}
    return row_of(job, plan, device, times=times, note=note, **more)


def plan_of(job: GemmJob, device: Device) -> GemmPlan:
    """Raises Unsupported where the plan refuses."""
    plan = plan_gemm(job.spec, job.mnk, device, job.accumulation)
    if isinstance(plan, Unsupported):
        raise plan
    return plan


def _product(job: GemmJob, plan: GemmPlan, a: GemmOperand, b: GemmOperand) -> torch.Tensor:
    """D, written over NaN, or added into zeros, which is exact."""
    adds = job.into is Into.ACCUMULATE
    dtype, start = torch_dtype(plan.numerics.spec.out), 0.0 if adds else torch.nan
    out = torch.full((job.m, job.n), start, dtype=dtype, device=current_device().place)
    return gemm(a, b, plan, out=out, accumulate=adds)


def row_of(job: GemmJob, plan: GemmPlan, device: Device, **more: Any) -> Row:
    about = {"job": job, "bytes": least_bytes(job, plan), "kernel": plan.title, "plan": plan.record}
    return measured(Row, device, **about, **more)


def measure(
    job: GemmJob,
    *,
    progress: Callable[..., None],
    stopped: Stopped,
    so_far: Row | None = None,
    simple_first: bool = False,
    gives_first: bool = True,
) -> Row:
    """Measure a job. On a GPU, its first answer comes as a progress's partial result, unless `so_far` is one.

    With `simple_first` the simple kernel gives the first answer. The job stops there if its plan is another,
    which is then still being compiled elsewhere. Without `gives_first`, only the careful answer is computed.
    """
    with memory(job.size):
        work = Work(job, progress, stopped, simple_first=simple_first)
        if gives_first and so_far is None and work.device.kind is DeviceKind.GPU:
            progress(_ANSWERED, "measuring with care", first_answer(work))
            halt_if(lambda: work.plan.why == SIMPLE_FIRST or stopped())
        return careful(work)
