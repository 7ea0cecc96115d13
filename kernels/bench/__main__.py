"""python -m kernels.bench: quantize, multiply, check and time GEMMs of a recipe, beside torch, in a terminal.

Progress goes to stderr, results to stdout: a line for each, then geometric means. With --ceilings, the
command measures the best rates of this GPU instead. With --eager, it times calls on the host. With
--quantizers, it times quantizers beside a copy and torch.compile.

Exit codes: 0 all measured, 1 some refused or not recorded, 2 bad arguments, 130 stopped by Ctrl-C.
Measurements made before the stop are kept.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from fp8core.inputs import OFFERED, InputKind
from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import RECIPES
from kernels.bench.ceilings import CeilingsJob
from kernels.bench.job import Cache, GemmJob, Into
from kernels.bench.quantizers import command as quantizers
from kernels.bench.records import record, recorded_rows
from kernels.bench.row import Row
from kernels.bench.shapes import CUBE, SKINNY, STANDARD, shape_text
from kernels.bench.table import HEADER, Refused, ceilings_table, line, summary_table
from kernels.device import Unsupported, choose_backend, current_device, slowed, told_triton
from kernels.faults import first_line, triton_errors
from kernels.files import check_folder
from kernels.gemm.meaning import Summation
from kernels.paths import RECORDS
from kernels.progress import Bar
from kernels.typed import to_data

ALL = "all"
_RUNS, _TURN_MS = 20, 20
_SUSTAINED_RUNS, _SUSTAINED_TURN_MS, _SUSTAINED_SETTLE_MS = 7, 250, 100

_MODES = ("recorded", "ceilings", "eager", "quantizers")
"""Options that say what is measured. Where none is given, it is one GEMM."""
_OF_A_GEMM = (
    *("recipe", "matmul", "shape", "shapes", "skinny", "input", "seed", "accumulation", "accumulate"),
    *("cache", "runs", "turn_ms", "settle_ms", "sustained"),
)
"""Options that --recorded takes from the recorded rows."""

Shape = tuple[int, ...] | LayerShape


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        _check(options, parser)
        if options.ceilings:
            return _ceilings(options)
        if options.eager:
            return _eager(options)
        if options.quantizers:
            return quantizers.run(options)
        jobs = _recorded_jobs() if options.recorded else tuple(_jobs(options))
        choose_backend()
        device = current_device()
        if note := slowed(device.triton, device.capability):
            print(f"kernels.bench: {note}", file=sys.stderr)
        results = _run(jobs, options)
    except KeyboardInterrupt:
        return 130
    except (ValueError, MemoryError) as error:
        print(f"kernels.bench: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        kept = "the file is as it was, and nothing more was measured"
        print(f"kernels.bench: the last measurement was not recorded: {error}; {kept}", file=sys.stderr)
        return 1
    return 1 if any(isinstance(result, Refused) for result in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernels.bench", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--recipe", default="deepseek_v3", choices=[*RECIPES, ALL])
    parser.add_argument("--matmul", default="fprop", choices=[*MATMULS, ALL])
    parser.add_argument(
        "--shape", nargs=3, type=int, action="append", metavar=("M", "N", "K"), help="repeat for several"
    )
    parser.add_argument(
        "--shapes",
        action="store_true",
        help=f"the standard set: {'; '.join(map(shape_text, STANDARD))}",
    )
    parser.add_argument(
        "--skinny", action="store_true", help=f"few tokens: {'; '.join(map(shape_text, SKINNY))}"
    )
    parser.add_argument("--input", default=InputKind.GAUSSIAN.value, choices=[kind.value for kind in OFFERED])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--accumulation", default=Summation.RECIPE.value, choices=[kind.value for kind in Summation]
    )
    parser.add_argument(
        "--accumulate", action="store_true", help="add the product into D where the matmul writes fp32"
    )
    _add_timing(parser)
    parser.add_argument(
        "--recorded", action="store_true", help="every GEMM of assets/bench/, timed as its row was"
    )
    parser.add_argument(
        "--ceilings", action="store_true", help="measure what this GPU reaches: copy, bf16 and fp8"
    )
    parser.add_argument(
        "--eager", action="store_true", help="time calls on the host, in microseconds, beside torch's"
    )
    quantizers.add_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of a table")
    parser.add_argument(
        "--record", action="store_true", help="append what a GPU gave to assets/bench/<gpu>.jsonl as it comes"
    )
    parser.add_argument("--folder", type=Path, default=RECORDS, help="where --record appends")
    return parser


def _add_timing(parser: argparse.ArgumentParser) -> None:
    """Add the options on how each GEMM is timed."""
    parser.add_argument(
        "--cache",
        default=Cache.HOT.value,
        choices=[*(cache.value for cache in Cache), ALL],
        help="hot: back to back over rotated buffers; cold: the L2 flushed before each launch",
    )
    parser.add_argument(
        "--cold", action="store_const", dest="cache", const=Cache.COLD.value, help="short for --cache cold"
    )
    parser.add_argument("--runs", type=int, help=f"measured rounds of each contender (default {_RUNS})")
    parser.add_argument(
        "--turn-ms", type=int, help=f"how long a contender's hot turn is in a round (default {_TURN_MS})"
    )
    parser.add_argument(
        "--settle-ms",
        type=int,
        help="how long before a turn is timed: the clock still has to leave the last one's (default 0)",
    )
    parser.add_argument(
        "--sustained",
        action="store_true",
        help=f"{_SUSTAINED_RUNS} rounds of {_SUSTAINED_TURN_MS} ms turns, {_SUSTAINED_SETTLE_MS} ms late: "
        "the power limit shows",
    )


def _check(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Raise ValueError for options that do not go together, and a folder in which nothing can be kept."""
    asked = [name for name in _MODES if getattr(options, name)]
    if len(asked) > 1:
        raise ValueError(f"ask for one of {' and '.join(map(_flag, asked))} at a time")
    given = [name for name in _OF_A_GEMM if getattr(options, name) != parser.get_default(name)]
    if options.recorded and given:
        raise ValueError(f"--recorded measures each GEMM as its row was: leave out {_flag(given[0])}")
    if options.record:
        check_folder(options.folder)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _jobs(options: argparse.Namespace) -> Iterator[GemmJob]:
    """The jobs asked for: shapes outermost, recipes and caches innermost, so that neighbors share inputs.

    Raises ValueError for a bad field, and where there is nothing to add into.
    """
    adds = 0
    for shape, matmul, recipe in product(_shapes(options), *_matmuls_and_recipes(options)):
        m, n, k = MATMULS[matmul].mnk(shape) if isinstance(shape, LayerShape) else shape
        job = GemmJob(
            recipe=recipe,
            matmul=matmul,
            m=m,
            n=n,
            k=k,
            input=InputKind(options.input),
            seed=options.seed,
            accumulation=Summation(options.accumulation),
            runs=_given(options.runs, _SUSTAINED_RUNS if options.sustained else _RUNS),
            turn_ms=_given(options.turn_ms, _SUSTAINED_TURN_MS if options.sustained else _TURN_MS),
            settle_ms=_given(options.settle_ms, _SUSTAINED_SETTLE_MS if options.sustained else 0),
        )
        if options.accumulate and job.writes_fp32:
            job = replace(job, into=Into.ACCUMULATE)
            adds += 1
        for cache in Cache if options.cache == ALL else (Cache(options.cache),):
            yield replace(job, cache=cache)
    if options.accumulate and not adds:
        raise ValueError("--accumulate adds into an fp32 D, which only Wgrad writes: ask for --matmul wgrad")


