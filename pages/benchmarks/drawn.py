"""The GEMMs of random draws: recorded ones, and those that this session drew on this server's GPU."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.bench.any_shape import AnyShapeRow
from kernels.bench.any_shape.job import AnyShapeDraw, LeftOut
from kernels.bench.lines import slug
from kernels.gemm.blocks import Body
from kernels.gemm.bodies import BODIES
from pages.benchmarks.charts.any_shape import DrawnPoint
from pages.benchmarks.controls import ANY, family_key
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm import results as gemm_results
from pages.kit.gemm.results import Recorded
from pages.kit.gemm.words import duration
from pages.kit.origins import Measured, recorded_on, told, told_versions

_FOLDERS_KEPT = 2
_BODIES = {body.value: BODIES[body].title for body in Body}


@dataclass(frozen=True, eq=False)
class Drawn:
    """A drawn GEMM; it was timed in this session, or recorded. What is said of it is worked out once."""

    row: AnyShapeRow
    is_here: bool

    @cached_property
    def series(self) -> str:
        """The recipe, with its peer where that is not torch's own op. Those of this session are apart."""
        peer = " ÷ bf16" * self.row.is_against_bf16
        return RECIPES[self.row.recipe].title + peer + ", here" * self.is_here

    @cached_property
    def where(self) -> str:
        """The machine, the day, the versions and the seed."""
        return f"{told([self.measured])}, seed {self.row.seed}"

    @cached_property
    def measured(self) -> Measured:
        """The machine, the day and the versions, apart."""
        row = self.row
        place = f"GPU: {row.gpu}" if self.is_here else recorded_on(row.gpu)
        return Measured(
            place=place, date=row.date, versions=told_versions(row.versions), commit=row.commit or ""
        )

    @cached_property
    def point(self) -> DrawnPoint:
        row = self.row
        regret = "not searched" if row.regret is None else f"{row.regret:.1%}"
        return DrawnPoint(
            series=self.series,
            recipe=row.recipe,
            is_here=self.is_here,
            intensity=row.intensity,
            ratio=row.ratio,
            told=(
                f"{RECIPES[row.recipe].title}, {MATMULS[row.matmul].title}",
                " × ".join(map(str, row.mnk)),
                f"{duration(row.ours_us)}, {row.tflop_s:,.0f} TFLOP/s",
                f"{duration(row.peer_us)}, {row.peer}",
                f"{_BODIES.get(row.body, row.body)}, {row.blocks_title}",
                regret,
                self.where,
            ),
        )


def gpus() -> Sequence[str]:
    """The names of the GPUs with drawn GEMMs, recorded ones first."""
    recorded = (found[0] for found in _recorded(gemm_results.every_recorded()).values())
    return list(dict.fromkeys(one.row.gpu for one in (*recorded, *_here())))


def of(gpu: str, matmul: str, family: str) -> list[Drawn]:
    """The drawn GEMMs of a GPU by its slug, and those of this session, in the order of the recipes."""
    here = [one for one in _here() if one.row.matmul == matmul]
    recorded = _recorded(gemm_results.every_recorded()).get((gpu, matmul), ())
    found = _in_order([*recorded, *here]) if here else recorded
    return [one for one in found if family in (ANY, family_key(RECIPES[one.row.recipe].family))]


def of_draw(draw: AnyShapeDraw) -> list[Drawn]:
    """The GEMMs of a draw that was made here."""
    return [Drawn(row, is_here=True) for row in draw.rows]


def left_out(matmul: str) -> list[LeftOut]:
    """The GEMMs of this session's draws that could not be timed."""
    draws = gpu_queue.session().rows_of(AnyShapeDraw)
    return [one for draw in draws if draw.job.matmul == matmul for one in draw.left_out]


def _in_order(found: Iterable[Drawn]) -> list[Drawn]:
    places = {name: place for place, name in enumerate(RECIPES)}
    return sorted(found, key=lambda one: (places[one.row.recipe], one.row.is_against_bf16, one.is_here))


@lru_cache(maxsize=_FOLDERS_KEPT)
def _recorded(recorded: Recorded) -> Mapping[tuple[str, str], Sequence[Drawn]]:
    """The newest recorded row of each GEMM, by the slug of its GPU and the matmul."""
    found: dict[tuple[str, str], list[Drawn]] = {}
    for one in _newest(Drawn(row, is_here=False) for row in recorded.records.any_shape):
        found.setdefault((slug(one.row.gpu), one.row.matmul), []).append(one)
    return {of_what: _in_order(members) for of_what, members in found.items()}


def _here() -> Sequence[Drawn]:
    """Those of this session, oldest first."""
    draws = reversed(gpu_queue.session().rows_of(AnyShapeDraw))
    return _newest(one for draw in draws for one in of_draw(draw))


def _newest(found: Iterable[Drawn]) -> list[Drawn]:
    """The last one of each GEMM on each GPU."""
    return list({(one.row.gpu, one.row.recipe, one.row.matmul, one.row.mnk): one for one in found}.values())
