"""python -m kernels.measure tune: find the best blocks for each family of GEMMs and shape class on this GPU.

Every candidate is compiled in a worker process, checked bit for bit, and only then timed, in turns with the
others. Hot and cold launches have equal weight. Finished results are kept: after Ctrl-C, the same command
continues where it stopped. Progress goes to stderr.

Exit codes: 0 done, 1 wrong bits, no code or a file not written, 2 bad arguments or no GPU, 3 out of budget,
130 Ctrl-C.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from kernels.cores import cores
from kernels.device import Device, DeviceKind, Unsupported, told_triton
from kernels.files import replace_file
from kernels.gemm.blocks import Variant
from kernels.gemm.shape_class import ShapeClass
from kernels.gemm.tuned import Measurement, Tuned, read_table, table_path
from kernels.measure.commands import check_above_0, device_here
from kernels.measure.jobs import GemmJob
from kernels.measure.tune_job import (
    SHAPES,
    TuneJob,
    distinct_jobs,
    jobs,
    launch_once,
    simple_plan,
)
from kernels.measure.tune_search import Outcome, search
from kernels.precompile import Precompile
from kernels.progress import Bar
from kernels.typed import check_whole, from_data, to_data


@dataclass(frozen=True)
class TuneState:
    """A file of finished GEMMs, one JSON object a line: {key, measurement, plans}."""

    path: Path

    @classmethod
    def beside(cls, table: Path) -> "TuneState":
        return cls(table.with_suffix(".unfinished.jsonl"))

    def read(self) -> dict[str, tuple[Tuned, ...]]:
        """The plans of every finished GEMM by its key; a last line that was cut off is dropped.

        Raises ValueError naming a line that is something else.
        """
        if not self.path.exists():
            return {}
        plans = {}
        *lines, _ = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, 1):
            try:
                data = json.loads(line)
                measurement = from_data(Measurement, data["measurement"])
                plans[data["key"]] = tuple(Tuned.read(row, measurement) for row in data["plans"])
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise ValueError(
                    f"{self.path.name}, line {number} is not a finished GEMM: {error}; delete the file to "
                    "start over"
                ) from error
        return plans

    def append(self, key: str, measurement: Measurement, plans: Sequence[Tuned]) -> None:
        """Keep one finished GEMM, whole or not at all. A line that was cut off earlier is ended first."""
        data = {"key": key, "measurement": to_data(measurement), "plans": [plan.written() for plan in plans]}
        kept = self.path.read_bytes() if self.path.exists() else b""
        whole = kept[: kept.rfind(b"\n") + 1]
        replace_file(self.path, whole + (json.dumps(data, ensure_ascii=False) + "\n").encode())

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)


def merge_into(path: Path, finished: Mapping[str, tuple[Tuned, ...]]) -> int:
    """Put the plans of finished GEMMs into a table and return how many it then has.

    They replace plans of the same family and class. Raises ValueError where the file is no table.
    """
    new = [plan for plans in finished.values() for plan in plans]
    renewed = {(plan.family, plan.shape) for plan in new}
    kept = [plan for plan in read_table(path) if (plan.family, plan.shape) not in renewed]
    plans = sorted(kept + new, key=lambda plan: (plan.family, plan.shape, plan.median_us))
    measurements: list[Measurement] = []
    for plan in plans:
        if plan.measurement not in measurements:
            measurements.append(plan.measurement)
    rows = [plan.written() | {"measurement": measurements.index(plan.measurement)} for plan in plans]
    header = json.dumps([to_data(measurement) for measurement in measurements], ensure_ascii=False)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    replace_file(path, f'{{"measurements": {header},\n"plans": [\n{lines}\n]}}\n'.encode())
    return len(plans)


_DONE, _WRONG, _SPENT, _STOPPED = 0, 1, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    check_whole(1, 1 << 16, workers=options.workers)
    check_above_0("--budget", options.budget)
    device = device_here()
    if device.kind is not DeviceKind.GPU:
        raise Unsupported("there is no CUDA GPU here, and blocks are tuned by a GPU's own times")
    shapes = {name: SHAPES[name] for name in options.shapes}
    wanted = select(jobs(device, shapes), options.families)
    with Precompile(options.workers) as compilers:
        if options.compile:
            return compile_plans(distinct_jobs(device, shapes), compilers)
        return Tuner(options, device, compilers).run(wanted)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernels.measure tune", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "--families", nargs="+", default=[], metavar="WORD", help="those with all these words: fast row·row"
    )
    parser.add_argument(
        "--shapes", nargs="+", choices=SHAPES, default=[*SHAPES], metavar="NAME", help=", ".join(SHAPES)
    )
    parser.add_argument(
        "--budget", type=float, default=math.inf, metavar="SECONDS", help="start no GEMM after this long"
    )
    parser.add_argument(
        "--variants",
        "--bodies",
        dest="variants",
        nargs="+",
        type=Variant,
        choices=[*Variant],
        default=[],
        metavar="NAME",
        help="search these anew, the table's blocks of the others beside: "
        + ", ".join(variant.value for variant in Variant),
    )
    parser.add_argument("--check-only", action="store_true", help="check every candidate's bits, time none")
    parser.add_argument("--compile", action="store_true", help="only compile what the app runs, ahead of it")
    parser.add_argument("--workers", type=int, default=cores(), help="processes that compile")
    parser.add_argument("--out", type=Path, help="the table; by default the shipped one of this GPU")
    return parser


def select(every: Mapping[str, GemmJob], words: Sequence[str]) -> dict[str, GemmJob]:
    """The GEMMs whose family has all the words. Raises ValueError that lists the families where none has."""
    families = {key: key.partition(" | ")[0] for key in every}
    wanted = {key: job for key, job in every.items() if set(words) <= set(families[key].split())}
    if not wanted:
        there = "; ".join(sorted(set(families.values())))
        raise ValueError(f"no family has the words {' '.join(words)}; there are: {there}")
    return wanted


def compile_plans(wanted: Mapping[str, GemmJob], compilers: Precompile) -> int:
    """Compile all that the plan of each GEMM runs, quantizers included, and return the exit code."""
    with Bar("compiling") as bar:
        faults = compilers.faults(
            [(launch_once, job, None) for job in wanted.values()],
            lambda done: bar.draw(done / len(wanted), f"{done} of {len(wanted)} GEMMs"),
        )
    for key, fault in zip(wanted, faults, strict=True):
        if fault:
            print(f"{key}: {fault}", file=sys.stderr)
    return _WRONG if any(faults) else _DONE


class Tuner:
    """One run of the command: its arguments and its findings."""

    def __init__(self, options: argparse.Namespace, device: Device, compilers: Precompile) -> None:
        self._options, self._device, self._compilers = options, device, compilers
        self._table: Path = options.out or table_path(device.capability or (0, 0))
        self._state = TuneState.beside(self._table)
        self._measurement = measurement_of(device)

    def run(self, wanted: Mapping[str, GemmJob]) -> int:
        """Tune the unfinished GEMMs, merge into the table, and return the exit code."""
        timed = not self._options.check_only
        finished = self._state.read() if timed else {}
        read_table(self._table)  # A table that cannot be read is told before hours are spent, not after.
        todo = {key: job for key, job in wanted.items() if key not in finished}
        code, started = _DONE, time.monotonic()
        try:
            for number, (key, job) in enumerate(todo.items(), 1):
                if time.monotonic() - started >= self._options.budget:
                    code = _SPENT
                    break
                outcome = self._search(f"{number}/{len(todo)} {key}", job)
                code = _WRONG if outcome.wrong else code
                if timed:
                    finished[key] = self._plans(job, outcome)
                    self._state.append(key, self._measurement, finished[key])
                _report(key, outcome)
        except KeyboardInterrupt:
            code = _STOPPED
        if timed:
            print(f"{self._table}: {merge_into(self._table, finished)} plans", file=sys.stderr)
        if timed and code in (_DONE, _WRONG):
            self._state.clear()
        return code

    def _search(self, title: str, job: GemmJob) -> Outcome:
        with Bar(title) as bar:
            bench = TuneJob(job, self._device)
            return search(
                bench.plan,
                (job.m, job.n, job.k),
                self._device,
                compile_=lambda tries: self._compilers.faults(
                    [(launch_once, job, blocks) for blocks in tries],
                    lambda done: bar.draw(0.0, f"compiled {done} of {len(tries)}"),
                ),
                bench=bench,
                check_only=self._options.check_only,
                tell=bar.draw,
                variants=self._options.variants,
            )

    def _plans(self, job: GemmJob, outcome: Outcome) -> tuple[Tuned, ...]:
        mnk = (job.m, job.n, job.k)
        plan = simple_plan(job, self._device)
        if isinstance(plan, Unsupported):
            raise plan
        return tuple(
            Tuned(
                family=str(plan.meaning.family),
                shape=ShapeClass.of(mnk, self._device.sms),
                mnk=mnk,
                blocks=blocks,
                median_us=round(outcome.times[blocks], 3),
                measurement=self._measurement,
            )
            for blocks in outcome.fastest()
        )


def measurement_of(device: Device) -> Measurement:
    """The date, this GPU, and the versions that decide which code runs."""
    versions = {"torch": version("torch"), "triton": told_triton()}
    return Measurement(gpu=device.name, date=datetime.now(UTC).strftime("%Y-%m-%d"), versions=versions)


def _report(key: str, outcome: Outcome) -> None:
    """Print one line a GEMM on stdout, and its faults on stderr."""
    for fault in [*outcome.dropped, *outcome.wrong]:
        print(f"{key}: {fault}", file=sys.stderr)
    for blocks in outcome.fastest():
        print(f"{key}: {outcome.times[blocks]:.1f} µs, {blocks.title}", flush=True)
