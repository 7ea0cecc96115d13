"""python -m kernels.tune: find the best blocks for each family of GEMMs and shape class on this GPU.

Every candidate is compiled in a worker process, checked bit for bit, and only then timed, in turns with the
others. Hot and cold launches have equal weight. Finished results are kept: after Ctrl-C, the same command
continues where it stopped. Progress goes to stderr.

With --random, GEMMs of random shapes are timed beside torch's best, and --fit fits the cost model to them.

Exit codes: 0 done, 1 wrong bits, no code or a file not written, 2 bad arguments or no GPU, 3 out of budget,
130 Ctrl-C.
"""

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from kernels.bench.job import GemmJob
from kernels.cores import cores
from kernels.device import (
    Device,
    DeviceKind,
    Unsupported,
    choose_backend,
    current_device,
    slowed,
    told_triton,
)
from kernels.gemm.blocks import Body
from kernels.gemm.shape_class import ShapeClass
from kernels.gemm.tuned import Measurement, Tuned, read_table, table_path
from kernels.progress import Bar
from kernels.tune.compilers import Compilers
from kernels.tune.jobs import SHAPES, distinct_jobs, jobs, simple_plan
from kernels.tune.random_options import add_arguments, check
from kernels.tune.search import Found, search
from kernels.tune.state import TuneState, merge_into

_DONE, _WRONG, _REFUSED, _SPENT, _STOPPED = 0, 1, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        check(options)
        choose_backend()
        device = current_device()
        if device.kind is not DeviceKind.GPU:
            raise Unsupported("there is no CUDA GPU here, and blocks are tuned by a GPU's own times")
        if note := slowed(device.triton, device.capability):
            print(f"kernels.tune: {note}", file=sys.stderr)
        if options.random or options.fit:
            from kernels.tune.random_main import run

            return run(options, device, measurement_of(device))
        shapes = {name: SHAPES[name] for name in options.shapes}
        wanted = select(jobs(device, shapes), options.families)
        from kernels.tune.job import launch_once

        with Compilers(launch_once, options.workers) as compilers:
            if options.compile:
                return compile_plans(distinct_jobs(device, shapes), compilers)
            return Tuner(options, device, compilers).run(wanted)
    except KeyboardInterrupt:
        return _STOPPED
    except ValueError as error:
        print(f"kernels.tune: {error}", file=sys.stderr)
        return _REFUSED
    except OSError as error:
        print(f"kernels.tune: a file could not be kept and is as it was: {error}", file=sys.stderr)
        return _WRONG


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernels.tune", description=(__doc__ or "").split("\n")[0]
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
        "--bodies",
        nargs="+",
        type=Body,
        choices=[*Body],
        default=[],
        metavar="NAME",
        help="search these anew, the table's blocks of the others beside: "
        + ", ".join(body.value for body in Body),
    )
    parser.add_argument("--check-only", action="store_true", help="check every candidate's bits, time none")
    parser.add_argument("--compile", action="store_true", help="only compile what the app runs, ahead of it")
    parser.add_argument("--workers", type=int, default=cores(), help="processes that compile")
    add_arguments(parser)
    parser.add_argument("--out", type=Path, help="the table; by default the shipped one of this GPU")
    return parser


def select(found: Mapping[str, GemmJob], words: Sequence[str]) -> dict[str, GemmJob]:
    """The GEMMs whose family has all the words. Raises ValueError that lists the families where none has."""
    families = {key: key.partition(" | ")[0] for key in found}
    wanted = {key: job for key, job in found.items() if set(words) <= set(families[key].split())}
    if not wanted:
        there = "; ".join(sorted(set(families.values())))
        raise ValueError(f"no family has the words {' '.join(words)}; there are: {there}")
    return wanted


def compile_plans(wanted: Mapping[str, GemmJob], compilers: Compilers) -> int:
    """Compile all that the plan of each GEMM runs, quantizers included, and return the exit code."""
    with Bar("compiling") as bar:
        faults = compilers.faults(
            [(job, None) for job in wanted.values()],
            lambda done: bar.draw(done / len(wanted), f"{done} of {len(wanted)} GEMMs"),
        )
    for key, fault in zip(wanted, faults, strict=True):
        if fault:
            print(f"{key}: {fault}", file=sys.stderr)
    return _WRONG if any(faults) else _DONE


class Tuner:
    """One run of the command: its arguments and its findings."""

    def __init__(self, options: argparse.Namespace, device: Device, compilers: Compilers) -> None:
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
                found = self._search(f"{number}/{len(todo)} {key}", job)
                code = _WRONG if found.wrong else code
                if timed:
                    finished[key] = self._plans(job, found)
                    self._state.append(key, self._measurement, finished[key])
                _report(key, found)
        except KeyboardInterrupt:
            code = _STOPPED
        if timed:
            print(f"{self._table}: {merge_into(self._table, finished)} plans", file=sys.stderr)
        if timed and code in (_DONE, _WRONG):
            self._state.clear()
        return code

    def _search(self, title: str, job: GemmJob) -> Found:
        from kernels.tune.job import TuneJob

        with Bar(title) as bar:
            bench = TuneJob(job, self._device)
            return search(
                bench.plan,
                (job.m, job.n, job.k),
                self._device,
                compile_=lambda tries: self._compilers.faults(
                    [(job, blocks) for blocks in tries],
                    lambda done: bar.draw(0.0, f"compiled {done} of {len(tries)}"),
                ),
                bench=bench,
                check_only=self._options.check_only,
                tell=bar.draw,
                bodies=self._options.bodies,
            )

    def _plans(self, job: GemmJob, found: Found) -> tuple[Tuned, ...]:
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
                median_us=round(found.times[blocks], 3),
                measurement=self._measurement,
            )
            for blocks in found.fastest()
        )


def measurement_of(device: Device) -> Measurement:
    """The date, this GPU, and the versions that decide which code runs."""
    versions = {"torch": version("torch"), "triton": told_triton()}
    return Measurement(gpu=device.name, date=datetime.now(UTC).strftime("%Y-%m-%d"), versions=versions)


def _report(key: str, found: Found) -> None:
    """Print one line a GEMM on stdout, and its faults on stderr."""
    for fault in [*found.dropped, *found.wrong]:
        print(f"{key}: {fault}", file=sys.stderr)
    for blocks in found.fastest():
        print(f"{key}: {found.times[blocks]:.1f} µs, {blocks.title}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
