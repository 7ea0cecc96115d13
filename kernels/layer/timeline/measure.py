"""Measure a layer's step in several ways: time them in turns, then each kernel by kernel."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import torch

from kernels.device import Unsupported, current_device
from kernels.faults import first_line
from kernels.layer.plan import LAYER_RECIPES
from kernels.layer.timeline.row import (
    TIMELINES,
    Block,
    KernelRun,
    LayerRow,
    LeftOut,
    Role,
    Timeline,
    TimelineJob,
    Way,
)
from kernels.layer.timeline.trace import Pieces, Ran, labelled, profiled, ran, timed
from kernels.layer.timeline.ways import Ready, Tensors, ready
from kernels.measure.commands import ALL, job_parser, run_jobs
from kernels.measure.machine import halt_if, measured, memory, require_gpu
from kernels.measure.rows import Timing
from kernels.measure.timing import Contender, HotTurn, Turn, capturing, interleaved, replays, run_us
from kernels.nvml import Gauges
from kernels.paths import LAYER_RECORDS
from kernels.text_table import columns, text

TOKENS = (1024, 4096, 16384)
FEATURES = (4096, 14336)
"""In and out of a linear layer, in and hidden of an MLP: those of an 8B model."""
_MIB = 1 << 20
_CASTS = (Role.QUANTIZE, Role.FUSED, Role.PASS)
_HEADER = ("way", "graph µs", "eager µs", "× bf16", "matmuls", "casts", "gaps", "held MiB")
_WARM_UP = 3
_PROFILED = 7
"""Steps in a row; a kernel's time is the median over them."""
_SETTLE_US = 250_000.0
"""An idle card runs faster than one at its power limit for more than 0.1 s."""
_READY, _TIMED = 0.4, 0.8
_EAGER = ", eager"
Progress = Callable[..., None]
"""Called with the finished share, a note, and a timeline with a new row, if any."""
PARTS = (
    (0.5, (Way.BF16, Way.OURS, Way.OURS_KEPT, Way.BOUND)),
    (0.65, (Way.NAIVE,)),
    (1.0, (Way.COMPILED,)),
)
"""Ways that take turns in one run, and the share of a worker's job after them.

torch.compile takes longer than all timing, and casts by torch's operations longer than all other steps.
"""


def main(arguments: Sequence[str]) -> int:
    what = "Time a layer's step kernel by kernel, in bf16 and in FP8, made in several ways."
    parser = job_parser("layer", what, LAYER_RECORDS)
    add = parser.add_argument
    recipes = [*LAYER_RECIPES, ALL]
    add("--recipe", nargs="+", default=["deepseek_v3"], choices=recipes, metavar="RECIPE")
    add("--tokens", nargs="+", type=int, default=TOKENS, help="default: %(default)s")
    sizes = "features of the layer; OUT of an MLP are its hidden ones (default: %(default)s)"
    add("--shape", nargs=2, type=int, default=FEATURES, metavar=("IN", "OUT"), help=sizes)
    add("--layer", default=ALL, choices=[*(block.value for block in Block), ALL])
    add("--way", nargs="+", default=[ALL], choices=[*(way.value for way in Way), ALL])
    add("--runs", type=int, default=7, help="rounds of turns (default: %(default)s)")
    add("--turn-ms", type=int, default=20, help="a way's turn (default: %(default)s)")
    add("--kernels", action="store_true", help="a line for each kernel, too")
    options = parser.parse_args(arguments)
    in_, out = options.shape
    how = {"in_": in_, "out": out, "rounds": options.runs, "turn_ms": options.turn_ms}
    recipes = LAYER_RECIPES if ALL in options.recipe else dict.fromkeys(options.recipe)
    cases = product(recipes, Block if options.layer == ALL else (Block(options.layer),), options.tokens)
    jobs = (TimelineJob(recipe=recipe, block=block, tokens=tokens, **how) for recipe, block, tokens in cases)
    ways = tuple(Way) if ALL in options.way else tuple(map(Way, options.way))
    show = partial(_table, has_kernels=options.kernels)
    return run_jobs(options, jobs, partial(measure, parts=((1.0, ways),)), TIMELINES, show=show)


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


def measure(
    job: TimelineJob,
    *,
    progress: Callable[..., None],
    stopped: Callable[[], bool],
    so_far: Timeline | None = None,
    parts: Sequence[tuple[float, Sequence[Way]]] = PARTS,
) -> Timeline:
    """Time a job's ways, those of a part in turns with bf16. Those of `so_far` are not timed again.

    A way that cannot run is left out with a reason.
    """
    require_gpu()
    timeline, start = so_far or Timeline(job=job, rows=()), 0.0

    def tell(start: float, end: float, share: float, note: str, timeline: Timeline | None = None) -> None:
        halt_if(stopped)
        progress(start + (end - start) * share, note, timeline)

    with memory(job.size):
        try:
            tensors = Tensors(job)
            for end, ways in parts:
                timeline = _with_rows(ways, timeline, tensors, partial(tell, start, end))
                tell(start, end, 1.0, "timed", timeline)
                start = end
            return timeline
        finally:
            torch._dynamo.reset()  # functions were compiled for this job's shapes


