"""Facts of the page "Benchmarks" for the lesson, of recorded rows."""

from collections.abc import Callable

from fp8core.linear import MATMULS
from fp8core.recipes import Family
from kernels.measure.jobs import Cache
from kernels.measure.peak_rates import Rate, peak_rates_of
from kernels.measure.records import slug
from kernels.measure.rows import Ceilings, Peer, Row
from pages.benchmarks import data
from pages.benchmarks.controls import CACHE, CONTROLS, SHAPE, SHAPES
from pages.benchmarks.cost import by_recipe, first_per_tensor, is_plain
from pages.kit.shared_controls import MATMUL
from pages.kit.widgets import Settings

__all__ = ["CONTROLS", "FACTS"]


def gpu(_settings: Settings) -> str:
    """The GPU with the most recorded rows. Raises ValueError without any."""
    names = data.gpus_of_files()
    if not names:
        raise ValueError("no rows of a GPU are recorded")
    return names[0]


def _results(settings: Settings) -> list[data.Measurement]:
    matmul, preset = settings[MATMUL.key], SHAPES[settings[SHAPE.key]]
    mnk, cache = tuple(preset.mnk(MATMULS[matmul]).values()), Cache(settings[CACHE.key])
    rows = data.results_of_files(slug(gpu(settings)))
    return by_recipe([row for row in rows if is_plain(row, matmul, mnk, cache)])


def _gain_of(family: Family) -> Callable[[Settings], float]:
    """The speed of a family's first recipe over bf16, the matmul alone."""

    def gain(settings: Settings) -> float:
        of_family = (one.row for one in _results(settings) if one.row.job.recipe_data.family is family)
        if (row := next(of_family, None)) is None:
            raise ValueError(f"no recipe of the family {family.value} is recorded for these settings")
        return row.over(Peer.BF16)

    return gain


def _per_tensor(settings: Settings) -> Row:
    result = first_per_tensor(_results(settings))
    if result is None:
        raise ValueError("no per-tensor recipe is recorded for these settings")
    return result.row


def _ceilings(settings: Settings) -> Ceilings:
    """The newest recorded ceilings of the GPU, with fp8. Raises ValueError without any."""
    name = gpu(settings)
    ceilings = [one for one in data.every_ceilings() if one.machine.name == name and Peer.FP8 in one.times]
    if not ceilings:
        raise ValueError(f"no ceilings of {name} are recorded")
    return ceilings[-1]


def peak_fp8(settings: Settings) -> float:
    """TFLOP/s of fp8 by the datasheet. Raises ValueError without one."""
    rates = peak_rates_of(gpu(settings))
    if rates is None or rates.tflop_s[Rate.FP8] is None:
        raise ValueError(f"no fp8 rate of {gpu(settings)} is on a datasheet here")
    return rates.tflop_s[Rate.FP8]


def ceiling_fp8(settings: Settings) -> float:
    return _ceilings(settings).rate(Peer.FP8)


FACTS = {
    "gpu": gpu,
    "peak_fp8": peak_fp8,
    "ceiling_fp8": ceiling_fp8,
    "ceiling_share": lambda settings: ceiling_fp8(settings) / peak_fp8(settings),
    "ceiling_gain": lambda settings: ceiling_fp8(settings) / _ceilings(settings).rate(Peer.BF16),
    "ceiling_mhz": lambda settings: _ceilings(settings).times[Peer.FP8].clock_mhz or 0.0,
    "fp8_gain": lambda settings: _per_tensor(settings).over(Peer.BF16),
    "fp8_gain_all": lambda settings: _per_tensor(settings).over_bf16_with_quantize,
    "blocks_gain": _gain_of(Family.BLOCKS),
    "mx_gain": _gain_of(Family.MX),
}
