"""Parts of the command lines: common options, the device, and the loop over a list of jobs.

Each job is measured, printed and recorded before the next begins: Ctrl-C keeps what was measured.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import Device, Unsupported, choose_backend, current_device, slowed, triton_release
from kernels.faults import first_line, triton_errors
from kernels.files import check_folder
from kernels.measure.jobs import GemmJob
from kernels.measure.records import GpuFiles
from kernels.measure.rows import Row
from kernels.paths import RECORDS
from kernels.progress import Bar
from kernels.typed import to_data

ALL = "all"
_S_A_MINUTE = 60.0
Key = tuple[str, ...]

Columns = Sequence[tuple[str, int]]
"""Names and widths. Widths are set: rich's tables need all rows, and each of these takes up to minutes."""


def parser_of(name: str, what: str | None) -> argparse.ArgumentParser:
    """what: a text, of which the first line describes the command."""
    first, *_ = (what or "").split("\n")
    return argparse.ArgumentParser(prog=f"python -m kernels.measure {name}", description=first)


def job_parser(name: str, what: str, folder: Path = RECORDS) -> argparse.ArgumentParser:
    """A parser with the options that run_jobs reads. folder: the default of --record."""
    parser = parser_of(name, what)
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of a table")
    parser.add_argument("--record", action="store_true", help="append a GPU's rows to files as they come")
    parser.add_argument("--folder", type=Path, default=folder, help="where --record appends")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no job after so many minutes")
    return parser


def add_recipe(parser: argparse.ArgumentParser) -> argparse.Action:
    return parser.add_argument("--recipe", default="deepseek_v3", choices=[*RECIPES, ALL])


def add_matmul(parser: argparse.ArgumentParser) -> argparse.Action:
    return parser.add_argument("--matmul", default="fprop", choices=[*MATMULS, ALL])


def selected(option: str, names: Iterable[str]) -> Sequence[str]:
    return tuple(names) if option == ALL else (option,)


def check_above_0(flag: str, value: float) -> None:
    if not value > 0:
        raise ValueError(f"{flag} is above 0, got {value:g}")


def choose_device(*, needs_gpu: bool = True) -> Device:
    """The device in use; stderr says if this Triton makes kernels slow. Raises as require_gpu."""
    choose_backend()
    from kernels.measure.machine import require_gpu  # it loads torch

    device = require_gpu() if needs_gpu else current_device()
    if note := slowed(device.triton, device.capability):
        print(f"kernels.measure: {note}", file=sys.stderr)
    return device


def line_of(cells: Sequence[str], table: Columns) -> str:
    both = zip(cells, table, strict=False)
    return "".join(f"{cell:<{max(width, len(cell) + 1)}}" for cell, (_, width) in both).rstrip()


def figure(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"


def grouped(rows: Iterable[Row], key: Callable[[GemmJob], Key]) -> dict[Key, list[Row]]:
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row.job), []).append(row)
    return groups


def run_jobs(
    options: argparse.Namespace,
    jobs: Iterable[Any],
    measure: Callable[..., Any],
    files: GpuFiles,
    *,
    show: Callable[[Any], str],
    table: Columns = (),
    refused: Callable[[Any, str], str] = lambda job, reason: f"{job.title}: {reason}",
    summary: Callable[[Sequence[Any]], str] = lambda rows: "",
    needs_gpu: bool = True,
) -> int:
    """Measure jobs; the exit code. Raises ValueError for bad arguments, and OSError for a row not recorded.

    - measure: gives a job's row, or a result with `rows` and `left_out`.
    - show, refused: a result as text, a line of `table` if there is one; a job with why it is refused.
    - summary: of all rows, after their texts.
    """
    if options.record:
        check_folder(options.folder)
    check_above_0("--minutes", options.minutes)
    jobs, rows, missing = tuple(jobs), [], 0
    choose_device(needs_gpu=needs_gpu)
    until = time.monotonic() + options.minutes * _S_A_MINUTE
    if table and jobs and not options.json:
        print(line_of([name for name, _ in table], table), flush=True)
    for place, job in enumerate(jobs):
        if time.monotonic() > until:
            left = f"{len(jobs) - place} of {len(jobs)} jobs were not begun"
            print(f"kernels.measure: {options.minutes:g} minutes are over: {left}", file=sys.stderr)
            missing += 1
            break
        try:
            with Bar(f"{place + 1}/{len(jobs)} {job.title}") as bar:
                result = measure(job, progress=bar.draw, stopped=lambda: False)
        except (Unsupported, MemoryError, *triton_errors()) as error:
            missing += 1
            reason = f"Triton {triton_release()} does not compile a kernel: {first_line(error)}"
            reason = str(error) if isinstance(error, (Unsupported, MemoryError)) else reason
            data = {"job": to_data(job), "refused": reason}
            print(json.dumps(data) if options.json else refused(job, reason), flush=True)
            continue
        missing += len(getattr(result, "left_out", ()))
        own = getattr(result, "rows", (result,))
        rows += own
        texts = [json.dumps(to_data(row)) for row in own] if options.json else [show(result)]
        print(*texts, sep="\n", flush=True)
        if options.record:
            for row in own:
                files.record(row, options.folder)
    if not options.json and (means := summary(rows)):
        print(means, flush=True)
    return int(missing > 0)
