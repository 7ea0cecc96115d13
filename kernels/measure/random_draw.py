"""python -m kernels.measure random: time GEMMs of random shapes, each beside torch's best op.

With --regret K, the chooser's K best candidates run too, and some others. The table has our speed over
torch's, and the regret: the plan's time over the best candidate's, minus 1. Kernels compile in other
processes while earlier ones are timed. --fit keeps the time of every launch, and fits the chooser's rates to
the file: so a new variant, or another GPU, gets its rates. `measure` is the draw of the page Benchmarks.

Exit codes: 0 done, 1 a file not written, 2 bad arguments or no GPU, 130 Ctrl-C. What was timed is kept.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import islice, product
from pathlib import Path
from random import Random

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.cores import cores
from kernels.device import Device, Unsupported
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.choose import ranked
from kernels.gemm.cost import rates_of, rates_path
from kernels.gemm.hopper.blocks import RING_VARIANTS
from kernels.gemm.launch import gemm
from kernels.gemm.plan import GemmPlan
from kernels.gemm.simple.blocks import built_in
from kernels.gemm.variants import refusal
from kernels.measure.commands import check_above_0, choose_device, figure, grouped, parser_of
from kernels.measure.exactness import is_near
from kernels.measure.fit import Sample, add_samples, fit, read_samples, write
from kernels.measure.gemm import Buffers, Peers, Times, plan_of, row_of, times_by_name, turns_of
from kernels.measure.jobs import MAX_SEED, GemmJob
from kernels.measure.machine import halt_if, memory, require_gpu
from kernels.measure.operands import Operands
from kernels.measure.random_shapes import (
    MAX_DRAWN,
    AnyShapeDraw,
    AnyShapeJob,
    LeftOut,
    draw_shapes,
    percentile,
    spread,
)
from kernels.measure.records import RANDOM_SHAPES
from kernels.measure.rows import Peer, Row
from kernels.measure.torch_peers import scaled_ops
from kernels.measure.tune import measurement_of
from kernels.paths import RECORDS
from kernels.precompile import Precompile, launch_gemm
from kernels.progress import Bar
from kernels.text_table import columns, text
from kernels.typed import check_whole, to_data

ROUNDS, TURN_MS = 5, 2
_OTHERS = 2
"""Random blocks of a GEMM beside its best."""
_MOST_KERNELS = 40
"""Of a family; from then on its random blocks are among them. Compiling takes longer than timing."""
_ALIGNED = 16
"""Triton compiles a kernel anew for sizes that this divides."""
_HEADER = ("recipe", "matmul", "shapes", "× torch", "10%", "lowest", "regret 50%", "regret 95%")
STOPPED = 130
Timed = tuple[Row, tuple[Sample, ...]]
"""A GEMM's row, and the time of each launch."""
DRAWN = ("per_tensor", "per_tensor_e4m3", "rowwise", "deepseek_v3", "mxfp8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of("random", __doc__)
    add = parser.add_argument
    add("--count", type=int, default=20, help="layers to draw (default: %(default)s)")
    add("--seed", type=int, default=1, help="of the draw (default: %(default)s)")
    add("--recipe", nargs="+", choices=RECIPES, default=[*DRAWN], metavar="NAME")
    add("--matmul", nargs="+", choices=MATMULS, default=[*MATMULS], metavar="NAME")
    add("--regret", type=int, default=0, metavar="K", help="time the chooser's K best, too")
    add("--fit", type=Path, metavar="FILE", help="add times to FILE; fit the chooser to it")
    add("--record", action="store_true", help="keep the rows for the page Benchmarks")
    add("--workers", type=int, default=cores(), help="processes that compile")
    add("--minutes", type=float, default=math.inf, help="begin no GEMM after so many minutes")
    options = parser.parse_args(arguments)
    check_whole(0 if options.fit else 1, MAX_DRAWN, count=options.count)
    check_whole(0, MAX_DRAWN, regret=options.regret)
    check_whole(0, MAX_SEED, seed=options.seed)
    check_whole(1, 1 << 16, workers=options.workers)
    check_above_0("--minutes", options.minutes)
    return run(options, choose_device())


def run(options: argparse.Namespace, device: Device) -> int:
    """Time the draw, print the table, record and fit. Returns the exit code; Ctrl-C ends the draw."""
    draws, stopped = _drawn(options, device, time.monotonic() + 60 * options.minutes)
    rows = [row for row, _ in draws]
    if options.record:
        for path in {RANDOM_SHAPES.record(row, RECORDS) for row in rows}:
            print(f"{path}: {len(rows)} rows more", file=sys.stderr)
    print(_table(rows))
    if options.fit:
        add_samples(options.fit, [sample for _, samples in draws for sample in samples])
    if options.fit and not stopped:
        samples, rates = read_samples(options.fit), rates_path(device.capability or (0, 0))
        if not samples:
            raise ValueError(f"{options.fit} has no samples to fit to: draw some with --count and --regret")
        of = to_data(measurement_of(device))
        of |= {"sms": device.sms, "clock_mhz": device.clock_mhz, "memory_gb_s": device.memory_gb_s}
        write(replace(fit(samples, device, rates_of(device)), **of), rates)
        print(f"{rates}: fitted to {len(samples)} launches", file=sys.stderr)
    return STOPPED if stopped else 0


def _table(rows: Sequence[Row]) -> str:
    lines = []
    for names, alike in grouped(rows, lambda job: (job.recipe, job.matmul)).items():
        ratios = spread(row.ratio for row in alike if row.ratio is not None)
        shown = (ratios.geometric_mean, ratios.p10, ratios.worst) if ratios else (None, None, None)
        regrets = [row.regret for row in alike if row.regret is not None]
        lost = [f"{percentile(regrets, part):.1%}" if regrets else "–" for part in (0.5, 0.95)]
        lines.append((*names, str(len(alike)), *(figure(each, ".3f") for each in shown), *lost))
    return text(columns(lines, header=_HEADER)) if lines else ""


def _drawn(options: argparse.Namespace, device: Device, until: float) -> tuple[list[Timed], bool]:
    layers = draw_shapes(options.count, options.seed)
    choosers: dict[tuple[str, str], Chooser] = {}
    tasks: list[Task] = []
    for layer, *kind in product(layers, options.recipe, options.matmul):
        job = GemmJob.of(*kind, layer, seed=options.seed, runs=ROUNDS, turn_ms=TURN_MS)
        new = Chooser(device, options.regret, Random(options.seed))
        try:
            tasks.append(choosers.setdefault(tuple(kind), new).task(job))
        except Unsupported as unsupported:
            print(f"{job.recipe} {job.matmul} {job.mnk}: {unsupported}", file=sys.stderr)
    draws: list[Timed | None] = []
    stopped = False
    with Bar("random shapes") as bar, Precompile(options.workers) as compilers:
        runs = Runs(tasks, device, compilers)
        try:
            for timing in runs.timings(until):
                draws.append(timing)
                bar.draw(len(draws) / len(tasks), f"{len(draws)} of {len(tasks)} GEMMs")
        except KeyboardInterrupt:
            stopped = True
    for fault in runs.faults:
        print(fault, file=sys.stderr)
    after = "stopped after " if stopped else ""
    print(f"{after}{len(draws)} of {len(tasks)} GEMMs, {runs.kernels} kernels", file=sys.stderr)
    return [each for each in draws if each is not None], stopped


def measure(
    job: AnyShapeJob,
    *,
    progress: Callable[..., None],
    stopped: Callable[[], bool],
    so_far: AnyShapeDraw | None = None,
) -> AnyShapeDraw:
    """Time the GEMMs of a draw that `so_far` lacks; each new one comes with the progress.

    An impossible or too large GEMM is left out with its reason.
    """
    device = require_gpu()
    draw = so_far or AnyShapeDraw(job=job, rows=())
    for number, own in islice(enumerate(job.gemms), draw.done, None):
        halt_if(stopped)
        progress(number / job.count, f"{number + 1} of {job.count}: {own.size}", draw if draw.done else None)
        rows, left_out = draw.rows, draw.left_out
        try:
            row, _ = timed(own, device, between=lambda done: halt_if(stopped))
            rows += (row,)
        except (Unsupported, MemoryError) as error:
            left_out += (LeftOut(m=own.m, n=own.n, k=own.k, reason=str(error)),)
        draw = AnyShapeDraw(job=job, rows=rows, left_out=left_out)
    progress(1.0, "done")
    return draw


def timed(
    job: GemmJob,
    device: Device,
    between: Callable[[float], None] = lambda done: None,
    others: Sequence[Blocks] = (),
) -> Timed:
    """Time one GEMM in turns with torch's ops, on normal data, and with other blocks of its plan.

    With other blocks, the row has the plan's regret. Raises Unsupported where the plan refuses, Impossible
    for a time that the GPU cannot reach, and MemoryError.
    """
    plan = plan_of(job, device)
    with memory(job.size):
        times, note, us = _race(job, plan, device, between, others)
    regret = round(us[plan.blocks] / min(us.values()) - 1, 4) if others else None
    row = row_of(job, plan, device, times=times, note=note, regret=regret)
    return row, tuple(Sample(gemm=job, blocks=blocks, us=round(own, 3)) for blocks, own in us.items())


def _race(
    job: GemmJob, plan: GemmPlan, device: Device, between: Callable[[float], None], others: Sequence[Blocks]
) -> tuple[Times, str, dict[Blocks, float]]:
    """Times of a plan and of torch's ops, why one has none, and microseconds under each of our blocks."""
    buffers = Buffers(job, plan, Operands.normal(job, device), device)
    peers = Peers(buffers, scaled_ops(*buffers.pairs[0], plan))
    names = {plan.blocks: Peer.OURS.value} | {blocks: str(place) for place, blocks in enumerate(others)}
    ours = [buffers.ours(replace(plan, blocks=blocks), name) for blocks, name in names.items()]
    by_name = times_by_name([[*ours, *peers.contenders]], turns_of(job, device), job.runs, between)
    us = {blocks: by_name[name].median_us for blocks, name in names.items()}
    return peers.times(by_name), peers.note, us


@dataclass(frozen=True)
class Task:
    job: GemmJob
    plan: GemmPlan
    blocks: tuple[Blocks, ...]


@dataclass
class Chooser:
    """Chooses blocks to time of a recipe's matmul: the plan's, the model's `count` best, some of the others.

    The best begin with that of each variant.
    """

    device: Device
    count: int
    dice: Random
    kernels: set[Hashable] = field(default_factory=set)

    def task(self, job: GemmJob) -> Task:
        """Raises Unsupported where the plan refuses."""
        plan = plan_of(job, self.device)
        chosen = {plan.blocks: None}
        if self.count:
            able = [each for each in Variant if not refusal(each, plan.numerics, job.mnk, self.device)]
            best = [blocks for _, blocks in ranked(plan.numerics, job.mnk, self.device, able)]
            first = {(blocks.variant, blocks.split_k > 1): blocks for blocks in reversed(best)}
            best = [*dict.fromkeys([*first.values(), *best])]
            rest = best[self.count :]
            self.dice.shuffle(rest)
            for blocks in (*best[: self.count], *rest):
                key = kernel_of(plan, blocks, job.mnk)
                if len(chosen) > self.count + _OTHERS:
                    break
                if key in self.kernels or len(self.kernels) < _MOST_KERNELS:
                    chosen[blocks] = None
                    self.kernels.add(key)
        return Task(job, plan, tuple(chosen))


def kernel_of(plan: GemmPlan, blocks: Blocks, mnk: tuple[int, int, int]) -> Hashable:
    """Equal for blocks of GEMMs that one compiled kernel serves."""
    m, _, k = mnk
    rows = min(blocks.block_m, 1 << (m - 1).bit_length()) if not blocks.variant.is_simple else 0
    if blocks.variant in RING_VARIANTS:  # its code is one for all shapes and orders of blocks
        blocks, aligned = replace(blocks, group=1), ()
    else:
        aligned = (*(size % _ALIGNED == 0 for size in mnk), *(size == 1 for size in mnk))
    return plan.numerics.kernel_key, blocks, blocks.splits(k)[0], rows, aligned


class Runs:
    """Times tasks one after another, their kernels compiled ahead.

    faults: why a GEMM, or some blocks for it, have no time.
    """

    def __init__(self, tasks: Sequence[Task], device: Device, compilers: Precompile) -> None:
        self._tasks, self._device = tasks, device
        self._compiled: dict[Hashable, Future[str]] = {}
        self.faults: list[str] = []
        for task in tasks:
            for blocks in (*task.blocks, built_in(task.plan.numerics, task.job.mnk, device)):
                key = kernel_of(task.plan, blocks, task.job.mnk)
                if key not in self._compiled:
                    self._compiled[key] = compilers.submit(launch_gemm, task.job, blocks, True)
        self.kernels = len(self._compiled)

    def timings(self, until: float) -> Iterator[Timed | None]:
        """The tasks' times, None for a fault; none begins after `until` (time.monotonic)."""
        for task in self._tasks:
            if time.monotonic() > until:
                return
            timing = None
            try:
                able = self._able(task)
                if able and able[0] == task.plan.blocks:
                    timing = timed(task.job, self._device, others=able[1:])
            except (Unsupported, MemoryError) as error:
                self._note(task, str(error))
            yield timing

    def _able(self, task: Task) -> list[Blocks]:
        able = []
        with memory(task.job.size):
            pair = Operands.normal(task.job, self._device).quantized()
            simple = built_in(task.plan.numerics, task.job.mnk, self._device)
            truth = gemm(*pair, replace(task.plan, blocks=simple))
            for blocks in task.blocks:
                fault = self._compiled[kernel_of(task.plan, blocks, task.job.mnk)].result()
                if not fault and not is_near(gemm(*pair, replace(task.plan, blocks=blocks)), truth):
                    fault = "D is far from that of the built-in blocks"
                if fault:
                    self._note(task, f"{blocks.title}: {fault}")
                else:
                    able.append(blocks)
        return able

    def _note(self, task: Task, fault: str) -> None:
        self.faults.append(f"{task.job.recipe} {task.job.matmul} {task.job.mnk}: {fault}")
