"""Gradient descent on a linear layer whose gradients are rounded to a format, under a fixed scale.

w ← w - rate · round(g · 2**k) / 2**k. Inputs, and so gradients, differ in size; `rate` has an entry a weight:
without rounding all learn equally fast.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fp8core.arrays import Float64
from fp8core.formats import Format
from fp8core.rounding import Overflow

SAMPLES, WEIGHTS = 1 << 6, 1 << 5
STEPS = 100
LOG2_SCALES = tuple(range(-20, 21))
OCTAVES = 4
"""Inputs' sizes reach so many octaves around 1."""
_SLOWNESS = 8
_SEED = 0


@dataclass(frozen=True, kw_only=True)
class ScaledRuns:
    """A run for each of LOG2_SCALES.

    `losses` float64[scales, steps + 1]: before each step and after the last; `exact` float64[steps + 1]:
    without rounding. `zeros`, `beyond` float64[scales]: shares of gradients that became zero, or overflowed.
    """

    losses: Float64
    exact: Float64
    zeros: Float64
    beyond: Float64

    def ended(self, log2_scale: int) -> int | None:
        """Step after which a run's loss is not finite, or None."""
        is_infinite = ~np.isfinite(self.losses[LOG2_SCALES.index(log2_scale)])
        return int(np.argmax(is_infinite)) if is_infinite.any() else None

    @property
    def first_lost(self) -> int | None:
        """Smallest scale, as log2, whose run ends early."""
        return next((k for k in LOG2_SCALES if self.ended(k) is not None), None)


@lru_cache(maxsize=16)
def scaled_runs(format_: Format, overflow: Overflow) -> ScaledRuns:
    """All runs of a format. Raises ValueError if it has no code for this overflow."""
    losses, zeros, beyond = _descend(format_, overflow)
    exact = _descend(None, overflow)[0][0]
    return ScaledRuns(losses=losses, exact=exact, zeros=zeros, beyond=beyond)


def _layer() -> tuple[Float64, Float64, Float64]:
    """Inputs [samples, weights], target outputs [samples], and rates [weights]."""
    rng = np.random.default_rng(_SEED)
    x = rng.standard_normal((SAMPLES, WEIGHTS)) * 2.0 ** rng.uniform(-OCTAVES, OCTAVES, WEIGHTS)
    energy = (x**2).mean(axis=0)
    targets = x @ (rng.standard_normal(WEIGHTS) / np.sqrt(energy))
    return x, targets, 1 / (_SLOWNESS * energy)


def _descend(format_: Format | None, overflow: Overflow) -> tuple[Float64, Float64, Float64]:
    x, targets, rate = _layer()
    scale = np.exp2(LOG2_SCALES)[:, None] if format_ else np.ones((1, 1))
    w = np.zeros((len(scale), WEIGHTS))
    losses, zeros, beyond = [], np.zeros(len(scale)), np.zeros(len(scale))
    with np.errstate(invalid="ignore", over="ignore"):
        for _ in range(STEPS):
            error = w @ x.T - targets
            losses.append((error**2).mean(axis=1) / 2)
            step = error @ x / SAMPLES
            if format_:
                numbers = step * scale
                values = format_.decode(format_.encode(numbers, overflow=overflow))
                zeros += ((values == 0) & (step != 0)).mean(axis=1)
                beyond += (np.abs(numbers) > format_.max).mean(axis=1)
                step = values / scale
            w = w - rate * step
        losses.append(((w @ x.T - targets) ** 2).mean(axis=1) / 2)
    return np.array(losses).T, zeros / STEPS, beyond / STEPS
