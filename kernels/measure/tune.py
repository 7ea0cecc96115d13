"""python -m kernels.measure tune: find the best blocks for each family of GEMMs and shape class on this GPU.

Every candidate is compiled in a worker process, checked bit for bit, then timed in turns with the others, hot
and cold with equal weight. Each finished GEMM enters the table: after Ctrl-C, the same command goes on where
it stopped, if it is the same day.

Exit codes: 0 done, 1 wrong bits, no code or a file not written, 2 bad arguments or no GPU, 130 Ctrl-C.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import torch

from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import RECIPES
from kernels.cores import cores
from kernels.device import Device, Unsupported, triton_release
from kernels.files import replace_file
from kernels.gemm.blocks import FEW, MAX_SPLIT, Blocks, Variant
from kernels.gemm.choose import tries
from kernels.gemm.hopper.decoding.blocks import values_order
from kernels.gemm.launch import gemm
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import GemmPlan, plan_built_in
from kernels.gemm.simple.blocks import fit
from kernels.gemm.tuned import Measurement, Tuned, read_table, shape_class, table, table_path
from kernels.measure.commands import choose_device, parser_of
from kernels.measure.exactness import Sampled, bits, is_near, predictable
from kernels.measure.gemm import Buffers, times_by_name, turns_of
from kernels.measure.jobs import LAYER, SKINNY, STANDARD, Cache, GemmJob
from kernels.measure.machine import today
from kernels.measure.operands import Operands
from kernels.measure.peak_rates import Impossible, limits_of
from kernels.precompile import Precompile, launch_gemm
from kernels.progress import Bar
from kernels.typed import check_whole, to_data

SHAPES: Mapping[str, LayerShape | tuple[int, int, int]] = {
    **{f"{layer.tokens}-tokens": layer for layer in (*SKINNY, LAYER)},
    **{f"{side}-cubed": (side, side, side) for side in (1024, 2048, 4096, 8192)},
    **{"-".join(map(str, mnk)): mnk for mnk in STANDARD if isinstance(mnk, tuple) and len(set(mnk)) > 1},
}


def jobs(device: Device, shapes: Mapping[str, LayerShape | tuple[int, int, int]]) -> dict[str, GemmJob]:
    """One GEMM for each family and shape class, by the text of both; neighbors share inputs."""
    by_key: dict[str, GemmJob] = {}
    for shape, matmul, recipe, how in product(shapes.values(), MATMULS, RECIPES, Summation):
        job = GemmJob.of(recipe, matmul, shape, accumulation=how)
        plan = simple_plan(job, device)
        if isinstance(plan, GemmPlan):
            by_key.setdefault(_key(plan.numerics.family, shape_class(job.mnk, device.sms)), job)
    return by_key


def _key(family: object, shape: str) -> str:
    return f"{family} | {shape}"


def simple_plan(job: GemmJob, device: Device) -> GemmPlan | Unsupported:
    """The simple kernel's built-in plan of a job. Candidates vary it and are checked against it."""
    return plan_built_in(job.spec, job.mnk, device, job.accumulation)


REPEATS = 3
_SAMPLED = 16
_Cut = tuple[int, int, int]
"""Parts of K, the length of one, and the order along K."""
_WHOLE_K: _Cut = (1, 0, 0)
_BYTE = 8
"""Bits of a code of one byte: such codes stay among the 16 that the tensor core adds at once."""


