"""python -m kernels.bench: quantize, multiply, check and time GEMMs of a recipe, beside torch, in a terminal.

Progress goes to stderr, results to stdout. Exit codes: 0 all measured, 1 some refused, 2 bad arguments,
130 stopped by Ctrl-C; what was measured before is kept.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import RECIPES
from kernels.device import Unsupported, choose_backend
from kernels.progress import Bar
from kernels.rows import Accumulation, GemmJob, Row

RECORDS = Path(__file__).resolve().parent.parent / "assets" / "bench"
ALL = "all"
_CUBES = ((4096, 4096, 4096), (8192, 8192, 8192), (4096, 4096, 7168))
_LAYER = LayerShape(tokens=4096, in_=4096, out=14336)


@dataclass(frozen=True)
class Refused:
    """A job that was not measured, and why in one sentence."""

    job: GemmJob
    reason: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    options = _parser().parse_args(arguments)
    try:
        jobs = tuple(_jobs(options))
        choose_backend()
        results = _run(jobs, options)
    except KeyboardInterrupt:
        return 130
    except ValueError as error:
        print(f"kernels.bench: {error}", file=sys.stderr)
        return 2
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
        "--standard-shapes",
        action="store_true",
        help="4096³, 8192³, 4096×4096×7168 and the layer 4096 tokens × 4096 in × 14336 out",
    )
    parser.add_argument(
        "--input", default=InputKind.GAUSSIAN.value, choices=[kind.value for kind in InputKind]
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--accumulation", default=Accumulation.RECIPE.value, choices=[kind.value for kind in Accumulation]
    )
    parser.add_argument("--runs", type=int, default=20, help="measured rounds of each contender")
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of a table")
    parser.add_argument(
        "--record", action="store_true", help="append GPU rows to assets/bench/<gpu>.jsonl as they come"
    )
    parser.add_argument("--folder", type=Path, default=RECORDS, help="where --record appends")
    return parser


def _jobs(options: argparse.Namespace) -> Iterator[GemmJob]:
    """Shapes outermost, recipes innermost: neighbors share inputs. Raises ValueError for a bad field."""
    recipes = tuple(RECIPES) if options.recipe == ALL else (options.recipe,)
    matmuls = tuple(MATMULS) if options.matmul == ALL else (options.matmul,)
    shapes: list[tuple[int, ...] | LayerShape] = [tuple(shape) for shape in options.shape or ()]
    if options.standard_shapes:
        shapes += [*_CUBES, _LAYER]
    for shape in shapes or [_CUBES[0]]:
        for matmul in matmuls:
            m, n, k = MATMULS[matmul].mnk(shape) if isinstance(shape, LayerShape) else shape
            for recipe in recipes:
                yield GemmJob(
                    recipe=recipe,
                    matmul=matmul,
                    m=m,
                    n=n,
                    k=k,
                    input=InputKind(options.input),
                    seed=options.seed,
                    accumulation=Accumulation(options.accumulation),
                    runs=options.runs,
                )


def _run(jobs: Sequence[GemmJob], options: argparse.Namespace) -> list[Row | Refused]:
    from kernels.measure import measure

    results: list[Row | Refused] = []
    if not options.json:
        print(_HEADER)
    for number, job in enumerate(jobs):
        bar = Bar(f"{number + 1}/{len(jobs)} {job.recipe} {job.matmul} {job.m}×{job.n}×{job.k}")
        try:
            result: Row | Refused = measure(job, progress=bar.draw, stopped=lambda: False)
        except (Unsupported, MemoryError) as error:
            result = Refused(job, str(error))
        finally:
            bar.clear()
        results.append(result)
        _report(result, as_json=options.json)
        if options.record and isinstance(result, Row):
            record(result, options.folder)
    return results


def _report(result: Row | Refused, *, as_json: bool) -> None:
    if as_json:
        text = json.dumps(
            result.to_dict()
            if isinstance(result, Row)
            else {"job": result.job.to_dict(), "refused": result.reason}
        )
    else:
        text = _line(result)
    print(text, flush=True)


_COLUMNS = (
    ("recipe", 16),
    ("matmul", 7),
    ("M × N × K", 20),
    ("µs", 10),
    ("TFLOP/s", 9),
    ("× bf16", 7),
    ("+quant", 7),
    ("× torch", 8),
    ("rel_err", 9),
    ("kernel", 9),
    ("runs on", 0),
)
_HEADER = "".join(name.ljust(width) for name, width in _COLUMNS)


def _line(result: Row | Refused) -> str:
    job = result.job
    cells = [job.recipe, job.matmul, f"{job.m} × {job.n} × {job.k}"]
    if isinstance(result, Refused):
        cells.append(result.reason)
    else:
        cells += [
            _number(result.gemm and result.gemm.median_us, ".1f"),
            _number(result.tflop_s, ".0f"),
            _number(result.times_bf16, ".2f"),
            _number(result.times_bf16_with_quantize, ".2f"),
            _number(result.times_torch_scaled, ".2f"),
            f"{result.rel_err:.2e}",
            f"{result.kernel_rel_err:.2e}",
            result.machine.name,
        ]
    return "".join(
        f"{cell:<{max(width, len(cell) + 1)}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=False)
    ).rstrip()


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"


def record(row: Row, folder: Path) -> Path:
    """Append one measured row to <folder>/<gpu>.jsonl by a single write, and say where.

    Raises Unsupported for a row of the interpreter, whose figures say nothing about a GPU.
    """
    if row.machine.capability is None:
        raise Unsupported("--record keeps rows of a GPU; these come from Triton's interpreter")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{slug(row.machine.name)}.jsonl"
    line = (json.dumps(row.to_dict(), ensure_ascii=False) + "\n").encode()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        written = os.write(handle, line)
    finally:
        os.close(handle)
    if written != len(line):
        raise OSError(f"{path} took {written} of {len(line)} bytes: the disk is full")
    return path


def slug(name: str) -> str:
    """A GPU's name as a file name: lower case, words joined by underscores."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


if __name__ == "__main__":
    sys.exit(main())
