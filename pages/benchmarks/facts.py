"""Facts of the page "Benchmarks" for the lesson: recorded rows of the GPU that the page opens with."""

from collections.abc import Callable, Mapping

from fp8core.linear import MATMULS
from fp8core.recipes import Family
from kernels.bench.ceilings import Ceilings
from kernels.bench.ceilings.peak_rates import PeakRates, Rate, peak_rates_of
from kernels.bench.job import Cache
from kernels.bench.records import slug
from pages.benchmarks import data
from pages.benchmarks.controls import CACHE, CONTROLS, SHAPE, SHAPES
from pages.benchmarks.cost import Run, by_recipe, first_per_tensor, is_asked
from pages.kit.gemm.results import every_ceilings
from pages.kit.shared_controls import MATMUL
from pages.kit.widgets import Value

Settings = Mapping[str, Value]
__all__ = ["CONTROLS", "FACTS"]


def gpu(_settings: Settings) -> str:
    """The GPU with the most recorded rows. Raises ValueError where nothing is recorded."""
    names = data.recorded_gpus()
    if not names:
        raise ValueError("no rows of a GPU are recorded")
    return names[0]


def _runs(settings: Settings) -> list[Run]:
    """The recorded runs of the chosen matmul, shape and cache, one a recipe."""
    matmul, preset = settings[MATMUL.key], SHAPES[settings[SHAPE.key]]
    mnk, cache = tuple(preset.mnk(MATMULS[matmul]).values()), Cache(settings[CACHE.key])
    rows = data.recorded(slug(gpu(settings)))
    return by_recipe([row for row in rows if is_asked(row, matmul, mnk, cache)])


def _of_family(family: Family) -> Callable[[Settings], Run]:
    def run(settings: Settings) -> Run:
        of_family = (one for one in _runs(settings) if one.recipe.family is family)
        if (first := next(of_family, None)) is None:
            raise ValueError(f"no recipe of the family {family.value} is recorded for these settings")
        return first

    return run


def _per_tensor(settings: Settings) -> Run:
    """The first recipe with one scale a tensor."""
    run = first_per_tensor(_runs(settings))
    if run is None:
        raise ValueError("no per-tensor recipe is recorded for these settings")
    return run


def _gain(find: Callable[[Settings], Run]) -> Callable[[Settings], float]:
    """Speed over bf16 in the same run, the matmul alone."""
    return lambda settings: 1.0 / find(settings).matmul


def fp8_gain_all(settings: Settings) -> float:
    """Speed of one scale per tensor over bf16, with the time of quantizing both operands."""
    run = _per_tensor(settings)
    return 1.0 / (run.matmul + (run.quantize or 0.0))


def _ceilings(settings: Settings) -> Ceilings:
    """The newest recorded ceilings of the GPU, with fp8. Raises ValueError where there are none."""
    name = gpu(settings)
    ceilings = [one for one in every_ceilings() if one.machine.name == name and one.fp8_tflop_s]
    if not ceilings:
        raise ValueError(f"no ceilings of {name} are recorded")
    return ceilings[-1]


def _datasheet(settings: Settings) -> PeakRates:
    rates = peak_rates_of(gpu(settings))
    if rates is None:
        raise ValueError(f"no datasheet of {gpu(settings)} is kept")
    return rates


def peak_fp8(settings: Settings) -> float:
    """TFLOP/s of fp8 that the datasheet promises."""
    return _datasheet(settings).tflop_s[Rate.FP8] or 0.0


def ceiling_fp8(settings: Settings) -> float:
    """TFLOP/s of torch's fp8 matmul, measured."""
    return _ceilings(settings).fp8_tflop_s.median


def ceiling_gain(settings: Settings) -> float:
    """torch's fp8 matmul over its bf16 matmul, both measured at their ceiling."""
    return ceiling_fp8(settings) / _ceilings(settings).bf16_tflop_s.median


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "gpu": gpu,
    "peak_fp8": peak_fp8,
    "ceiling_fp8": ceiling_fp8,
    "ceiling_share": lambda settings: ceiling_fp8(settings) / peak_fp8(settings),
    "ceiling_gain": ceiling_gain,
    "ceiling_mhz": lambda settings: _ceilings(settings).fp8_tflop_s.clock_mhz or 0.0,
    "fp8_gain": _gain(_per_tensor),
    "fp8_gain_all": fp8_gain_all,
    "blocks_gain": _gain(_of_family(Family.BLOCKS)),
    "mx_gain": _gain(_of_family(Family.MX)),
}
