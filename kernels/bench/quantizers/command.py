"""python -m kernels.bench --quantizers: time quantizers beside a copy and torch.compile, in a terminal."""

import argparse
import json
from collections.abc import Iterator

from fp8core.linear import MATMULS, LayerTensor
from fp8core.recipes import RECIPES
from kernels.bench.quantizers.job import QuantizerJob, QuantizerKernel
from kernels.bench.quantizers.records import record_quantizer
from kernels.bench.quantizers.row import QuantizerRow
from kernels.device import Unsupported, choose_backend
from kernels.progress import Bar
from kernels.typed import to_data

HEADER = f"{'GB/s':>6} {'of copy':>8} {'× compile':>10} {'× apart':>8} {'us':>9} {'launches':>8}  quantizer"
_SHAPES = {
    QuantizerKernel.QUANTIZE: (8192, 8192),
    QuantizerKernel.SWIGLU: (4096, 14336),
    QuantizerKernel.SWIGLU_BACKWARD: (4096, 28672),
    QuantizerKernel.RMS_NORM: (8192, 4096),
}
_TENSORS = {QuantizerKernel.SWIGLU_BACKWARD: LayerTensor.DY}
"""The tensor that a kernel's result is; x for the others."""
ALL = "all"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that only --quantizers has."""
    parser.add_argument(
        "--quantizers",
        action="store_true",
        help="time quantizers, fused and not, beside a copy and torch.compile",
    )
    parser.add_argument(
        "--kernel",
        default=ALL,
        choices=[*(kernel.value for kernel in QuantizerKernel), ALL],
        help="a quantizer",
    )
    parser.add_argument(
        "--tensor", nargs=2, type=int, metavar=("ROWS", "COLUMNS"), help="the quantized tensor's shape"
    )


def jobs(
    recipes: list[str], kernels: list[QuantizerKernel], shape: tuple[int, int] | None
) -> Iterator[QuantizerJob]:
    """Each kernel's copies in each recipe: along rows, down columns, and both."""
    for kernel in kernels:
        for recipe in recipes:
            tensor = _TENSORS.get(kernel, LayerTensor.X)
            readers = [
                matmul.name
                for matmul in MATMULS.values()
                if (side := matmul.side_of(tensor)) is not None
                and RECIPES[recipe].operand(matmul, side) is not None
            ]
            for matmuls in (*((name,) for name in readers), *([tuple(readers)] if len(readers) > 1 else ())):
                rows, columns = shape or _SHAPES[kernel]
                yield QuantizerJob(
                    kernel=kernel,
                    recipe=recipe,
                    tensor=tensor.value,
                    matmuls=matmuls,
                    rows=rows,
                    columns=columns,
                )


def line(row: QuantizerRow) -> str:
    """A row of the table."""
    compiled, apart = (
        "" if share is None else f"{share:.2f}" for share in (row.over_compiled, row.over_apart)
    )
    return (
        f"{row.gb_s:6,.0f} {row.ratio:8.2f} {compiled:>10} {apart:>8} {row.ours.median_us:9.1f} "
        f"{row.launches:8}  {row.job.title}"
    )


def run(options: argparse.Namespace) -> int:
    """Time and print quantizers as they come; 1 where one was refused.

    Raises Unsupported where there is no GPU, and OSError where a row could not be recorded.
    """
    choose_backend()
    from kernels.bench.measure import require_gpu
    from kernels.bench.quantizers.measure import measure

    require_gpu()
    recipes = list(RECIPES) if options.recipe == ALL else [options.recipe]
    kernels = [each for each in QuantizerKernel if options.kernel in (ALL, each.value)]
    shape = None if options.tensor is None else (options.tensor[0], options.tensor[1])
    every, refused = list(jobs(recipes, kernels, shape)), False
    if not options.json:
        print(HEADER, flush=True)
    for number, job in enumerate(every):
        try:
            with Bar(f"{number + 1}/{len(every)} {job.title}") as bar:
                row = measure(job, between=lambda done, bar=bar: bar.draw(done, "timing"))
        except (Unsupported, MemoryError) as error:
            refused = True
            print(
                json.dumps({"job": to_data(job), "refused": str(error)}) if options.json else error,
                flush=True,
            )
            continue
        print(json.dumps(to_data(row)) if options.json else line(row), flush=True)
        if options.record:
            record_quantizer(row, options.folder)
    return int(refused)
