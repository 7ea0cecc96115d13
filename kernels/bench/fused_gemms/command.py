"""python -m kernels.bench --fused-gemms: time fused GEMMs beside the kernels they replace, in a terminal."""

import argparse
import json
from collections.abc import Iterator, Sequence

from fp8core.recipes import RECIPES
from kernels.bench.fused_gemms.job import FusedEnd, FusedGemmJob
from kernels.bench.fused_gemms.records import record_fused_gemm
from kernels.bench.fused_gemms.row import FusedGemmRow
from kernels.device import Unsupported, choose_backend
from kernels.progress import Bar
from kernels.typed import to_data

HEADER = f"{'us':>9} {'× apart':>8} {'× GEMM':>7} {'apart':>9} {'GEMM':>9} {'quantize':>9}  fused GEMM"
SHAPES = ((4096, 4096, 7168), (8192, 8192, 8192), (512, 14336, 4096), (64, 14336, 4096), (4096, 1024, 7168))
"""(M, N, K): large, few tokens, and a D that is few blocks wide."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for fused GEMMs."""
    parser.add_argument(
        "--fused-gemms",
        action="store_true",
        help="time GEMMs that quantize A as they load it or D as it leaves, beside two kernels",
    )


def jobs(recipes: Sequence[str], shapes: Sequence[tuple[int, int, int]]) -> Iterator[FusedGemmJob]:
    """Each recipe's GEMM that quantizes A, and the one whose D becomes the next layer's x."""
    for m, n, k in shapes or SHAPES:
        for recipe in recipes:
            if RECIPES[recipe].fprop.quantized:
                yield FusedGemmJob(end=FusedEnd.A, recipe=recipe, m=m, n=n, k=k)
                yield FusedGemmJob(end=FusedEnd.D, recipe=recipe, target=recipe, m=m, n=n, k=k)


def line(row: FusedGemmRow) -> str:
    """A row of the table."""
    return (
        f"{row.ours.median_us:9.1f} {row.over_apart:8.2f} {row.over_gemm:7.2f} {row.apart.median_us:9.1f} "
        f"{row.gemm.median_us:9.1f} {row.quantize.median_us:9.1f}  {row.job.title}"
    )


def run(options: argparse.Namespace, recipes: Sequence[str]) -> int:
    """Time and print fused GEMMs as they come; 1 where one was refused.

    Raises Unsupported where there is no GPU, and OSError where a row could not be recorded.
    """
    choose_backend()
    from kernels.bench.fused_gemms.measure import measure
    from kernels.bench.measure import require_gpu

    require_gpu()
    every, refused = list(jobs(recipes, [tuple(shape) for shape in options.shape or ()])), False
    if not options.json:
        print(HEADER, flush=True)
    for number, job in enumerate(every):
        try:
            with Bar(f"{number + 1}/{len(every)} {job.title}") as bar:
                row = measure(job, between=lambda done, bar=bar: bar.draw(done, "timing"))
        except (Unsupported, MemoryError) as error:
            refused = True
            said = json.dumps({"job": to_data(job), "refused": str(error)}) if options.json else str(error)
            print(said, flush=True)
            continue
        print(json.dumps(to_data(row)) if options.json else line(row), flush=True)
        if options.record:
            record_fused_gemm(row, options.folder)
    return int(refused)
