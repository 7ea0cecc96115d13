"""Rows of the page "Benchmarks", recorded or of this session, in words; and the button that measures."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar

from fp8core.inputs import InputKind
from fp8core.recipes import RECIPES
from kernels.gemm.numerics import Summation
from kernels.gemm.simple.dot_scaled import TITLE as DOT_SCALED
from kernels.measure.jobs import Cache, CeilingsJob, GemmJob, Into, shape_text
from kernels.measure.random_shapes import AnyShapeDraw, AnyShapeJob
from kernels.measure.records import slug
from kernels.measure.rows import Ceilings, Machine, Peer, Provenance, Row
from pages.benchmarks.charts.points import TITLES, Words
from pages.benchmarks.controls import ANY, family_key
from pages.kit.charts.words import duration, number, ratio
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm import results as gemm_results
from pages.kit.gemm.results import Origin, Recorded, Result, accumulation, same_gemm
from pages.kit.inert import plain
from pages.kit.origins import origins_words, row_origin
from pages.kit.view import here

_slug = lru_cache(maxsize=256)(slug)
_Some = TypeVar("_Some", bound=Result)


@dataclass(frozen=True)
class Measurement(Result):
    @cached_property
    def words(self) -> Words:
        row, gemm, torch = self.row, self.row.ours, self.row.times.get(Peer.TORCH)
        peers = {
            Peer.TORCH: torch.op if torch and torch.op else "torch’s scaled op",
            Peer.BF16: "bf16",
            Peer.SIMPLE: "the simple kernel",
            Peer.DOT_SCALED: DOT_SCALED,
        }
        against = ", ".join(f"{ratio(row.over(peer))} {peers[peer]}" for peer in peers if peer in row.times)
        peer = row.times.get(row.peer)
        beside = f", torch at {peer.clock_mhz:.0f} MHz" if peer and peer.clock_mhz else ""
        words = (
            f"{contender(row.job)}, {row.job.matmul_data.title}",
            shape_text(row.job.mnk),
            f"{duration(gemm.median_us)} ({duration(gemm.p20_us)} to {duration(gemm.p80_us)})",
            f"{number(row.tflop_s)} TFLOP/s, {number(row.gb_s)} GB/s",
            against or row.note or "no peer was timed",
            row.kernel,
            f"{timing(row.job)}, {clocks(gemm.clock_mhz, gemm.power_w)}{beside}",
            f"{self.where}, {self.when}",
        )
        return dict(zip(TITLES, words, strict=True))


@lru_cache(maxsize=2)
def _oldest_first(files: Recorded) -> tuple[Measurement, ...]:
    every = [Measurement(result.row, result.origin) for result in files.results]
    return tuple(sorted(every, key=lambda result: result.row.date))


@lru_cache(maxsize=8)
def _on_gpu(files: Recorded, gpu: str) -> tuple[Measurement, ...]:
    rows = (one for one in _oldest_first(files) if is_of(one.row.machine, gpu) and _has_point(one))
    return tuple(newest(rows))


@lru_cache(maxsize=2)
def _gpus(files: Recorded) -> tuple[str, ...]:
    records = files.records
    gemms = Counter(row.gpu for row in records.rows if row.provenance is Provenance.GPU)
    by_count = sorted(gemms, key=lambda name: (-gemms[name], name))
    return tuple(dict.fromkeys([*by_count, *(row.gpu for row in (*records.ceilings, *records.any_shape))]))


def gpus_of_files() -> tuple[str, ...]:
    """GPUs with recorded rows, the one with the most GEMMs first."""
    return _gpus(gemm_results.every_recorded())


def gpus() -> list[str]:
    """All GPUs with measurements, those of the files first."""
    mine = gpu_queue.session()
    rows = [row for row in mine.rows_of(Row) if row.provenance is Provenance.GPU]
    rows += [*mine.rows_of(Ceilings), *(row for draw in mine.rows_of(AnyShapeDraw) for row in draw.rows)]
    return list(dict.fromkeys([*gpus_of_files(), *(row.gpu for row in rows)]))


def name_of(gpu: str) -> str:
    """The GPU with this slug; the slug itself for an unknown one."""
    return next((name for name in gpus() if _slug(name) == gpu), gpu)


def is_of(machine: Machine, gpu: str) -> bool:
    return _slug(machine.name) == gpu


def results_of_files(gpu: str) -> tuple[Measurement, ...]:
    """Recorded times of Gaussian data on a GPU by its slug, the newest of each GEMM."""
    return _on_gpu(gemm_results.every_recorded(), gpu)


def results(gpu: str, *, is_any_here: bool = False) -> list[Measurement]:
    """Times of files, and of this session on the same GPU or on any, in the recipes' order."""
    here = newest(filter(_has_point, _here()))
    mine = [one for one in here if is_any_here or is_of(one.row.machine, gpu)]
    return sorted([*results_of_files(gpu), *mine], key=lambda result: order(result.row.job))