class TuneJob:
    def __init__(self, job: GemmJob, device: Device) -> None:
        plan = simple_plan(job, device)
        if isinstance(plan, Unsupported):
            raise plan
        self.plan: GemmPlan = plan
        self._job, self._device = job, device
        self._buffers = Buffers(job, plan, Operands.of(job, device), device)
        self._truths: dict[_Cut, torch.Tensor] = {}

    def fault(self, blocks: Blocks) -> str:
        """A sentence on what is wrong with D under these blocks; empty where every bit is right.

        The right D is the simple kernel's with the same split-K, or the first one of another order along K.
        Where this GPU has a model of its tensor core, the model must have predicted a sample of it. A split
        sum must also be near the whole one.
        """
        plan = replace(self.plan, blocks=blocks)
        first = self._product(plan)
        wrong = self._trust(_WHOLE_K, self.plan)
        if not wrong and not is_near(first, self._truths[_WHOLE_K]):
            wrong = f"{blocks.title}: D is far from what it is with K in one run"
        runs, steps = blocks.splits(self._job.k)
        cut = (runs, steps * blocks.block_k * (runs > 1), _order(plan))
        if wrong := wrong or self._trust(cut, plan, first):
            return wrong
        truth = self._truths[cut]
        for repeat in range(REPEATS):
            out = self._product(plan) if repeat else first
            faults = (bits(out) != bits(truth)).nonzero()
            if len(faults):
                m, n = faults[0].tolist()
                return f"{blocks.title}: D[{m}, {n}] is {out[m, n]:.9g}, and {truth[m, n]:.9g} is right"
        return ""

    def times_us(self, tries: Sequence[Blocks], **how: Any) -> dict[Blocks, float]:
        """Median microseconds of a launch under each of these blocks, in turns. Raises Impossible."""
        job = replace(self._job, **how)
        plans = (replace(self.plan, blocks=blocks) for blocks in tries)
        ours = [self._buffers.ours(plan, str(place)) for place, plan in enumerate(plans)]
        by_name = times_by_name([ours], turns_of(job, self._device), job.runs)
        limits = limits_of(self._device)
        for timing in by_name.values():
            if fault := limits.fault(job.flop / timing.median_us / 1e6):
                raise Impossible(fault)
        return {blocks: by_name[str(place)].median_us for place, blocks in enumerate(tries)}

    def _product(self, plan: GemmPlan) -> torch.Tensor:
        """D, written over NaN."""
        return gemm(*self._buffers.pairs[0], plan, out=torch.full_like(self._buffers.outs[0], torch.nan))

    def _trust(self, cut: _Cut, plan: GemmPlan, out: torch.Tensor | None = None) -> str:
        """Take the first D of a cut as its right one; a sentence where the model predicts another."""
        if cut in self._truths:
            return ""
        out = self._product(plan) if out is None else out
        if predictable(plan, self._device.capability):
            sampled = Sampled.of(plan, *self._buffers.pairs[0], out, self._job.seed, _SAMPLED)
            if difference := sampled.prediction().first_difference:
                return f"{plan.blocks.title}: {difference}"
        self._truths[cut] = out
        return ""


def _order(plan: GemmPlan) -> int:
    """The order along K of a plan's sum; 0 where it differs within 16 only."""
    order = values_order(plan.numerics, plan.blocks) if plan.variant is Variant.DECODING else 0
    return 0 if order == _BYTE else order


def coarse(
    plan: GemmPlan, mnk: tuple[int, int, int], device: Device, variants: Collection[Variant] = ()
) -> list[Blocks]:
    """First tries of the named variants (all, if none is), beside the table's blocks of the others."""
    few = mnk[0] < FEW // 2  # and chained blocks are 128 rows high
    able = [each for each in Variant if each is not Variant.CHAINED or not few]
    new = [each for each in able if not variants or each in variants]
    first = (each for variant in new for each in tries(variant, plan.numerics, mnk, device))
    candidates = [*dict.fromkeys(first)]
    if variants:
        shape = shape_class(mnk, device.sms)
        tabled = table(device.capability or (0, 0)).get(plan.numerics.family, ())
        others = (row.blocks for row in tabled if row.shape == shape)
        candidates += [blocks for blocks in others if blocks.variant not in variants]
    return candidates


