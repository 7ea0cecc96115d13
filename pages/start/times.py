"""The time of one layer in bf16 and in fp8: measured in this session, or recorded."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import RECIPES
from kernels.bench.job import Cache, GemmJob, Into
from kernels.bench.row import Provenance, Row
from kernels.gemm.meaning import Summation
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm import results as gemm_results
from pages.kit.gemm.results import Origin, Recorded, Result, accumulation

_FOLDERS_KEPT = 2


@dataclass(frozen=True, kw_only=True)
class LayerTimes:
    """Microseconds of some of a layer's matmuls together, in bf16 and in the recipe.

    `quantize_us` is what quantizing the operands of these matmuls takes.
    """

    recipe: str
    layer: LayerShape
    matmuls: tuple[str, ...]
    bf16_us: float
    gemm_us: float
    quantize_us: float
    where: str
    when: str

    @property
    def fp8_us(self) -> float:
        """All that fp8 takes."""
        return self.gemm_us + self.quantize_us

    @property
    def times_faster(self) -> float:
        """The speed of fp8 over that of bf16, quantizing counted."""
        return self.bf16_us / self.fp8_us


def layer_times() -> LayerTimes | None:
    """The layer of this session's newest run on a GPU; else the largest recorded one that has all matmuls,
    on the GPU with most recorded rows. None where there is neither.
    """
    here = [Result(row, Origin.HERE) for row in gpu_queue.session().rows_of(Row) if _is_timed(row)]
    if here:
        return _together([result for result in here if _same(result.row) == _same(here[0].row)])
    return _recorded(gemm_results.every_recorded())


@lru_cache(maxsize=_FOLDERS_KEPT)
def _recorded(recorded: Recorded) -> LayerTimes | None:
    groups: dict[object, list[Result]] = {}
    for result in sorted(recorded.results, key=lambda one: one.row.date, reverse=True):
        if _is_timed(result.row) and _is_usual(result.row.job):
            groups.setdefault(_same(result.row), []).append(result)
    whole = [found for found in map(_once, groups.values()) if len(found) == len(MATMULS)]
    order, rows = list(RECIPES), Counter(result.row.machine.name for result in recorded.results)

    def place(found: list[Result]) -> tuple[float, int, int]:
        first = found[0].row
        return -_flop(found), order.index(first.job.recipe), -rows[first.machine.name]

    best = min(whole, key=place, default=None)
    return None if best is None else _together(best)


def _is_timed(row: Row) -> bool:
    """True for a row with every time that the comparison needs."""
    return row.provenance is Provenance.GPU and None not in (row.gemm, row.bf16, row.quantize)


def _is_usual(job: GemmJob) -> bool:
    """True for a job as a training step has it."""
    usual = job.cache is Cache.HOT and job.into is Into.NEW and job.input is InputKind.GAUSSIAN
    return usual and job.recipe in RECIPES and accumulation(job) is Summation.RECIPE


def _same(row: Row) -> tuple[object, ...]:
    """What the rows of one layer on one GPU have in common."""
    job = row.job
    layer = job.matmul_data.layer(job.m, job.n, job.k)
    return row.machine.name, job.recipe, job.own, layer, job.input, job.cache, job.into, accumulation(job)


def _once(found: Iterable[Result]) -> list[Result]:
    """The first result of each matmul, in the order of the matmuls."""
    by_matmul: dict[str, Result] = {}
    for result in found:
        by_matmul.setdefault(result.row.job.matmul, result)
    return [by_matmul[name] for name in MATMULS if name in by_matmul]


def _flop(found: Sequence[Result]) -> float:
    return sum(result.row.job.flop for result in found)


def _together(found: Iterable[Result]) -> LayerTimes:
    results = _once(found)
    first = results[0]
    job = first.row.job

    def total(field: str) -> float:
        return sum(getattr(result.row, field).median_us for result in results)

    return LayerTimes(
        recipe=job.recipe_data.title,
        layer=job.matmul_data.layer(job.m, job.n, job.k),
        matmuls=tuple(result.row.job.matmul_data.title for result in results),
        bf16_us=total("bf16"),
        gemm_us=total("gemm"),
        quantize_us=total("quantize"),
        where=first.where,
        when=first.when,
    )