def _has_point(result: Result) -> bool:
    row = result.row
    has_time = row.provenance is Provenance.GPU and row.ours is not None
    return has_time and row.job.input is InputKind.GAUSSIAN


def _here() -> list[Measurement]:
    return [Measurement(row, Origin.HERE) for row in reversed(gpu_queue.session().rows_of(Row))]


def every_result(gpu: str) -> list[Measurement]:
    """Every recorded row of a GPU and every row of this session, the newest first."""
    every = _oldest_first(gemm_results.every_recorded())
    return [*(one for one in every if is_of(one.row.machine, gpu)), *_here()][::-1]


def newest(results: Iterable[_Some]) -> list[_Some]:
    return list({(r.origin, r.row.machine.name, same_gemm(r.row.job)): r for r in results}.values())


def of_family(results: Sequence[_Some], family: str) -> list[_Some]:
    return [r for r in results if family in (ANY, family_key(r.row.job.recipe_data.family))]


def order(job: GemmJob) -> int:
    """The place of the job's recipe; the reader's own comes last."""
    return [*RECIPES, job.recipe].index(job.recipe)


def contender(job: GemmJob) -> str:
    """The recipe with the job's settings beyond it, such as ``Per row, promoted``."""
    parts = [job.recipe_data.title]
    if accumulation(job) is not Summation.RECIPE:
        parts.append(job.accumulation.words)
    if job.into is Into.ACCUMULATE:
        parts.append("added into D")
    return ", ".join(parts)


def timing(job: GemmJob) -> str:
    """Timing of a job in words, such as ``hot L2, 4 turns of 50 ms``."""
    turns = f", {job.runs} turns" + f" of {job.turn_ms} ms" * (job.cache is Cache.HOT)
    late = f", each {job.settle_ms} ms after its first launch" if job.settle_ms else ""
    return f"{job.cache.value} L2{turns}{late}"


def clocks(clock_mhz: float | None, power_w: float | None) -> str:
    clock = f"{clock_mhz:.0f} MHz" if clock_mhz else "clock not read"
    power = f"{power_w:.0f} W" if power_w else "power not read"
    return f"{clock}, {power}"


def origins_of(results: Iterable[Result]) -> str:
    return origins_words(row_origin(one.row, one.where) for one in results)


def origin_sentence(results: Sequence[Result]) -> str:
    return plain(f"{origins_of(results)}.")


def draw_run(
    job: GemmJob | CeilingsJob | AnyShapeJob,
    label: str,
    reason: str | None = None,
    draw_partial: Callable[[Any], None] | None = None,
) -> None:
    """Draw the button that runs a job on this server's GPU, or the reason why it cannot."""
    submit = partial(gpu_queue.submit, job)
    gpu_queue.draw_run(label, submit, key="run_benchmark", place=here().more, reason=reason)
    gpu_queue.draw_queue(draw_partial)


def every_ceilings() -> tuple[Ceilings, ...]:
    return gemm_results.every_recorded().records.ceilings
