"""python -m kernels.train: train a small language model under recipes, and compare losses with bf16's.

Progress goes to stderr. Results go to stdout: a line for each run, the table of gaps, the time of all runs. A
pilot finds how many steps of each run fit into --minutes. Without a GPU the tiny model is trained by the
reference's rules.

Exit codes: 0 all runs ended well, 1 one failed or could not be written, 2 bad arguments, 130 Ctrl-C, after
the table.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median, stdev

from kernels.device import choose_backend
from kernels.files import check_folder
from kernels.layer.plan import LAYER_RECIPES
from kernels.paths import TENSORS, TRAIN
from kernels.text_table import columns, text
from kernels.train.job import BF16, MOST_STEPS, ON_CPU, SIZES, TrainJob
from kernels.train.row import RUNS, SPEEDS, Speed, TrainRow
from kernels.train.variants import VARIANTS
from kernels.typed import check_whole, to_data

ALL, PUBLISHED = "all", "published"
_MINUTES = 2.0
_NAMES = (BF16, *LAYER_RECIPES, *VARIANTS)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    start = time.monotonic()
    rows: list[TrainRow | Speed] = []
    code = 0
    try:
        for row in _rows(options):
            if options.record:
                (SPEEDS if options.speed else RUNS).record(row, options.folder)
            rows.append(row)
            code |= isinstance(row, TrainRow) and bool(row.failure)
            if options.json:
                print(json.dumps(to_data(row)), flush=True)
            elif isinstance(row, TrainRow):
                print(line(row), flush=True)
    except KeyboardInterrupt:
        code = 130
    except (ValueError, MemoryError) as error:
        print(f"kernels.train: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"kernels.train: the last run was not kept: {error}", file=sys.stderr)
        return 1
    if options.json:
        return code
    if options.speed:
        print(speed_table(rows), flush=True)
    elif len(rows) > 1:
        print(table(rows), flush=True)
        print(f"{len(rows)} runs in {time.monotonic() - start:.0f} s", flush=True)
    return code


def _rows(options: argparse.Namespace) -> Iterator[TrainRow] | Iterator[Speed]:
    """Raises ValueError for bad options, an unreadable text and an unusable folder."""
    choose_backend()
    from kernels.train.run import session
    from kernels.train.speed import speeds
    from kernels.train.step import this_place
    from kernels.train.text import file_text, installed_text

    place = this_place()
    if options.speed:
        models = [options.size] if options.size else [name for name in SIZES if name != ON_CPU]
        return speeds(_names(options.recipe), models, place, installed_text())
    jobs = tuple(_jobs(options, options.size or (ON_CPU if place.emulate else next(iter(SIZES)))))
    for folder in (options.record and options.folder, options.tensors):
        if folder:
            check_folder(folder)
    text_ = file_text(options.text) if options.text else installed_text()
    return session(jobs, place, text_, options.minutes * 60, options.tensors)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernels.train", description=(__doc__ or "").split("\n")[0]
    )
    add = parser.add_argument
    add(
        "--recipe",
        nargs="+",
        default=[BF16, "deepseek_v3"],
        metavar="NAME",
        help=f"{BF16}, a published recipe, a change that breaks ({', '.join(VARIANTS)}), a recipe's line of "
        f"text; {PUBLISHED} for every published one, {ALL} for everything",
    )
    add("--size", choices=SIZES, help="of the model; s on a GPU, tiny on a CPU")
    add("--seeds", nargs="+", type=int, default=[0], metavar="S", help="(default 0)")
    add("--steps", type=int, help="of each run; left out, a pilot finds it")
    add("--minutes", type=float, default=_MINUTES, help=f"of all runs together (default {_MINUTES:g})")
    add("--last-bf16", action="store_true", help="keep the last block in bf16")
    add("--text", type=Path, help="a file to learn, in place of installed sources")
    add("--json", action="store_true", help="a row of JSON a run")
    add("--record", action="store_true", help="keep the rows for the page")
    add("--folder", type=Path, default=TRAIN, help="where --record keeps them")
    add("--speed", action="store_true", help="time a step of each recipe beside torch.compile's bf16 loop")
    what = "save crops of x, w and dy of the first run"
    add("--tensors", type=Path, nargs="?", const=TENSORS, metavar="FOLDER", help=what)
    return parser


def _jobs(options: argparse.Namespace, model: str) -> Iterator[TrainJob]:
    """Seed by seed. Raises ValueError for an unknown name and a bad number."""
    if not 0 < options.minutes <= 24 * 60:
        raise ValueError(f"--minutes is above 0 and at most a day, got {options.minutes:g}")
    if options.steps is not None:
        check_whole(1, MOST_STEPS, steps=options.steps)
    for name in _names(options.recipe):
        for seed in options.seeds:
            fields = {"model": model, "seed": seed, "steps": options.steps or 0}
            if name in VARIANTS:
                yield replace(VARIANTS[name].job, **fields)
            else:
                last = options.last_bf16 and name != BF16
                yield TrainJob(recipe=name, last_bf16=last, **fields)


def _names(names: Sequence[str]) -> tuple[str, ...]:
    several = {ALL: _NAMES, PUBLISHED: (BF16, *LAYER_RECIPES)}
    return tuple(dict.fromkeys(name for each in names for name in several.get(each, (each,))))


_HEADER = ("run", "seeds", "bits a byte", "against bf16", "spread", "ms a step", "kB/s", "quantized GEMMs")
_SPEEDS = ("model", "recipe", "ms a step", "kB/s", "× compiled bf16 loop", "quantized GEMMs", "GEMM kernels")


def line(row: TrainRow) -> str:
    name = f"{_name(row)}, {row.job.model}, seed {row.job.seed}"
    if row.failure:
        return f"{name}: {row.failure}"
    time = f", {row.step_ms:.2f} ms a step" if row.step_ms else ""
    return (
        f"{name}: {row.final_bits:.4f} bits a byte after {row.steps} steps{time}, "
        f"{row.quantized_gemms} of {row.gemms} GEMMs quantized"
    )


def table(rows: Iterable[TrainRow]) -> str:
    """Gaps by run, a mean over the seeds shared with bf16, and the spread of seeds, both in %."""
    by_name: dict[str, list[TrainRow]] = defaultdict(list)
    for row in rows:
        by_name[_name(row)].append(row)
    bf16 = {row.job.seed: row.final for row in by_name.get(BF16, ()) if row.final is not None}
    return text(columns((_cells(name, own, bf16) for name, own in by_name.items()), header=_HEADER))


def _cells(name: str, rows: list[TrainRow], bf16: dict[int, float]) -> tuple[str, ...]:
    finals = [(row.job.seed, row.final) for row in rows if row.final is not None]
    failed = len(rows) - len(finals)
    seeds = f"{len(finals)}" + (f", {failed} unfinished" if failed else "")
    bits = gap = spread = ms = rate = "–"
    if finals:
        bits = f"{fmean(row.final_bits for row in rows if row.final is not None):.4f}"
    if ratios := [final / bf16[seed] for seed, final in finals if seed in bf16]:
        gap = f"{100 * (fmean(ratios) - 1):+.2f}%"
    if len(finals) > 1:
        losses = [final for _, final in finals]
        spread = f"{100 * stdev(losses) / fmean(losses):.2f}%"
    if finals and (times := [row.step_ms for row in rows if row.step_ms]):
        ms, rate = f"{median(times):.2f}", f"{rows[0].job.size_data.bytes_per_step / median(times):.1f}"
    return (name, seeds, bits, gap, spread, ms, rate, str(rows[0].quantized_gemms))


def _name(row: TrainRow) -> str:
    switches = [("last block bf16", row.job.last_bf16), ("head too", row.job.head)]
    return ", ".join([row.job.recipe_title, *(word for word, on in switches if on)])


def speed_table(rows: Iterable[Speed]) -> str:
    return text(columns(map(_speed_cells, rows), header=_SPEEDS))


def _speed_cells(one: Speed) -> tuple[str, ...]:
    rate = SIZES[one.model].bytes_per_step / one.step_ms
    times = f"{one.step_ms:.2f}", f"{rate:.0f}", f"{one.times_compiled:.2f}"
    return (one.model, one.recipe, *times, str(one.quantized_gemms), str(one.gemm_kernels))


if __name__ == "__main__":
    sys.exit(main())
