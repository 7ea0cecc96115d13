"""python -m kernels.measure random: time GEMMs of random shapes, and fit the chooser's rates to them.

Every GEMM runs under the blocks that its plan has, in turns with torch's best op. With --regret K, the
chooser's K best candidates run too, and some others. The table has our speed over torch's, and the regret:
the plan's time over that of the best candidate, minus 1.

Exit codes: 0 done, 1 a file not written, 2 bad arguments or no GPU, 130 Ctrl-C. What was timed is kept.
"""

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.cores import cores
from kernels.device import Device, Unsupported
from kernels.gemm.choose import rates_of, rates_path
from kernels.gemm.tuned import Measurement
from kernels.measure.commands import check_above_0, device_here
from kernels.measure.fit import (
    Launch,
    Launches,
    fit,
    write,
)
from kernels.measure.jobs import MAX_SEED
from kernels.measure.machine import require_gpu
from kernels.measure.random_shapes import MAX_DRAWN, draw_shapes, percentile
from kernels.measure.random_timing import Timed
from kernels.measure.random_work import (
    Chooser,
    Runs,
    Sample,
    Task,
    drawn_gemms,
    meaning_of_job,
    read_samples,
    samples_of,
    written,
)
from kernels.measure.records import RANDOM_SHAPES
from kernels.measure.table import spread_table
from kernels.measure.tune import measurement_of
from kernels.paths import RECORDS
from kernels.progress import Bar
from kernels.typed import check_whole

ROUNDS, TURN_MS = 5, 2
_OTHERS = 2
_KERNELS = 40
"""Kernels of one family, at most, that are compiled for candidates at random."""
STOPPED = 130
"""The exit code after Ctrl-C."""
DRAWN = ("per_tensor", "per_tensor_e4m3", "rowwise", "deepseek_v3", "mxfp8")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    _check(options)
    device_here()
    device = require_gpu()
    return run(options, device, measurement_of(device))


def _parser() -> argparse.ArgumentParser:
    what = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m kernels.measure random", description=what)
    parser.add_argument("--count", type=int, default=20, help="layers to draw (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: %(default)s)")
    parser.add_argument("--recipe", nargs="+", choices=RECIPES, default=[*DRAWN], metavar="NAME")
    parser.add_argument("--matmul", nargs="+", choices=MATMULS, default=[*MATMULS], metavar="NAME")
    parser.add_argument("--regret", type=int, default=0, metavar="K", help="time the chooser's K best, too")
    parser.add_argument("--record", action="store_true", help="keep the rows for the page Benchmarks")
    parser.add_argument("--samples", type=Path, help="a file that every launch's time is added to")
    parser.add_argument("--fit", action="store_true", help="fit the chooser to --samples and what is timed")
    parser.add_argument("--workers", type=int, default=cores(), help="processes that compile")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no GEMM after so many minutes")
    return parser


def _check(options: argparse.Namespace) -> None:
    """Raise ValueError for numbers out of range, and a fit that has nothing to fit to."""
    check_whole(0, MAX_DRAWN, count=options.count, regret=options.regret)
    check_whole(0, MAX_SEED, seed=options.seed)
    check_whole(1, 1 << 16, workers=options.workers)
    check_above_0("--minutes", options.minutes)
    has_samples = options.samples is not None and options.samples.is_file()
    if options.fit and not (options.count or has_samples):
        raise ValueError(f"--fit needs a --count, or a file of --samples; got {options.samples}")


def run(options: argparse.Namespace, device: Device, measurement: Measurement) -> int:
    """Time the draw, print the table, and keep what is to be kept. Returns the exit code.

    Ctrl-C ends the draw: what was timed until then is kept and printed.
    """
    known = read_samples(options.samples) if options.samples and options.samples.exists() else []
    until = time.monotonic() + 60 * options.minutes
    draws, stopped = _timed(options, device, until) if options.count else ([], False)
    rows = [each.row for each in draws]
    new = [sample for each in draws for sample in samples_of(each)]
    if options.samples and new:
        with options.samples.open("a", encoding="utf-8") as file:
            file.write(written(new))
    if options.record:
        for path in {RANDOM_SHAPES.record(row, RECORDS) for row in rows}:
            print(f"{path}: {len(rows)} rows more", file=sys.stderr)
    print(spread_table(rows))
    if stopped:
        return STOPPED
    if options.fit:
        _fit(known + new, device, measurement)
    return 0


def _timed(options: argparse.Namespace, device: Device, until: float) -> tuple[list[Timed], bool]:
    """(what was timed, whether Ctrl-C ended it)."""
    others = _OTHERS if options.regret else 0
    layers = draw_shapes(options.count, options.seed)
    how = {"seed": options.seed, "runs": ROUNDS, "turn_ms": TURN_MS}
    choosers: dict[tuple[str, str], Chooser] = {}
    tasks: list[Task] = []
    for job in drawn_gemms(layers, options.recipe, options.matmul, **how):
        kind = job.recipe, job.matmul
        chooser = choosers.setdefault(kind, Chooser(device, options.regret, others, _KERNELS, options.seed))
        task = chooser.task(job)
        if isinstance(task, Unsupported):
            print(f"{job.recipe} {job.matmul} {job.mnk}: {task.reason}", file=sys.stderr)
        else:
            tasks.append(task)
    draws: list[Timed | None] = []
    stopped = False
    with Bar("random shapes") as bar, Runs(tasks, device, options.workers) as runs:
        try:
            for timed in runs.timed(until):
                draws.append(timed)
                bar.draw(len(draws) / len(tasks), f"{len(draws)} of {len(tasks)} GEMMs")
        except KeyboardInterrupt:
            stopped = True
        for fault in runs.faults:
            print(fault, file=sys.stderr)
    after = "stopped after " if stopped else ""
    print(f"{after}{len(draws)} of {len(tasks)} GEMMs, {runs.kernels} kernels", file=sys.stderr)
    return [timed for timed in draws if timed is not None], stopped


def _fit(samples: Sequence[Sample], device: Device, measurement: Measurement) -> None:
    """Fit the chooser's rates to samples of our own launches, and write them."""
    launches = [
        Launch(
            meaning=meaning_of_job(sample.gemm, device),
            mnk=sample.gemm.mnk,
            blocks=sample.blocks,
            us=sample.us,
            turns=sample.gemm,
        )
        for sample in samples
        if sample.blocks
    ]
    if not launches:
        raise ValueError("there is nothing to fit: name --samples, or draw some with --count and --regret")
    fitted = fit(launches, device, rates_of(device), lambda line: print(line, file=sys.stderr))
    facts = {"sms": device.sms, "clock_mhz": device.clock_mhz, "memory_gb_s": device.memory_gb_s}
    of = {"gpu": measurement.gpu, "date": measurement.date, "versions": dict(measurement.versions)}
    fitted = replace(fitted, **facts, **of)
    path = rates_path(device.capability or (0, 0))
    write(fitted, path)
    made = Launches(launches, device)
    errors = [abs(math.log(us / each.us)) for us, each in zip(made.predict_us(fitted), launches, strict=True)]
    half, most = percentile(errors, 0.5), percentile(errors, 0.95)
    print(f"{path}: {len(errors)} measurements, off by {half:.1%}, 95% under {most:.1%}")
