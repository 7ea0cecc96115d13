"""python -m kernels.measure layer: a layer's step, kernel by kernel, in several ways."""

from collections.abc import Sequence
from functools import partial
from itertools import product

from kernels.layer.plan import LAYER_RECIPES
from kernels.layer.timeline.row import TIMELINES, Block, KernelRun, LayerRow, Role, Timeline, TimelineJob, Way
from kernels.measure.commands import ALL, job_parser, run_jobs
from kernels.paths import LAYER_RECORDS
from kernels.text_table import columns, text

TOKENS = (1024, 4096, 16384)
FEATURES = (4096, 14336)
"""In and out of a linear layer, in and hidden of an MLP: those of an 8B model."""
_MIB = 1 << 20
_CASTS = (Role.QUANTIZE, Role.FUSED, Role.PASS)
_HEADER = ("way", "graph µs", "eager µs", "× bf16", "matmuls", "casts", "gaps", "held MiB")


def main(arguments: Sequence[str]) -> int:
    what = "Time a layer's step kernel by kernel, in bf16 and in FP8, made in several ways."
    parser = job_parser("layer", what, LAYER_RECORDS)
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
    options = parser.parse_args(arguments)
    in_, out = options.shape
    how = {"in_": in_, "out": out, "rounds": options.runs, "turn_ms": options.turn_ms}
    jobs = (
        TimelineJob(block=block, recipe=recipe, tokens=tokens, **how)
        for recipe, block, tokens in product(
            LAYER_RECIPES if ALL in options.recipe else dict.fromkeys(options.recipe),
            Block if options.layer == ALL else (Block(options.layer),),
            options.tokens,
        )
    )
    ways = tuple(Way) if ALL in options.way else tuple(map(Way, options.way))

    def measure(job: TimelineJob, **how: object) -> Timeline:
        from kernels.layer.timeline.measure import measure  # it loads Triton

        return measure(job, parts=((1.0, ways),), **how)

    return run_jobs(options, jobs, measure, TIMELINES, show=partial(_table, has_kernels=options.kernels))


def _table(timeline: Timeline, *, has_kernels: bool) -> str:
    where = f" ({timeline.rows[0].machine.name}, {timeline.rows[0].date})" if timeline.rows else ""
    lines = [f"{timeline.job.title}{where}", text(columns(map(_cells, timeline.rows), header=_HEADER))]
    for row in timeline.rows:
        if has_kernels:
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
