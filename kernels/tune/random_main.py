"""python -m kernels.tune --random: time GEMMs of random shapes, and fit the cost model to them.

Every GEMM runs under the blocks that its plan has, in turns with torch's best op. With --regret K, the cost
model's K best candidates run too, and some others. The table has our speed over torch's, and the regret: the
plan's time over that of the best candidate, minus 1.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from kernels.bench.any_shape import AnyShapeRow, draw_shapes, percentile, record_any_shape, spread
from kernels.bench.commit import commit
from kernels.device import Device, Unsupported
from kernels.gemm.blocks import Blocks
from kernels.gemm.cost.constants import constants_of, cost_path
from kernels.gemm.cost.work import Work, work_of
from kernels.gemm.tuned import Measurement
from kernels.paths import RECORDS
from kernels.progress import Bar
from kernels.text_table import columns, text
from kernels.tune.fit import Measured, fit
from kernels.tune.random_runs import Runs, Timed
from kernels.tune.random_work import Chooser, Task, drawn_gemms
from kernels.tune.sample import Sample, read_samples, written

ROUNDS, TURN_US = 5, 1500.0
_OTHERS = 2
_KERNELS = 40
"""Kernels of one family, at most, that are compiled for candidates at random."""
_HALF, _MOST = 0.5, 0.95
STOPPED = 130
"""The exit code after Ctrl-C."""
_HEADER = ("recipe", "matmul", "shapes", "× torch", "10%", "lowest", "regret 50%", "regret 95%")


def run(options: argparse.Namespace, device: Device, measurement: Measurement) -> int:
    """Time the draw, print the table, and keep what is to be kept. Returns the exit code.

    Ctrl-C ends the draw: what was timed until then is kept and printed.
    """
    known = read_samples(options.samples) if options.samples and options.samples.exists() else []
    until = time.monotonic() + options.budget
    found, stopped = _timed(options, device, until) if options.random else ([], False)
    rows = [_row(each, options.seed, measurement) for each in found if each.ours and each.peers]
    new = [sample for each in found for sample in each.samples]
    if options.samples and new:
        with options.samples.open("a", encoding="utf-8") as file:
            file.write(written(new))
    if options.record:
        for path in {record_any_shape(row, RECORDS) for row in rows}:
            print(f"{path}: {len(rows)} rows more", file=sys.stderr)
    print(table(rows))
    if stopped:
        return STOPPED
    if options.fit:
        _fit(known + new, device, measurement)
    return 0


def table(rows: Iterable[AnyShapeRow]) -> str:
    """Ratios and regret by recipe and matmul."""
    by_kind: dict[tuple[str, str], list[AnyShapeRow]] = defaultdict(list)
    for row in rows:
        by_kind[row.recipe, row.matmul].append(row)
    lines = []
    for (recipe, matmul), mine in by_kind.items():
        ratios = spread(row.ratio for row in mine)
        regrets = [row.regret for row in mine if row.regret is not None]
        cells = [f"{percentile(regrets, part):.1%}" if regrets else "–" for part in (_HALF, _MOST)]
        shown = (
            [f"{each:.3f}" for each in (ratios.geometric_mean, ratios.p10, ratios.worst)] if ratios else []
        )
        lines.append((recipe, matmul, str(len(mine)), *shown, *cells))
    return text(columns(lines, header=_HEADER))


def _timed(options: argparse.Namespace, device: Device, until: float) -> tuple[list[Timed], bool]:
    """(what was timed, whether Ctrl-C ended it)."""
    others = _OTHERS if options.regret else 0
    layers = draw_shapes(options.random, options.seed)
    choosers: dict[tuple[str, str], Chooser] = {}
    tasks: list[Task] = []
    for drawn in drawn_gemms(layers, options.recipes, options.matmuls):
        kind = drawn.recipe, drawn.matmul
        chooser = choosers.setdefault(kind, Chooser(device, options.regret, others, _KERNELS, options.seed))
        task = chooser.task(drawn)
        if isinstance(task, Unsupported):
            print(f"{drawn.recipe} {drawn.matmul} {drawn.mnk}: {task.reason}", file=sys.stderr)
        else:
            tasks.append(task)
    found: list[Timed] = []
    stopped = False
    with Bar("random shapes") as bar, Runs(tasks, device, options.workers, ROUNDS, TURN_US) as runs:
        try:
            for timed in runs.timed(until):
                found.append(timed)
                bar.draw(len(found) / len(tasks), f"{len(found)} of {len(tasks)} GEMMs")
        except KeyboardInterrupt:
            stopped = True
        for fault in runs.faults:
            print(fault, file=sys.stderr)
    after = "stopped after " if stopped else ""
    print(f"{after}{len(found)} of {len(tasks)} GEMMs, {runs.kernels} kernels", file=sys.stderr)
    return found, stopped


def _row(timed: Timed, seed: int, measurement: Measurement) -> AnyShapeRow:
    drawn, blocks = timed.task.drawn, timed.task.blocks[0]
    ours = timed.ours.get(blocks, min(timed.ours.values()))
    peer = min(timed.peers, key=lambda name: timed.peers[name])
    searched = len(timed.ours) > 1
    return AnyShapeRow(
        recipe=drawn.recipe,
        matmul=drawn.matmul,
        m=drawn.m,
        n=drawn.n,
        k=drawn.k,
        ours_us=round(ours, 3),
        peer=peer,
        peer_us=round(timed.peers[peer], 3),
        body=blocks.body.value,
        blocks_title=blocks.title,
        flop=drawn.flop,
        least_bytes=timed.least_bytes,
        seed=seed,
        gpu=measurement.gpu,
        date=measurement.date,
        versions=dict(measurement.versions),
        regret=round(ours / min(timed.ours.values()) - 1, 4) if searched else None,
        turns=ROUNDS,
        commit=commit(),
    )


def _fit(samples: Sequence[Sample], device: Device, measurement: Measurement) -> None:
    """Fit the constants to samples of our own launches, and write them."""
    measured = [
        Measured(_work(sample, sample.blocks, device), sample.us, sample.gemm)
        for sample in samples
        if sample.blocks
    ]
    if not measured:
        raise ValueError("there is nothing to fit: name --samples, or draw some with --random and --regret")
    path = cost_path(device.capability or (0, 0))
    before = constants_of(device) if path.exists() else None
    made = fit(measured, measurement, device, lambda told: print(told, file=sys.stderr), before)
    made.write(path)
    error = made.error
    print(f"{path}: {error.measurements} measurements, off by {error.median:.1%}, 95% under {error.p95:.1%}")


def _work(sample: Sample, blocks: Blocks, device: Device) -> Work:
    """Work of a sample's launch."""
    return work_of(sample.gemm.meaning(device), blocks, sample.gemm.mnk, device)