def _recorded_jobs() -> tuple[GemmJob, ...]:
    """Every GEMM that is recorded, timed as it was, once. Raises ValueError where none is recorded."""
    jobs = tuple(dict.fromkeys(row.job for row in recorded_rows(RECORDS)))
    if not jobs:
        raise ValueError(f"--recorded measures what {RECORDS} holds, and that is nothing")
    return jobs


def _shapes(options: argparse.Namespace) -> list[Shape]:
    shapes: list[Shape] = [tuple(shape) for shape in options.shape or ()]
    shapes += STANDARD if options.shapes else ()
    shapes += SKINNY if options.skinny else ()
    return shapes or [CUBE]


def _matmuls_and_recipes(options: argparse.Namespace) -> tuple[Sequence[str], Sequence[str]]:
    return (
        tuple(MATMULS) if options.matmul == ALL else (options.matmul,),
        tuple(RECIPES) if options.recipe == ALL else (options.recipe,),
    )


def _given(value: int | None, default: int) -> int:
    return default if value is None else value


def _run(jobs: Sequence[GemmJob], options: argparse.Namespace) -> list[Row | Refused]:
    from kernels.bench.measure import measure

    results: list[Row | Refused] = []
    if not options.json:
        print(HEADER)
    for number, job in enumerate(jobs):
        with Bar(f"{number + 1}/{len(jobs)} {job.title}") as bar:
            try:
                result: Row | Refused = measure(job, progress=bar.draw, stopped=lambda: False)
            except (Unsupported, MemoryError) as error:
                result = Refused(job, str(error))
            except tuple(triton_errors()) as error:
                reason = f"Triton {told_triton()} does not compile a kernel: {first_line(error)}"
                result = Refused(job, reason)
        results.append(result)
        _report(result, as_json=options.json)
        if options.record and isinstance(result, Row):
            record(result, options.folder)
    if not options.json and (table := summary_table(r for r in results if isinstance(r, Row))):
        print(table, flush=True)
    return results


def _report(result: Row | Refused, *, as_json: bool) -> None:
    if as_json:
        text = json.dumps(
            to_data(result)
            if isinstance(result, Row)
            else {"job": to_data(result.job), "refused": result.reason}
        )
    else:
        text = line(result)
    print(text, flush=True)


def _ceilings(options: argparse.Namespace) -> int:
    """Measure and print the best rates of this GPU. Raises Unsupported where there is no GPU."""
    choose_backend()
    from kernels.bench.ceilings.measure import measure

    job = CeilingsJob() if options.runs is None else CeilingsJob(runs=options.runs)
    with Bar(job.title) as bar:
        found = measure(job, progress=bar.draw, stopped=lambda: False)
    print(json.dumps(to_data(found)) if options.json else ceilings_table(found), flush=True)
    if options.record:
        record(found, options.folder)
    return 0


def _eager(options: argparse.Namespace) -> int:
    """Print the host time of eager calls as they are measured. Raises Unsupported where there is no GPU."""
    choose_backend()
    from kernels.bench import eager

    eager.require_gpu()
    if not options.json:
        print(eager.HEADER)
    matmuls, recipes = _matmuls_and_recipes(options)
    for found in eager.host_times(recipes, matmuls):
        print(json.dumps(to_data(found)) if options.json else eager.line(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
