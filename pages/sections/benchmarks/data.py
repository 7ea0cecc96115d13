"""The data of the page "Benchmarks": rows recorded on one GPU, and rows measured on this server."""

from collections.abc import Iterable, Sequence

from fp8core.inputs import InputKind
from fp8core.recipes import RECIPES
from kernels.bench.ceilings import Ceilings
from kernels.bench.job import Cache, GemmJob, Into
from kernels.bench.machine import Machine
from kernels.bench.records import slug
from kernels.bench.row import Provenance, Row
from kernels.gemm.meaning import Summation
from kernels.gemm.simple.dot_scaled import TITLE as DOT_SCALED
from pages.kit import queue_panel as gpu_queue
from pages.kit import results as gemm_results
from pages.kit.gemm_words import duration, number, ratio
from pages.kit.inert import plain
from pages.kit.results import Origin, Result, accumulation, same_gemm
from pages.sections.benchmarks.charts.facts import TimedGemm

KEPT = 64


def gpus() -> tuple[str, ...]:
    """The names of all GPUs with measurements: recorded ones first, by their number of rows."""
    names = [row.machine.name for row in gemm_results.every_row() if row.provenance is Provenance.GPU]
    by_rows = sorted(names, key=lambda name: (-names.count(name), name))
    others = [ceilings.machine.name for ceilings in gemm_results.every_ceilings()]
    mine = gpu_queue.session()
    others += [ceilings.machine.name for ceilings in mine.rows_of(Ceilings)]
    others += [row.machine.name for row in mine.rows_of(Row) if row.provenance is Provenance.GPU]
    return tuple(dict.fromkeys(by_rows + others))


def is_of(machine: Machine, gpu: str) -> bool:
    """True if a measurement was made on the GPU with this slug."""
    return slug(machine.name) == gpu


def results(gpu: str) -> list[Result]:
    """Timed rows of Gaussian data on a GPU by its slug, recorded or of this session.

    Among rows of one GEMM from one origin, only the newest stays. They come in the order of the recipes.
    """
    return [result for result in _timed() if is_of(result.row.machine, gpu)]


def results_and_here(gpu: str) -> list[Result]:
    """The `results` of a GPU, together with this session's rows of any GPU."""
    return [r for r in _timed() if r.origin is Origin.HERE or is_of(r.row.machine, gpu)]


def _timed() -> list[Result]:
    found = newest(result for result in every_result() if _is_drawn(result.row))
    return sorted(found, key=lambda result: place(result.row.job))


def _is_drawn(row: Row) -> bool:
    is_timed = row.provenance is Provenance.GPU and row.gemm is not None
    return is_timed and row.job.input is InputKind.GAUSSIAN


def every_result() -> list[Result]:
    """Every recorded row and every row of this session, oldest first."""
    recorded = sorted(gemm_results.every_row(), key=lambda row: row.date)
    here = reversed(gpu_queue.session().rows_of(Row))
    return [Result(row, Origin.RECORDED) for row in recorded] + [Result(row, Origin.HERE) for row in here]


def newest(found: Iterable[Result]) -> list[Result]:
    """The newest row of each GEMM, GPU and origin."""
    by_gemm = {(r.origin, r.row.machine.name, same_gemm(r.row.job)): r for r in found}
    return list(by_gemm.values())


def place(job: GemmJob) -> int:
    """The place of the job's recipe in the list of recipes."""
    return list(RECIPES).index(job.recipe)


def contender(job: GemmJob) -> str:
    """The recipe, with the job's own settings beyond it, such as ``Per row, promoted``."""
    parts = [job.recipe_data.title]
    if accumulation(job) is not Summation.RECIPE:
        parts.append(job.accumulation.words)
    if job.into is Into.ACCUMULATE:
        parts.append("added into D")
    return ", ".join(parts)


def shape(job: GemmJob) -> str:
    """The shape as M × N × K."""
    cube = job.m == job.n == job.k
    return f"{job.m}³" if cube else f"{job.m} × {job.n} × {job.k}"


def facts(result: Result) -> TimedGemm:
    """The tooltip of a timed row."""
    row, gemm = result.row, result.row.gemm
    against = [f"{ratio(row.times_bf16)} bf16"] if row.bf16 else []
    if row.torch_scaled:
        against.insert(0, f"{ratio(row.times_torch_scaled)} {row.torch_op or 'torch’s scaled op'}")
    if row.simple:
        against.append(f"{ratio(row.times_simple)} the simple kernel")
    if row.dot_scaled:
        against.append(f"{ratio(row.times_dot_scaled)} {DOT_SCALED}")
    return TimedGemm(
        gemm=f"{contender(row.job)}, {row.job.matmul_data.title}",
        shape=shape(row.job),
        time=f"{duration(gemm.median_us)} ({duration(gemm.p20_us)} to {duration(gemm.p80_us)})",
        speed=f"{number(row.tflop_s)} TFLOP/s, {number(row.gb_s)} GB/s",
        against=", ".join(against) or row.peer_note or "no peer was timed",
        kernel=row.kernel,
        state=f"{timed(row.job)}, {clocks(row.machine.clock_mhz, row.machine.power_w)}",
        where=f"{result.where}, {result.when}",
    )


def timed(job: GemmJob) -> str:
    """How a job is timed, such as ``cold L2, 4 turns``, or ``hot L2, 4 turns of 50 ms, each 100 ms after its
    first launch``.

    Long turns meet the power limit. Late turns have no clock but their own.
    """
    turns = f", {job.runs} turns" + f" of {job.turn_ms} ms" * (job.cache is Cache.HOT)
    late = f", each {job.settle_ms} ms after its first launch" if job.settle_ms else ""
    return f"{job.cache.value} L2{turns}{late}"


def clocks(clock_mhz: float | None, power_w: float | None) -> str:
    """Clock and power during the timing, such as ``1575 MHz, 463 W``."""
    clock = f"{clock_mhz:.0f} MHz" if clock_mhz else "clock not read"
    power = f"{power_w:.0f} W" if power_w else "power not read"
    return f"{clock}, {power}"


def origin_sentence(found: Sequence[Result]) -> str:
    """One line of Markdown on the machines of these measurements, their dates and versions."""
    told = dict.fromkeys(f"{r.where}, {r.when}" for r in found)
    return plain("; ".join(told) + ".")


def with_cache(found: Sequence[Result], cache: Cache) -> list[Result]:
    return [result for result in found if result.row.job.cache is cache]
