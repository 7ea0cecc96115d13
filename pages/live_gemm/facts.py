"""Facts of the page "Live GEMM" for the lesson: the recorded row of the GEMM that its controls describe."""

from collections.abc import Callable, Mapping

from fp8core.inputs import InputKind
from kernels.bench.job import GemmJob
from kernels.bench.row import Row
from kernels.gemm.meaning import Summation
from pages.kit.gemm.results import is_answer, recorded
from pages.kit.shared_controls import MATMUL, OWN, RECIPE, SEED
from pages.kit.widgets import Value
from pages.live_gemm.controls import ACCUMULATION, INPUT, RUNS, K, M, N
from pages.live_gemm.controls import CONTROLS as ALL

Settings = Mapping[str, Value]

CONTROLS = ALL


def _row(settings: Settings) -> Row:
    """The recorded row that the page shows. Raises ValueError where there is none."""
    job = GemmJob(
        recipe=settings[RECIPE.key],
        own=settings[OWN.key],
        matmul=settings[MATMUL.key],
        **{control.key: settings[control.key] for control in (M, N, K)},
        input=InputKind(settings[INPUT.key]),
        seed=settings[SEED.key],
        accumulation=Summation(settings[ACCUMULATION.key]),
        runs=settings[RUNS.key],
    )
    found = next((result.row for result in recorded(job) if is_answer(result.row, job)), None)
    if found is None:
        raise ValueError(f"no row of {job.recipe} is recorded for {job.m} × {job.n} × {job.k}")
    return found


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "machine": lambda settings: _row(settings).machine.name,
    "date": lambda settings: _row(settings).date,
    "times_bf16": lambda settings: _row(settings).times_bf16 or 0.0,
    "rel_err": lambda settings: _row(settings).rel_err,
    "kernel_rel_err": lambda settings: _row(settings).kernel_rel_err,
    "kernel_share": lambda settings: _row(settings).kernel_rel_err / _row(settings).rel_err,
}