def finer(plan: GemmPlan, mnk: tuple[int, int, int], device: Device, best: Blocks) -> list[Blocks]:
    """One step away from good blocks: the order of blocks, stages, and the neighboring splits."""
    if not best.variant.is_simple:  # its coarse list is all there is
        return []
    tries = [replace(best, group=group) for group in (4, 16, 32)] if mnk[0] > 4 * best.block_m else []
    tries += [replace(best, stages=stages) for stages in (best.stages - 1, best.stages + 1) if stages > 1]
    splits = {best.split_k * 3 // 2, best.split_k * 3 // 4} if best.split_k > 1 else set()
    tries += [replace(best, split_k=split) for split in sorted(splits) if 1 < split <= MAX_SPLIT]
    fitting = (fit(plan.numerics, blocks, device) for blocks in tries)
    return [blocks for blocks in dict.fromkeys(fitting) if blocks is not None and blocks != best]


_COARSE = {"runs": 5, "turn_ms": 4, "settle_ms": 0}
_FINAL = {"runs": 5, "turn_ms": 50, "settle_ms": 100}
_BEST = 3
_COMPILED, _CHECKED, _TIMED = 0.4, 0.5, 0.8

Tell = Callable[[float, str], None]
Compile = Callable[[Sequence[Blocks]], Sequence[str]]


@dataclass
class Outcome:
    """Microseconds of a launch by blocks, hot and cold; sentences on blocks that fail, or gave wrong bits."""

    times: dict[Blocks, float] = field(default_factory=dict)
    cold: dict[Blocks, float] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def fastest(self) -> list[Blocks]:
        """The fastest blocks of the simple variants and of the others, by the geometric mean of hot and cold:
        the best at a card's power limit need not be the best below it.
        """
        best: dict[object, Blocks] = {}
        for blocks in sorted(self.times, key=lambda blocks: self.times[blocks] * self.cold[blocks]):
            best.setdefault(blocks.variant.is_simple, blocks)
        return list(best.values())


def _kind(blocks: Blocks) -> tuple[object, ...]:
    """Group of blocks whose best goes on to long turns: short ones share a clock, which hides lower power."""
    if blocks.variant.is_simple:
        return (blocks.variant,)
    return (blocks.variant, blocks.block_m, blocks.block_n, blocks.decoded, blocks.stages)


def search(
    plan: GemmPlan,
    mnk: tuple[int, int, int],
    device: Device,
    *,
    compile_: Compile,
    bench: TuneJob,
    tell: Tell,
    variants: Collection[Variant] = (),
) -> Outcome:
    outcome = Outcome()

    def good(tries: Sequence[Blocks]) -> list[Blocks]:
        faults = compile_(tries)
        outcome.dropped += [fault for fault in faults if fault]
        running = [blocks for blocks, fault in zip(tries, faults, strict=True) if not fault]
        wrong = {blocks: bench.fault(blocks) for blocks in running}
        outcome.wrong += [fault for fault in wrong.values() if fault]
        return [blocks for blocks in running if not wrong[blocks]]

    splits = predictable(plan, device.capability)  # what a split K should give, nothing else can say
    tell(0.0, "compiling and checking")
    first = good([blocks for blocks in coarse(plan, mnk, device, variants) if splits or blocks.split_k == 1])
    if not first:
        return outcome
    tell(_COMPILED, f"timing {len(first)} candidates")
    quick = bench.times_us(first, **_COARSE)
    by_speed = sorted(quick, key=lambda blocks: quick[blocks])
    best_of_each = {_kind(blocks): blocks for blocks in reversed(by_speed)}
    best = list(dict.fromkeys([*by_speed[:_BEST], *best_of_each.values()]))
    tell(_CHECKED, "varying the best")
    varied = [blocks for blocks in best if not variants or blocks.variant in variants]
    near = dict.fromkeys(other for blocks in varied for other in finer(plan, mnk, device, blocks))
    last = best + good([blocks for blocks in near if blocks not in quick])
    tell(_TIMED, f"timing the best {len(last)}")
    outcome.times = bench.times_us(last, cache=Cache.HOT, **_FINAL)
    outcome.cold = bench.times_us(last, cache=Cache.COLD, **_FINAL)
    return outcome


def _order_in_table(plan: Tuned) -> tuple[object, ...]:
    return plan.family, [int(number) for number in re.findall(r"-?\d+", plan.shape)], plan.median_us


def merge_into(path: Path, new: Sequence[Tuned]) -> None:
    """Replace a table's plans of these families and classes. Raises ValueError."""
    keys = {(plan.family, plan.shape) for plan in new}
    others = [plan for plan in read_table(path) if (plan.family, plan.shape) not in keys]
    plans = sorted([*others, *new], key=_order_in_table)
    measurements: list[Measurement] = []
    for plan in plans:
        if plan.measurement not in measurements:
            measurements.append(plan.measurement)
    rows = [to_data(plan) | {"measurement": measurements.index(plan.measurement)} for plan in plans]
    header = json.dumps([to_data(measurement) for measurement in measurements], ensure_ascii=False)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    replace_file(path, f'{{"measurements": {header},\n"plans": [\n{lines}\n]}}\n'.encode())


_DONE, _WRONG, _STOPPED = 0, 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of("tune", __doc__)
    add = parser.add_argument
    add("--families", nargs="+", default=[], metavar="WORD", help="those with all these words: fast row·row")
    add("--shapes", nargs="+", choices=SHAPES, default=[*SHAPES], metavar="NAME", help=", ".join(SHAPES))
    names = ", ".join(variant.value for variant in Variant)
    anew = f"search these anew, the table's blocks of the others beside: {names}"
    add("--variants", nargs="+", type=Variant, choices=[*Variant], default=[], metavar="NAME", help=anew)
    add("--again", action="store_true", help="tune what was tuned today, too")
    add("--workers", type=int, default=cores(), help="processes that compile")
    add("--out", type=Path, help="the table; by default the shipped one of this GPU")
    options = parser.parse_args(arguments)
    check_whole(1, 1 << 16, workers=options.workers)
    device = choose_device()
    shapes = {name: SHAPES[name] for name in options.shapes}
    selection = select(jobs(device, shapes), options.families)
    with Precompile(options.workers) as compilers:
        return tune(options, device, compilers, selection)


def select(every: Mapping[str, GemmJob], words: Sequence[str]) -> dict[str, GemmJob]:
    families = {key: key.partition(" | ")[0] for key in every}
    selection = {key: job for key, job in every.items() if set(words) <= set(families[key].split())}
    if not selection:
        names = "; ".join(sorted(set(families.values())))
        raise ValueError(f"no family has the words {' '.join(words)}; there are: {names}")
    return selection


def tune(
    options: argparse.Namespace, device: Device, compilers: Precompile, jobs: Mapping[str, GemmJob]
) -> int:
    """Search the best blocks of each job that the table has not from today; the exit code."""
    path: Path = options.out or table_path(device.capability or (0, 0))
    measurement, code = measurement_of(device), _DONE
    today = {_key(row.family, row.shape) for row in read_table(path) if row.measurement == measurement}
    todo = {key: job for key, job in jobs.items() if options.again or options.variants or key not in today}
    try:
        for number, (key, job) in enumerate(todo.items(), 1):
            outcome = _searched(f"{number}/{len(todo)} {key}", job, device, compilers, options.variants)
            code = _WRONG if outcome.wrong else code
            fields = {
                "family": simple_plan(job, device).numerics.family,
                "shape": shape_class(job.mnk, device.sms),
                "mnk": job.mnk,
                "measurement": measurement,
            }
            times = {blocks: outcome.times[blocks] for blocks in outcome.fastest()}
            plans = [Tuned(blocks=each, median_us=round(us, 3), **fields) for each, us in times.items()]
            merge_into(path, plans)
            for fault in [*outcome.dropped, *outcome.wrong]:
                print(f"{key}: {fault}", file=sys.stderr)
            for blocks, us in times.items():
                print(f"{key}: {us:.1f} µs, {blocks.title}", flush=True)
    except KeyboardInterrupt:
        code = _STOPPED
    print(f"{path}: {len(read_table(path))} plans", file=sys.stderr)
    return code


def _searched(
    title: str, job: GemmJob, device: Device, compilers: Precompile, variants: Collection[Variant]
) -> Outcome:
    with Bar(title) as bar:

        def compile_(tries: Sequence[Blocks]) -> Sequence[str]:
            codes = [(launch_gemm, job, blocks) for blocks in tries]
            return compilers.faults(codes, lambda done: bar.draw(0.0, f"compiled {done} of {len(tries)}"))

        bench = TuneJob(job, device)
        how = {"compile_": compile_, "bench": bench, "tell": bar.draw, "variants": variants}
        return search(bench.plan, job.mnk, device, **how)


def measurement_of(device: Device) -> Measurement:
    versions = {"torch": version("torch"), "triton": triton_release()}
    return Measurement(gpu=device.name, date=today(), versions=versions)
