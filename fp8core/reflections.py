"""A uniformly random rotation as a product of reflections, without its matrix.

One reflection a dim, along a Gaussian vector with zeros before that dim. With random signs at the end, every
rotation is equally likely (Stewart, SIAM J. Numer. Anal. 17, 1980, 403-409). A vector takes about 2 · size²
operations; a QR decomposition would take size³.
"""

from dataclasses import dataclass

import numpy as np

from fp8core.arrays import Float64

_TOGETHER = 64
"""Reflections in one step: matrix products are faster than vectors one by one."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """Reflections from dim `start` on, together: I - V T Vᵀ.

    `axes` V float64[size - start, n]: unit vectors. `weights` T float64[n, n]: upper triangular.
    """

    start: int
    axes: Float64
    weights: Float64

    def reflect(self, y: Float64, *, back: bool) -> None:
        """Change y[vectors, size] in place; `back` undoes it."""
        part = y[:, self.start :]
        part -= ((part @ self.axes) @ (self.weights.T if back else self.weights)) @ self.axes.T


@dataclass(frozen=True, kw_only=True)
class Reflections:
    """Rotation or reflection of vectors [n, size]: all steps, then `signs` float64[size]."""

    steps: tuple[Step, ...]
    signs: Float64

    def apply(self, x: Float64) -> Float64:
        y = x.copy()
        for step in self.steps:
            step.reflect(y, back=False)
        return y * self.signs

    def undo(self, y: Float64) -> Float64:
        """float64[n, size]: y Rᵀ."""
        x = y * self.signs
        for step in reversed(self.steps):
            step.reflect(x, back=True)
        return x


def draw_reflections(size: int, seed: int) -> Reflections:
    """Draw a rotation or reflection of `size` dims, uniformly; equal seeds give equal ones."""
    rng = np.random.default_rng(seed)
    steps, signs = zip(*(_step(size, start, rng) for start in range(0, size, _TOGETHER)), strict=True)
    return Reflections(steps=steps, signs=np.concatenate(signs))


def _step(size: int, start: int, rng: np.random.Generator) -> tuple[Step, Float64]:
    number = min(_TOGETHER, size - start)
    axes = np.tril(rng.standard_normal((size - start, number)))
    at = np.arange(number)
    sign = np.where(axes[at, at] < 0, -1.0, 1.0)
    # A reflection takes its vector to the axis of its first dim. Of the two that do, this one is exact.
    axes[at, at] += sign * np.linalg.norm(axes, axis=0)
    axes /= np.linalg.norm(axes, axis=0)
    overlaps = np.triu(axes.T @ axes, 1) + np.eye(number) / 2
    return Step(start=start, axes=axes, weights=np.linalg.inv(overlaps)), -sign