def _with_rows(ways: Sequence[Way], timeline: Timeline, tensors: Tensors, tell: Progress) -> Timeline:
    job, earlier = timeline.job, {one.way for one in (*timeline.rows, *timeline.left_out)}
    new = [way for way in Way if way in (Way.BF16, *ways) and way not in earlier]
    if not new:
        return timeline
    contenders, left_out = _ready(dict.fromkeys((Way.BF16, *new)), job, tensors, tell)
    timeline = replace(timeline, left_out=(*timeline.left_out, *left_out))
    rows = [one for one in contenders if one.way in new]
    if not rows:
        return timeline  # bf16 would be alone
    times, refusals = _times(job, contenders, tell)
    for number, one in enumerate(rows):
        share = _TIMED + (1 - _TIMED) * number / len(rows)
        tell(share, f"kernel by kernel: {one.way.title}", timeline if timeline.rows else None)
        row = _row(job, one, times, refusals.get(one.way, ""))
        timeline = replace(timeline, rows=(*timeline.rows, row))
    return timeline


def _ready(
    ways: Collection[Way], job: TimelineJob, tensors: Tensors, tell: Progress
) -> tuple[list[Ready], list[LeftOut]]:
    """The ways, warm, and those that cannot run."""
    contenders, left_out, device = [], [], current_device()
    for number, way in enumerate(ways):
        tell(_READY * number / len(ways), f"making ready: {way.title}")
        try:
            one = ready(way, job, tensors, device)
            for _ in range(_WARM_UP):
                one.run()
            contenders.append(one)
        except Unsupported as unsupported:
            left_out.append(LeftOut(way=way, reason=unsupported.reason))
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            if way is not Way.COMPILED:
                raise
            reason = f"torch.compile does not take the casts: {first_line(error)}"
            left_out.append(LeftOut(way=way, reason=reason))
    return contenders, left_out


class _EagerTurn:
    """Steps from Python, without waits between them."""

    def __init__(self, one: Ready, turn_us: float) -> None:
        self.name = one.way.value + _EAGER
        self._run = one.run
        self._steps = replays(turn_us, run_us(one.run, 2) / 2)

    def times_us(self) -> list[float]:
        return [run_us(self._run, self._steps) / self._steps]

    def load(self) -> Gauges:
        return Gauges()


def _times(
    job: TimelineJob, contenders: Sequence[Ready], tell: Progress
) -> tuple[dict[str, Timing], dict[Way, str]]:
    """Times by name; reasons why a way has no graph."""
    turn_us, refusals = job.turn_ms * 1e3, {}
    turns: list[Turn] = []
    for one in contenders:
        try:
            turns.append(HotTurn(Contender(one.way.value, [one.run]), turn_us))
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # a capture that is not allowed; EmptyGraph is one, too
            refusals[one.way] = f"No CUDA graph: {first_line(error)}."
        turns.append(_EagerTurn(one, turn_us))
    names = {one.way.value for one in contenders}

    def between(share: float) -> None:
        tell(_READY + (_TIMED - _READY) * share, "timing in turns")

    return interleaved(turns, job.rounds, between, lambda by_name: names & set(by_name)), refusals


def _row(job: TimelineJob, one: Ready, times: Mapping[str, Timing], refusal: str) -> LayerRow:
    graph, step_eager = times.get(one.way.value), times[one.way.value + _EAGER]
    device = current_device()
    kernels, in_graph = _kernels(one, captured=graph is not None)
    bf16 = Way.BF16.value
    return measured(
        LayerRow,
        device,
        under=graph,
        job=job,
        way=one.way,
        in_graph=in_graph,
        kernels=kernels,
        eager=step_eager,
        graph=graph,
        bf16=times.get(bf16) or times[bf16 + _EAGER],
        held_bytes=one.held(),
        weight_bytes=one.weight_bytes,
        note=" ".join(filter(None, (one.note(), refusal))),
    )


def _kernels(one: Ready, *, captured: bool) -> tuple[tuple[KernelRun, ...], bool]:
    """The kernels of a step; True if they ran in a graph."""
    pieces = Pieces()
    labels = labelled(profiled(lambda: one.marked(pieces)), pieces)
    if captured:
        graph = torch.cuda.CUDAGraph()
        with capturing(graph):
            one.run()
        kernels = timed(labels, _several(graph.replay), _PROFILED)
        if kernels is not None:
            return kernels, True
    kernels = timed(labels, _several(one.run), _PROFILED)
    if kernels is None:
        raise Unsupported(
            f"the kernels of {one.way.title} come in another order in each step: there is no timeline of them"
        )
    return kernels, False


def _several(run: Callable[[], object]) -> list[Ran]:
    """Several steps in a row, once the clock has settled."""
    for _ in range(replays(_SETTLE_US, run_us(run, 1))):
        run()
    return ran(profiled(lambda: [run() for _ in range(_PROFILED)]))
