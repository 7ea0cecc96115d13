"""Facts of the page "Stochastic rounding" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping
from typing import Any

from fp8core.experiments.dot_noise import noise_ratio
from fp8core.experiments.weight_updates import Pull
from fp8core.formats import FORMATS
from fp8core.stochastic import Debias
from pages.kit.shared_controls import SEED
from pages.stochastic_rounding.controls import (
    ALL_CONTROLS,
    AROUND,
    BLUR,
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
from pages.stochastic_rounding.data import (
    TERMS,
    DotView,
    MeanView,
    RoundedPicture,
    WeightView,
    dot_view,
    mean_view,
    mystery,
    rounded_picture,
    weight_view,
)

Settings = Mapping[str, Any]

CONTROLS = ALL_CONTROLS


def _picture(settings: Settings) -> RoundedPicture:
    """The mystery picture, rounded both ways."""
    shown = mystery()
    grid = settings[PIXELS.key], settings[LEVELS.key]
    return rounded_picture(shown.digest, shown.light, *grid, settings[SEED.key])


def _mean(settings: Settings) -> MeanView:
    debias = Debias[settings[DEBIAS.key].upper()]
    return mean_view(settings[FORMAT.key], settings[AROUND.key], settings[RANDOM_BITS.key], debias)


def noisy_bias(settings: Settings) -> float:
    """The largest error of the mean of stochastic rounding, in steps."""
    return _mean(settings).noisy[Debias[settings[DEBIAS.key].upper()]].worst_bias


def noisy_rms(settings: Settings) -> float:
    """The rms error of one stochastic rounding, in steps."""
    return _mean(settings).noisy[Debias[settings[DEBIAS.key].upper()]].rms


def _weight(settings: Settings) -> WeightView:
    pull = Pull[settings[PULL.key].upper()]
    run = settings[STEPS.key], settings[RANDOM_BITS.key], settings[SEED.key]
    return weight_view(settings[WEIGHT.key], settings[RATE.key], pull, *run)


def half_gap(settings: Settings) -> float:
    """Half the gap to the next value where nearest stands still; 0 where it moves."""
    freeze = _weight(settings).freeze
    return 0.0 if freeze is None else freeze.half_gap


def _dot(settings: Settings) -> DotView:
    return dot_view(settings[FORMAT.key], settings[SEED.key])


def winner_of_both_signs(settings: Settings) -> str:
    """The rounding of the smaller error at the longest sum, where the terms have both signs."""
    errors = _dot(settings).zero_mean
    return "nearest" if errors.nearest[-1] < errors.stochastic[-1] else "stochastic"


def loser_ratio(settings: Settings) -> float:
    """Stochastic's error over nearest's where the terms have both signs: what all draws have in the mean."""
    return noise_ratio(FORMATS[settings[FORMAT.key]])


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "light": lambda _: mystery().light.mean(),
    "nearest_light": lambda settings: _picture(settings).nearest.mean(),
    "noisy_light": lambda settings: _picture(settings).noisy.mean(),
    "nearest_rms": lambda settings: _picture(settings).nearest_rms[settings[BLUR.key]],
    "noisy_rms_light": lambda settings: _picture(settings).noisy_rms[settings[BLUR.key]],
    "noisy_bias": noisy_bias,
    "nearest_bias": lambda settings: _mean(settings).nearest.worst_bias,
    "noisy_rms": noisy_rms,
    "nearest_step_rms": lambda settings: _mean(settings).nearest.rms,
    "exact_end": lambda settings: _weight(settings).walk.exact[-1],
    "nearest_end": lambda settings: _weight(settings).walk.nearest[-1],
    "noisy_end": lambda settings: _weight(settings).walk.mean[-1],
    "noisy_deviation": lambda settings: _weight(settings).walk.deviation[-1],
    "update": lambda settings: abs(_weight(settings).update),
    "half_gap": half_gap,
    "terms": lambda _: TERMS[-1],
    "winner_of_both_signs": winner_of_both_signs,
    "loser_ratio": loser_ratio,
    "same_sign_nearest": lambda settings: _dot(settings).same_sign.nearest[-1],
    "same_sign_noisy": lambda settings: _dot(settings).same_sign.stochastic[-1],
}
