"""Commands that measure a list of jobs: GEMMs, quantizers, ceilings, layers.

Each job is measured, printed and recorded before the next begins: Ctrl-C keeps what was measured.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from fp8core.inputs import OFFERED, InputKind
from fp8core.linear import MATMULS, LayerShape, LayerTensor
from fp8core.recipes import RECIPES
from kernels.device import Device, Unsupported, choose_backend, current_device, slowed, triton_release
from kernels.faults import first_line, triton_errors
from kernels.files import check_folder
from kernels.gemm.numerics import Summation
from kernels.layer.plan import LAYER_RECIPES
from kernels.layer.timeline.row import TIMELINES, Block, KernelRun, LayerRow, Role, Timeline, TimelineJob, Way
from kernels.measure.jobs import (
    CUBE,
    SKINNY,
    STANDARD,
    Cache,
    CeilingsJob,
    GemmJob,
    Into,
    QuantizerJob,
    QuantizerKernel,
    shape_text,
)
from kernels.measure.records import CEILINGS, GEMMS, QUANTIZERS, GpuFiles
from kernels.measure.table import header, line, means_table, refused_line
from kernels.paths import LAYER_RECORDS, RECORDS
from kernels.progress import Bar
from kernels.text_table import columns, text
from kernels.typed import to_data

ALL = "all"
_S_A_MINUTE = 60.0
_SUSTAINED = {"runs": 7, "turn_ms": 250, "settle_ms": 100}
_OF_A_GEMM = (
    *("recipe", "matmul", "shape", "shapes", "skinny", "input", "seed", "accumulation", "accumulate"),
    *("cache", "runs", "turn_ms", "settle_ms", "sustained"),
)
_SHAPES = {
    QuantizerKernel.QUANTIZE: (8192, 8192),
    QuantizerKernel.SWIGLU: (4096, 14336),
    QuantizerKernel.SWIGLU_BACKWARD: (4096, 28672),
    QuantizerKernel.RMS_NORM: (8192, 4096),
}
_TENSORS = {QuantizerKernel.SWIGLU_BACKWARD: LayerTensor.DY}


@dataclass(frozen=True, kw_only=True)
class Command:
    """A kind of job on the command line.

    - measured_by: `module.function` for a job's row, or a result with `rows` and `left_out`. It needs torch.
    - how: more arguments of that function.
    - show: a result as text. summary: of all rows, after their texts.
    - files, folder: of --record.
    """

    what: str
    add_options: Callable[[argparse.ArgumentParser], None]
    jobs: Callable[[argparse.Namespace, argparse.ArgumentParser], Iterable[Any]]
    measured_by: str
    files: GpuFiles
    folder: Path = RECORDS
    needs_gpu: bool = True
    how: Callable[[argparse.Namespace], dict[str, Any]] = lambda options: {}
    show: Callable[[Any, argparse.Namespace], str] = lambda row, options: line(row)
    summary: Callable[[Iterable[Any]], str] = lambda rows: ""

    def measure(self, job: Any, bar: Bar, options: argparse.Namespace) -> Any:
        module, _, name = self.measured_by.rpartition(".")
        return getattr(import_module(module), name)(
            job,
            progress=lambda done, note, *_: bar.draw(done, note),
            stopped=lambda: False,
            **self.how(options),
        )


def main(name: str, arguments: Sequence[str]) -> int:
    """Run one of COMMANDS. Raises ValueError for bad arguments, and OSError where a row is not recorded."""
    command, parser = COMMANDS[name], parser_of(name)
    options = parser.parse_args(arguments)
    if options.record:
        check_folder(options.folder)
    check_above_0("--minutes", options.minutes)
    jobs = tuple(command.jobs(options, parser))
    choose_device(needs_gpu=command.needs_gpu)
    return _run(command, jobs, options)


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


def parser_of(name: str) -> argparse.ArgumentParser:
    command = COMMANDS[name]
    parser = argparse.ArgumentParser(prog=f"python -m kernels.measure {name}", description=command.what)
    command.add_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of a table")
    parser.add_argument("--record", action="store_true", help="append a GPU's rows to files as they come")
    parser.add_argument("--folder", type=Path, default=command.folder, help="where --record appends")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no job after so many minutes")
    return parser


def _run(command: Command, jobs: Sequence[Any], options: argparse.Namespace) -> int:
    rows: list[Any] = []
    began, missing = time.monotonic(), 0
    if not options.json and jobs and (names := header(jobs[0])):
        print(names, flush=True)
    for number, job in enumerate(jobs):
        if time.monotonic() - began > options.minutes * _S_A_MINUTE:
            left = f"{len(jobs) - number} of {len(jobs)} jobs were not begun"
            print(f"kernels.measure: {options.minutes:g} minutes are over: {left}", file=sys.stderr)
            missing += 1
            break
        try:
            with Bar(f"{number + 1}/{len(jobs)} {job.title}") as bar:
                result = command.measure(job, bar, options)
        except (Unsupported, MemoryError, *triton_errors()) as error:
            missing += 1
            reason = f"Triton {triton_release()} does not compile a kernel: {first_line(error)}"
            reason = str(error) if isinstance(error, (Unsupported, MemoryError)) else reason
            data = {"job": to_data(job), "refused": reason}
            print(json.dumps(data) if options.json else refused_line(job, reason), flush=True)
        else:
            missing += len(getattr(result, "left_out", ()))
            own = getattr(result, "rows", (result,))
            rows += own
            texts = map(json.dumps, map(to_data, own)) if options.json else [command.show(result, options)]
            print(*texts, sep="\n", flush=True)
            if options.record:
                for row in own:
                    command.files.record(row, options.folder)
    if not options.json and (table := command.summary(rows)):
        print(table, flush=True)
    return int(missing > 0)


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--recipe", default="deepseek_v3", choices=[*RECIPES, ALL])


def add_matmul(parser: argparse.ArgumentParser) -> None:
    _add_recipe(parser)
    parser.add_argument("--matmul", default="fprop", choices=[*MATMULS, ALL])


def matmuls_and_recipes(options: argparse.Namespace) -> tuple[Sequence[str], Sequence[str]]:
    return (
        tuple(MATMULS) if options.matmul == ALL else (options.matmul,),
        tuple(RECIPES) if options.recipe == ALL else (options.recipe,),
    )


def _add_gemm(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_matmul(parser)
    add("--shape", nargs=3, type=int, action="append", metavar=("M", "N", "K"), help="repeat for several")
    for flag, what, shapes in (
        ("--shapes", "the standard set", STANDARD),
        ("--skinny", "few tokens", SKINNY),
    ):
        add(flag, action="store_true", help=f"{what}: {'; '.join(map(shape_text, shapes))}")
    add("--input", default=InputKind.GAUSSIAN.value, choices=[kind.value for kind in OFFERED])
    add("--seed", type=int, default=0)
    add("--accumulation", default=Summation.RECIPE.value, choices=[kind.value for kind in Summation])
    add("--accumulate", action="store_true", help="add the product into D where the matmul writes fp32")
    add(
        "--cache",
        default=Cache.HOT.value,
        choices=[*(cache.value for cache in Cache), ALL],
        help="hot: back to back over rotated buffers; cold: the L2 flushed before each launch",
    )
    add("--runs", type=int, help=f"rounds of each contender (default {GemmJob.runs})")
    add("--turn-ms", type=int, help=f"a contender's turn in a round (default {GemmJob.turn_ms})")
    add(
        "--settle-ms",
        type=int,
        help="how long before a turn is timed: the clock still has to leave the last one's (default 0)",
    )
    add(
        "--sustained",
        action="store_true",
        help="{} rounds of {} ms turns, {} ms late: the power limit shows".format(*_SUSTAINED.values()),
    )
    add("--recorded", action="store_true", help="every GEMM of assets/bench/, timed as its row was")


def gemm_jobs(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterator[GemmJob]:
    """Shapes outermost, recipes and caches innermost: neighbors share inputs. Raises ValueError."""
    if options.recorded:
        yield from _recorded_jobs(options, parser)
        return
    how: dict[str, Any] = {**_SUSTAINED} if options.sustained else {}
    how |= {name: value for name in _SUSTAINED if (value := getattr(options, name)) is not None}
    how |= {"input": InputKind(options.input), "accumulation": Summation(options.accumulation)}
    how["seed"] = options.seed
    shapes: list[tuple[int, ...] | LayerShape] = [tuple(shape) for shape in options.shape or ()]
    shapes += [*(STANDARD if options.shapes else ()), *(SKINNY if options.skinny else ())]
    caches = Cache if options.cache == ALL else (Cache(options.cache),)
    for shape, matmul, recipe, cache in product(shapes or [CUBE], *matmuls_and_recipes(options), caches):
        job = GemmJob.of(recipe, matmul, shape, cache=cache, **how)
        adds = options.accumulate and (job.writes_fp32 or options.matmul != ALL)
        yield replace(job, into=Into.ACCUMULATE) if adds else job


def _recorded_jobs(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterable[GemmJob]:
    for name in _OF_A_GEMM:
        if getattr(options, name) != parser.get_default(name):
            flag = f"--{name.replace('_', '-')}"
            raise ValueError(f"--recorded measures each GEMM as its row was: leave out {flag}")
    jobs = dict.fromkeys(row.job for row in GEMMS.read(RECORDS).rows)
    if not jobs:
        raise ValueError(f"--recorded measures what {RECORDS} holds, and that is nothing")
    return jobs


def _add_quantizer(parser: argparse.ArgumentParser) -> None:
    _add_recipe(parser)
    kernels = [*(kernel.value for kernel in QuantizerKernel), ALL]
    parser.add_argument("--kernel", default=ALL, choices=kernels, help="a quantizer")
    parser.add_argument(
        "--tensor", nargs=2, type=int, metavar=("ROWS", "COLUMNS"), help="the quantized tensor's shape"
    )


def quantizer_jobs(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterator[QuantizerJob]:
    kernels = [each for each in QuantizerKernel if options.kernel in (ALL, each.value)]
    for kernel, recipe in product(kernels, RECIPES if options.recipe == ALL else (options.recipe,)):
        tensor = _TENSORS.get(kernel, LayerTensor.X)
        sides = [(matmul, matmul.side_of(tensor)) for matmul in MATMULS.values()]
        readers = [each.name for each, side in sides if side and RECIPES[recipe].operand(each, side)]
        rows, columns = options.tensor or _SHAPES[kernel]
        fields = {"recipe": recipe, "tensor": tensor.value, "rows": rows, "columns": columns}
        for matmuls in (*((name,) for name in readers), *([tuple(readers)] if len(readers) > 1 else ())):
            yield QuantizerJob(kernel=kernel, matmuls=matmuls, **fields)


TOKENS = (1024, 4096, 16384)
FEATURES = (4096, 14336)
"""In and out of a linear layer, in and hidden of an MLP: those of an 8B model."""
_MIB = 1 << 20
_CASTS = (Role.QUANTIZE, Role.FUSED, Role.PASS)
_HEADER = ("way", "graph µs", "eager µs", "× bf16", "matmuls", "casts", "gaps", "held MiB")


def _add_layer(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    recipes = [*LAYER_RECIPES, ALL]
    add("--recipe", nargs="+", default=["deepseek_v3"], choices=recipes, metavar="RECIPE")
    add("--tokens", nargs="+", type=int, default=TOKENS, help="default: %(default)s")
    add(
        "--shape",
        nargs=2,
        type=int,
        default=FEATURES,
        metavar=("IN", "OUT"),
        help="features of the layer; OUT of an MLP are its hidden ones (default: %(default)s)",
    )
    add("--layer", default=ALL, choices=[*(block.value for block in Block), ALL])
    add("--way", nargs="+", default=[ALL], choices=[*(way.value for way in Way), ALL])
    add("--runs", type=int, default=7, help="rounds of turns (default: %(default)s)")
    add("--turn-ms", type=int, default=20, help="a way's turn (default: %(default)s)")
    add("--kernels", action="store_true", help="a line for each kernel, too")


def _layer_jobs(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterator[TimelineJob]:
    recipes = LAYER_RECIPES if ALL in options.recipe else dict.fromkeys(options.recipe)
    blocks = Block if options.layer == ALL else (Block(options.layer),)
    how = dict(zip(("in_", "out"), options.shape, strict=True))
    how |= {"rounds": options.runs, "turn_ms": options.turn_ms}
    for recipe, block, tokens in product(recipes, blocks, options.tokens):
        yield TimelineJob(block=block, recipe=recipe, tokens=tokens, **how)


def _one_part(options: argparse.Namespace) -> dict[str, Any]:
    return {"parts": ((1.0, tuple(Way) if ALL in options.way else tuple(map(Way, options.way))),)}


def _layer_table(timeline: Timeline, options: argparse.Namespace) -> str:
    where = f" ({timeline.rows[0].machine.name}, {timeline.rows[0].date})" if timeline.rows else ""
    lines = [f"{timeline.job.title}{where}", text(columns(map(_cells, timeline.rows), header=_HEADER))]
    for row in timeline.rows:
        if options.kernels:
            lines.append(f"{row.way.title}: µs from the start, its time, the kernel and its rate")
            lines.append(text(columns(map(_kernel_cells, row.kernels), indent=2)))
        lines += [f"{row.way.title}. {row.note}"] if row.note else []
    lines += [f"{one.way.title}: left out. {one.reason}" for one in timeline.left_out]
    return "\n".join([*lines, ""])


def _cells(row: LayerRow) -> tuple[str, ...]:
    return (
        row.way.title,
        "-" if row.graph is None else f"{row.graph.median_us:.0f}",
        f"{row.eager.median_us:.0f}",
        f"{row.times_bf16:.2f}",
        f"{row.role_us(Role.MATMUL):.0f}",
        f"{sum(map(row.role_us, _CASTS)):.0f}",
        f"{row.gaps_us:.0f}",
        f"{(row.held_bytes + row.weight_bytes) / _MIB:.0f}",
    )


def _kernel_cells(kernel: KernelRun) -> tuple[str, ...]:
    rate = f"{kernel.tflop_s:.0f} TFLOP/s" if kernel.tflop_s else ""
    rate = rate or (f"{kernel.gb_s:.0f} GB/s" if kernel.gb_s else "")
    return f"{kernel.start_us:.1f}", f"{kernel.time_us:.1f}", rate, kernel.what


COMMANDS = {
    "gemm": Command(
        what="Quantize, multiply, check and time GEMMs of a recipe, beside torch.",
        add_options=_add_gemm,
        jobs=gemm_jobs,
        measured_by="kernels.measure.gemm.measure_with_care",
        files=GEMMS,
        needs_gpu=False,
        summary=means_table,
    ),
    "quantizer": Command(
        what="Time quantizers, fused and not, beside a copy and torch.compile.",
        add_options=_add_quantizer,
        jobs=quantizer_jobs,
        measured_by="kernels.measure.quantizer.measure",
        files=QUANTIZERS,
    ),
    "ceilings": Command(
        what="Measure what this GPU reaches: copy, bf16 and fp8.",
        add_options=lambda parser: parser.add_argument(
            "--runs", type=int, default=CeilingsJob.runs, help="rounds (default %(default)s)"
        ),
        jobs=lambda options, parser: [CeilingsJob(runs=options.runs)],
        measured_by="kernels.measure.ceilings.measure",
        files=CEILINGS,
    ),
    "layer": Command(
        what="Time a layer's step kernel by kernel, in bf16 and in FP8, made in several ways.",
        add_options=_add_layer,
        jobs=_layer_jobs,
        measured_by="kernels.layer.timeline.measure.measure",
        how=_one_part,
        files=TIMELINES,
        folder=LAYER_RECORDS,
        show=_layer_table,
    ),
}
