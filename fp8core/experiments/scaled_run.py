"""Gradient descent on a linear layer whose gradients are rounded to a format, under one fixed scale.

Step by step, w ← w - rate · round(g · 2**k) / 2**k. The layer's inputs differ in size, and so do the
gradients. `rate` has an entry a weight, so that without rounding all weights learn equally fast.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import Format
from fp8core.rounding import Overflow

SAMPLES, WEIGHTS = 1 << 6, 1 << 5
STEPS = 100
LOG2_SCALES = tuple(range(-20, 21))
OCTAVES = 4
"""Inputs are up to so many octaves larger or smaller than 1."""
_SLOWNESS = 8
_SEED = 0


@dataclass(frozen=True, kw_only=True)
class ScaledRuns:
    """A run for each of LOG2_SCALES.

    `losses` float64[scales, steps + 1] are the losses before each step and after the last, `exact`
    float64[steps + 1] those without rounding. `zeros` and `beyond` float64[scales] are shares of gradients:
    those that became zero, and those beyond the largest value.
    """

    losses: NDArray[np.float64]
    exact: NDArray[np.float64]
    zeros: NDArray[np.float64]
    beyond: NDArray[np.float64]

    def ended(self, log2_scale: int) -> int | None:
        """The step after which a run has no finite loss any more; None where it has one to the end."""
        lost = ~np.isfinite(self.losses[LOG2_SCALES.index(log2_scale)])
        return int(np.argmax(lost)) if lost.any() else None

    @property
    def first_lost(self) -> int | None:
        """The smallest scale, as log2, under which the run ends early."""
        return next((k for k in LOG2_SCALES if self.ended(k) is not None), None)


@lru_cache(maxsize=16)
def scaled_runs(format_: Format, overflow: Overflow) -> ScaledRuns:
    """Every run of a format.

    Raises ValueError where the format has no code for this overflow.
    """
    losses, zeros, beyond = _descend(format_, overflow)
    exact = _descend(None, overflow)[0][0]
    return ScaledRuns(losses=losses, exact=exact, zeros=zeros, beyond=beyond)


def _layer() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Inputs [samples, weights], the outputs that are wanted [samples], and the rates [weights]."""
    rng = np.random.default_rng(_SEED)
    x = rng.standard_normal((SAMPLES, WEIGHTS)) * 2.0 ** rng.uniform(-OCTAVES, OCTAVES, WEIGHTS)
    energy = (x**2).mean(axis=0)
    wanted = x @ (rng.standard_normal(WEIGHTS) / np.sqrt(energy))
    return x, wanted, 1 / (_SLOWNESS * energy)


def _descend(
    format_: Format | None, overflow: Overflow
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The losses of a run for each scale, and the shares of both kinds; one run without a format."""
    x, wanted, rate = _layer()
    scale = np.exp2(LOG2_SCALES)[:, None] if format_ else np.ones((1, 1))
    w = np.zeros((len(scale), WEIGHTS))
    losses, zeros, beyond = [], np.zeros(len(scale)), np.zeros(len(scale))
    with np.errstate(invalid="ignore", over="ignore"):
        for _ in range(STEPS):
            error = w @ x.T - wanted
            losses.append((error**2).mean(axis=1) / 2)
            step = error @ x / SAMPLES
            if format_:
                scaled = step * scale
                rounded = format_.decode(format_.encode(scaled, overflow=overflow))
                zeros += ((rounded == 0) & (step != 0)).mean(axis=1)
                beyond += (np.abs(scaled) > format_.max).mean(axis=1)
                step = rounded / scale
            w = w - rate * step
        losses.append(((w @ x.T - wanted) ** 2).mean(axis=1) / 2)
    return np.array(losses).T, zeros / STEPS, beyond / STEPS
