"""Seeded series of a tensor's amax over training steps, on which to try scales from earlier steps."""

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from fp8core.checks import instance, whole


class SeriesKind(Enum):
    """How amax moves from step to step."""

    STEADY = "steady"
    SPIKES = "spikes"
    DRIFT = "drift"
    WARMUP = "warmup"


@dataclass(frozen=True)
class SeriesNote:
    """A kind in words: a title and the exact rule."""

    title: str
    rule: str


JITTER_OCTAVES = 0.2
SPIKE_CHANCE = 0.04
SPIKE_OCTAVES = (3.0, 7.0)
DRIFT_OCTAVES = 8.0
WARMUP_SHARE = 0.15
WARMUP_OCTAVES = 6.0
DECAY_OCTAVES = 4.0

_JITTER = f"2^({JITTER_OCTAVES:g} · N(0, 1))"

SERIES_NOTES: dict[SeriesKind, SeriesNote] = {
    SeriesKind.STEADY: SeriesNote("Steady", f"1 times {_JITTER} at every step"),
    SeriesKind.SPIKES: SeriesNote(
        "Spikes",
        f"steady, and each step with a chance of {SPIKE_CHANCE:.0%} times a factor from "
        f"{2 ** SPIKE_OCTAVES[0]:g} to {2 ** SPIKE_OCTAVES[1]:g}, evenly in octaves",
    ),
    SeriesKind.DRIFT: SeriesNote(
        "Drift", f"grows {2**DRIFT_OCTAVES:g}-fold over the series, evenly in octaves, times {_JITTER}"
    ),
    SeriesKind.WARMUP: SeriesNote(
        "Warm-up, then decay",
        f"grows {2**WARMUP_OCTAVES:g}-fold over the first {WARMUP_SHARE:.0%} of the steps, as gradients do "
        f"while the learning rate warms up, then falls to 1/{2**DECAY_OCTAVES:g} as a cosine, times "
        f"{_JITTER}; spikes as above",
    ),
}


def amax_series(kind: SeriesKind, steps: int, seed: int) -> NDArray[np.float64]:
    """float64[steps], all above 0: the amax of each step. Equal arguments give equal numbers.

    Raises ValueError for fewer than 1 step.
    """
    whole("a seed", seed, 0)
    if whole("the number of steps", steps) < 1:
        raise ValueError(f"a series has at least 1 step, got {steps}")
    rng = np.random.default_rng(seed)
    octaves = JITTER_OCTAVES * rng.standard_normal(steps)
    spikes = np.where(rng.random(steps) < SPIKE_CHANCE, rng.uniform(*SPIKE_OCTAVES, steps), 0.0)
    along = np.arange(steps) / max(steps - 1, 1)
    match instance("kind", kind, SeriesKind):
        case SeriesKind.STEADY:
            pass
        case SeriesKind.SPIKES:
            octaves += spikes
        case SeriesKind.DRIFT:
            octaves += DRIFT_OCTAVES * along
        case SeriesKind.WARMUP:
            decay = np.clip((along - WARMUP_SHARE) / (1 - WARMUP_SHARE), 0.0, 1.0)
            octaves += WARMUP_OCTAVES * np.minimum(along / WARMUP_SHARE, 1.0)
            octaves -= DECAY_OCTAVES * (1 - np.cos(np.pi * decay)) / 2
            octaves += spikes
        case _:
            assert_never(kind)
    return np.exp2(octaves)
