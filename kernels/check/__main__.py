"""python -m kernels.check: does FP8 work on this GPU? Every GPU in turn, a verdict a line.

Progress goes to stderr, the report to stdout or to a file. Exit codes: 0 all well, 1 something failed or
could not be run, 2 no FP8 here, 64 bad arguments, 130 stopped by Ctrl-C, with the report so far. With several
GPUs, one that fails decides, then one that works. A check that stands still for five minutes ends as failed.
Other processes compile ahead of it, until it takes times.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import NoReturn

from kernels.check.machine import Machine
from kernels.check.render import markdown, parts
from kernels.check.report import CheckJob, Report, document
from kernels.check.run import Ahead, Plan, Watch, given_up, run
from kernels.check.soak import CASES, MAX_CASES, soak_steps
from kernels.check.steps import check_steps
from kernels.compiled import use_compiled
from kernels.cores import processes_beside_check
from kernels.device import missing_package
from kernels.files import check_folder, replace_file
from kernels.measure.jobs import MAX_SEED
from kernels.nvml import driver
from kernels.paths import TOP
from kernels.precompile import Precompile
from kernels.progress import Bar
from kernels.text_table import show
from kernels.typed import check_whole, from_data

USAGE, STOPPED = 64, 130
_STDOUT = "-"
_MOST_MINUTES = 10_000
_MOST_PROCESSES = 16
_SEEDS_A_PROCESS = 1_000_000


def main(
    arguments: Sequence[str] | None = None, *, machine: Machine | None = None, plan: Plan = check_steps
) -> int:
    try:
        options = _parser().parse_args(arguments)
        _check(options)
        options.helpers = processes_beside_check() // options.processes
    except ValueError as error:
        print(f"kernels.check: {error}", file=sys.stderr)
        return USAGE
    reports: list[Report] = []
    try:
        with ExitStack() as stack:
            others = [stack.enter_context(_other(options, number)) for number in range(1, options.processes)]
            early = stack.enter_context(early_pool(options.helpers) or nullcontext())
            _run(options, machine or Machine(), plan, reports, early)
            for reports_of_other in others:
                for report in reports_of_other(go_on=reports[-1].finished):
                    _add(options, reports, report)
    except KeyboardInterrupt:
        print("kernels.check: stopped before the machine was read", file=sys.stderr)
        return STOPPED
    except (ValueError, OSError) as error:
        print(f"kernels.check: {error}", file=sys.stderr)
        return USAGE
    except RuntimeError as error:
        print(f"kernels.check: {error}", file=sys.stderr)
        return max(1, _end(options, reports))
    return _end(options, reports)


@contextmanager
def _other(options: argparse.Namespace, number: int) -> Iterator[Callable[..., Iterator[Report]]]:
    """Another process that soaks the same GPUs, with seeds of its own: a function that gives its reports."""
    seed = (options.seed + number * _SEEDS_A_PROCESS) % (MAX_SEED + 1)
    own = {"soak": options.soak, "seed": seed, "minutes": options.minutes, "device": options.device}
    command = [sys.executable, "-m", "kernels.check", "--json"]
    command += [f"--{name}={value}" for name, value in own.items() if value is not None]
    with TemporaryFile("w+") as said, Popen(command, cwd=TOP, stdout=PIPE, stderr=said, text=True) as other:

        def reports(*, go_on: bool) -> Iterator[Report]:
            if not go_on:
                other.send_signal(signal.SIGINT)
            text, _ = other.communicate()
            if not text:
                said.seek(0)
                last = (said.read().strip().splitlines() or ["it said nothing"])[-1]
                title = f"the soak of seed {seed:,} in another process"
                raise RuntimeError(f"{title} ended with code {other.returncode}: {last}")
            for report in json.loads(text)["reports"]:
                del report["exit_code"]
                yield from_data(Report, report)

        try:
            yield reports
        finally:
            other.kill()


class _Parser(argparse.ArgumentParser):
    """Reports bad arguments in one sentence; argparse's exit code 2 has another meaning here."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m kernels.check",
        description=(__doc__ or "").split("\n")[0],
        epilog=(__doc__ or "").partition("\n\n")[2],
    )
    add = parser.add_argument
    number = partial(add, type=int, metavar="N")
    add("--quick", action="store_true", help="Fprop only")
    number("--device", help="one GPU, counted from 0, instead of all in turn")
    soak = f"launch N random GEMMs and quantizers (default {CASES}) thousands of times each, instead"
    number("--soak", nargs="?", const=CASES, help=soak)
    number("--seed", default=0, help="draws the cases of --soak (default 0)")
    number("--minutes", help="soak the next seed, a report a seed, until N minutes have passed")
    number("--processes", default=1, help="soak in N processes at once, on seeds of their own")
    for name, what in (("--json", "JSON (Report in kernels/check/report.py)"), ("--markdown", "Markdown")):
        add(
            name,
            nargs="?",
            const=_STDOUT,
            metavar="FILE",
            help=f"the report as {what}, into FILE beside the table, or without FILE instead of it",
        )
    return parser


