"""The command `layer`: a layer's forward and backward kernel by kernel, in bf16 and in FP8.

The step is made in several ways that take turns: bf16, casts by torch's operations, casts by torch.compile,
ours, ours with weights quantized before, and the matmuls alone.
"""

import argparse
from collections.abc import Callable, Iterator
from itertools import product

from kernels.layer.plan import LAYER_RECIPES
from kernels.layer.timeline.row import Block, KernelRun, LayerRow, Role, Timeline, TimelineJob, Way
from kernels.text_table import columns, text

ALL = "all"
TOKENS = (1024, 4096, 16384)
FEATURES = (4096, 14336)
"""In and out of a linear layer, in and hidden of an MLP: those of an 8B model."""
_MIB = 1 << 20
_CASTS = (Role.QUANTIZE, Role.FUSED, Role.PASS)
_HEADER = ("way", "graph µs", "eager µs", "× bf16", "matmuls", "casts", "gaps", "held MiB")


def add_options(parser: argparse.ArgumentParser) -> None:
    recipes = [*LAYER_RECIPES, ALL]
    parser.add_argument("--recipe", nargs="+", default=["deepseek_v3"], choices=recipes, metavar="RECIPE")
    parser.add_argument("--tokens", nargs="+", type=int, default=TOKENS, help="default: %(default)s")
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
    parser.add_argument("--kernels", action="store_true", help="a line for each kernel, too")


def jobs(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterator[TimelineJob]:
    """Recipes outermost. Raises ValueError for a size out of range."""
    recipes = LAYER_RECIPES if ALL in options.recipe else dict.fromkeys(options.recipe)
    blocks = Block if options.layer == ALL else (Block(options.layer),)
    how = dict(zip(("in_", "out"), options.shape, strict=True))
    how |= {"rounds": options.runs, "turn_ms": options.turn_ms}
    for recipe, block, tokens in product(recipes, blocks, options.tokens):
        yield TimelineJob(block=block, recipe=recipe, tokens=tokens, **how)


def measure(
    job: TimelineJob, progress: Callable[[float, str], None], options: argparse.Namespace
) -> Timeline:
    from kernels.layer.timeline.measure import measure

    ways = tuple(Way) if ALL in options.way else tuple(map(Way, options.way))
    return measure(
        job,
        progress=lambda done, note, *_: progress(done, note),
        stopped=lambda: False,
        parts=((1.0, ways),),
    )


def table(timeline: Timeline, options: argparse.Namespace) -> str:
    """A line for each way, its kernels if those are wanted, and what there is to say of it."""
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
    """A way: wall times, speed over bf16, sums of kernels' times, time without a kernel, bytes held."""
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
