"""Facts of the page "Stochastic rounding" for the lesson."""

from fp8core.experiments.dot_noise import noise_ratio
from fp8core.experiments.rounding_sweep import RoundingError
from fp8core.experiments.weight_updates import Pull
from fp8core.formats import FORMATS
from fp8core.stochastic import Debias
from pages.kit.shared_controls import SEED
from pages.kit.widgets import Settings
from pages.stochastic_rounding.charts.noise import Path
from pages.stochastic_rounding.controls import (
    ALL_CONTROLS,
    AROUND,
    DEBIAS,
    FORMAT,
    LEVELS,
    PIXELS,
    PULL,
    RANDOM_BITS,
    RATE,
    STEPS,
    WEIGHT,
)
from pages.stochastic_rounding.mean import MeanView, mean_view
from pages.stochastic_rounding.picture import mystery, rounded
from pages.stochastic_rounding.training import dot_view, weight_path

CONTROLS = ALL_CONTROLS


def _mean_light(settings: Settings, seed: int | None) -> float:
    original = mystery()
    grid = settings[PIXELS.key], settings[LEVELS.key]
    return rounded(original.digest, original.light, *grid, seed).picture.mean()


def _mean(settings: Settings) -> MeanView:
    debias = Debias[settings[DEBIAS.key].upper()]
    return mean_view(settings[FORMAT.key], settings[AROUND.key], settings[RANDOM_BITS.key], debias)


def _noisy(settings: Settings) -> RoundingError:
    return _mean(settings).noisy[Debias[settings[DEBIAS.key].upper()]]


def _weight(settings: Settings) -> Path:
    pull = Pull[settings[PULL.key].upper()]
    run = settings[STEPS.key], settings[RANDOM_BITS.key], settings[SEED.key]
    return weight_path(settings[WEIGHT.key], settings[RATE.key], pull, *run)


def winner_of_both_signs(settings: Settings) -> str:
    errors = dot_view(settings[FORMAT.key], settings[SEED.key]).zero_mean
    return "nearest" if errors.nearest[-1] < errors.stochastic[-1] else "stochastic"


FACTS = {
    "light": lambda _: mystery().light.mean(),
    "nearest_light": lambda settings: _mean_light(settings, None),
    "noisy_light": lambda settings: _mean_light(settings, settings[SEED.key]),
    "noisy_bias": lambda settings: _noisy(settings).worst_bias,
    "nearest_bias": lambda settings: _mean(settings).nearest.worst_bias,
    "noisy_rms": lambda settings: _noisy(settings).rms,
    "nearest_step_rms": lambda settings: _mean(settings).nearest.rms,
    "exact_end": lambda settings: _weight(settings).exact[-1],
    "nearest_end": lambda settings: _weight(settings).nearest[-1],
    "noisy_end": lambda settings: _weight(settings).mean[-1],
    "noisy_deviation": lambda settings: _weight(settings).deviation[-1],
    "update": lambda settings: abs(_weight(settings).update),
    # Half the gap to the next value where nearest stands still; 0 where it moves.
    "half_gap": lambda settings: getattr(_weight(settings).freeze, "half_gap", 0.0),
    "winner_of_both_signs": winner_of_both_signs,
    # Stochastic's error over nearest's where signs cancel: the mean over all draws.
    "loser_ratio": lambda settings: noise_ratio(FORMATS[settings[FORMAT.key]]),
}