def _check(options: argparse.Namespace) -> None:
    check_whole(0, MAX_SEED, seed=options.seed)
    check_whole(1, _MOST_PROCESSES, processes=options.processes)
    if options.soak is None and (options.seed or options.minutes is not None or options.processes > 1):
        raise ValueError("--seed, --minutes and --processes go with --soak")
    if options.minutes is not None:
        check_whole(1, _MOST_MINUTES, minutes=options.minutes)
    if options.soak is not None:
        check_whole(1, MAX_CASES, soak=options.soak)
    if options.json == options.markdown == _STDOUT:
        raise ValueError("--json and --markdown cannot both go to stdout; name a file for one of them")
    for name in (options.json, options.markdown):
        if name not in (None, _STDOUT):
            check_folder(Path(name).parent)
            if Path(name).is_dir():
                raise ValueError(f"{name} is a folder: name a file for the report")


def early_pool(processes: int) -> Precompile | None:
    """Processes that import torch while this one does; none without a GPU, and none where kernels are
    compiled.
    """
    folder = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache")
    is_cold = not (folder.is_dir() and any(folder.iterdir()))
    is_able = processes > 0 and missing_package() is None and driver().uuids
    return Precompile(processes, knows_device=False) if is_cold and is_able else None


def _run(
    options: argparse.Namespace, machine: Machine, plan: Plan, reports: list[Report], early: Precompile | None
) -> None:
    def give_up(report: Report, after_s: float) -> None:
        _add(options, reports, given_up(report, after_s))
        code = _end(options, reports)
        sys.stdout.flush()
        os._exit(code)

    devices = range(max(1, machine.gpus())) if options.device is None else (options.device,)
    for device in devices:
        job = CheckJob(quick=options.quick, device=device)
        until = time.monotonic() + 60 * (options.minutes or 0)
        for seed in count(options.seed):
            steps = plan if options.soak is None else partial(soak_steps, seed=seed, count=options.soak)
            helped, early = partial(Ahead, processes=options.helpers, early=early), None
            with Bar(f"GPU {device}" if len(devices) > 1 else "") as bar, Watch(bar.draw, give_up) as watch:
                report = run(job, machine, plan=steps, progress=watch.hear, helped=helped)
            _add(options, reports, report)
            if not report.finished:
                return
            if time.monotonic() >= until:
                break


def _add(options: argparse.Namespace, reports: list[Report], report: Report) -> None:
    reports.append(report)
    if _STDOUT not in (options.json, options.markdown):
        show(*parts(report))


def _end(options: argparse.Namespace, reports: Sequence[Report]) -> int:
    """Write the reports, each file as a whole or not at all. Returns the exit code of the command."""
    texts = {options.json: document, options.markdown: lambda reports: "\n".join(map(markdown, reports))}
    try:
        for name, text_of in texts.items():
            if name == _STDOUT:
                print(text_of(reports), end="", flush=True)
            elif name is not None:
                replace_file(Path(name), text_of(reports).encode())
    except OSError as error:
        print(f"kernels.check: the report could not be written: {error}", file=sys.stderr)
        return 1
    codes = {report.exit_code for report in reports}
    return next((code for code in (STOPPED, 1, 0) if code in codes), 2)


if __name__ == "__main__":
    use_compiled()
    sys.exit(main())
