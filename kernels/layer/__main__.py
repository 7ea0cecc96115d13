"""python -m kernels.layer: time a layer's forward and backward kernel by kernel, in bf16 and in FP8.

The step is made in several ways that take turns: bf16, casts by torch's operations, casts by torch.compile,
ours, ours with weights quantized before, and the matmuls alone. Progress goes to stderr, results to stdout.

Exit codes: 0 all measured, 1 some left out or not recorded, 2 bad arguments, 130 stopped by Ctrl-C.
Measurements made before the stop are kept.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from fp8core.recipes import RECIPES
from kernels.device import Unsupported, choose_backend
from kernels.faults import first_line, triton_errors
from kernels.files import check_folder
from kernels.layer.timeline.job import Block, TimelineJob, Way
from kernels.layer.timeline.records import record_timeline
from kernels.layer.timeline.row import Timeline
from kernels.layer.timeline.table import lines
from kernels.paths import LAYER_RECORDS
from kernels.progress import Bar
from kernels.typed import to_data

ALL = "all"
TOKENS = (1024, 4096, 16384)
FEATURES = (4096, 14336)
"""In and out of a linear layer, in and hidden of an MLP: those of an 8B model."""
_S_A_MINUTE = 60.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        jobs = tuple(_jobs(options))
        if options.minutes is not None and not options.minutes > 0:
            raise ValueError(f"--minutes is above 0, got {options.minutes:g}")
        if options.record:
            check_folder(options.folder)
        choose_backend()
        return _run(jobs, options)
    except KeyboardInterrupt:
        return 130
    except (ValueError, MemoryError) as error:
        print(f"kernels.layer: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        kept = "the file is as it was, and nothing more was measured"
        print(f"kernels.layer: the last measurement was not recorded: {error}; {kept}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernels.layer", description=(__doc__ or "").split("\n")[0]
    )
    recipes = [*RECIPES, ALL]
    parser.add_argument("--recipe", nargs="+", default=["deepseek_v3"], choices=recipes, metavar="RECIPE")
    parser.add_argument("--tokens", nargs="+", type=int, default=TOKENS)
    parser.add_argument(
        "--shape",
        nargs=2,
        type=int,
        default=FEATURES,
        metavar=("IN", "OUT"),
        help="features of the layer; OUT of an MLP are its hidden ones (default: %(default)s)",
    )
    parser.add_argument("--layer", default=ALL, choices=[*(block.value for block in Block), ALL])
    parser.add_argument("--way", nargs="+", default=[ALL], choices=[*(way.value for way in Way), ALL])
    parser.add_argument("--runs", type=int, default=7, help="rounds of turns (default: %(default)s)")
    parser.add_argument("--turn-ms", type=int, default=20, help="a way's turn (default: %(default)s)")
    parser.add_argument("--minutes", type=float, help="begin no job after so many minutes")
    parser.add_argument("--kernels", action="store_true", help="a line for each kernel, too")
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of a table")
    parser.add_argument(
        "--record", action="store_true", help="append rows to assets/layer/<gpu>.jsonl as they come"
    )
    parser.add_argument("--folder", type=Path, default=LAYER_RECORDS, help="where --record appends")
    return parser


def _jobs(options: argparse.Namespace) -> Iterator[TimelineJob]:
    """The jobs asked for: recipes outermost. Raises ValueError for a size out of range."""
    recipes = RECIPES if ALL in options.recipe else dict.fromkeys(options.recipe)
    blocks = Block if options.layer == ALL else (Block(options.layer),)
    for recipe, block, tokens in product(recipes, blocks, options.tokens):
        yield TimelineJob(
            block=block,
            recipe=recipe,
            tokens=tokens,
            in_=options.shape[0],
            out=options.shape[1],
            rounds=options.runs,
            turn_ms=options.turn_ms,
        )


def _run(jobs: Sequence[TimelineJob], options: argparse.Namespace) -> int:
    from kernels.layer.timeline.measure import measure, require_gpu

    require_gpu()
    ways = tuple(Way) if ALL in options.way else tuple(map(Way, options.way))
    started, missing = time.monotonic(), 0
    for number, job in enumerate(jobs):
        if options.minutes is not None and time.monotonic() - started > options.minutes * _S_A_MINUTE:
            left = f"{len(jobs) - number} of {len(jobs)} jobs were not begun"
            print(f"kernels.layer: {options.minutes:g} minutes are over: {left}", file=sys.stderr)
            return 1
        try:
            with Bar(f"{number + 1}/{len(jobs)} {job.title}") as bar:
                found = measure(
                    job,
                    progress=lambda done, note, *_: bar.draw(done, note),
                    stopped=lambda: False,
                    ways=ways,
                )
        except (Unsupported, MemoryError, *triton_errors()) as error:
            print(f"kernels.layer: {job.title}: {first_line(error)}", file=sys.stderr)
            missing += 1
            continue
        _report(found, options)
        missing += len(found.left_out)
    return 1 if missing else 0


def _report(found: Timeline, options: argparse.Namespace) -> None:
    """Print what was found, and record it where that is wanted."""
    if options.json:
        for row in found.rows:
            print(json.dumps(to_data(row)), flush=True)
    else:
        print("\n".join(lines(found, kernels=options.kernels)) + "\n", flush=True)
    if options.record:
        for row in found.rows:
            record_timeline(row, options.folder)


if __name__ == "__main__":
    sys.exit(main())
