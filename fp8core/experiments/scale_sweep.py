"""The cost of a scale: the error of one tensor under many scales, and its parts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.checks import reals
from fp8core.errors import split_error
from fp8core.formats import Format


@dataclass(frozen=True, kw_only=True)
class ScaleSweep:
    """The errors under each scale; every array has the shape of `scale`.

    It has the three parts of the squared error ‖e‖² / ‖x‖² (fp8core.errors). It also has two shares of
    elements: those that saturate, and those that are not zero but become zero.
    """

    scale: NDArray[np.float64]
    saturation: NDArray[np.float64]
    deadzone: NDArray[np.float64]
    grid: NDArray[np.float64]
    saturated_share: NDArray[np.float64]
    dead_share: NDArray[np.float64]

    @property
    def total(self) -> NDArray[np.float64]:
        return self.saturation + self.deadzone + self.grid

    @property
    def sqnr_db(self) -> NDArray[np.float64]:
        """-10 log10 of the squared relative error; inf where there is none."""
        with np.errstate(divide="ignore"):
            return -10.0 * np.log10(self.total)

    @property
    def best(self) -> int:
        """Index of the scale with the smallest error, the first of equals."""
        return int(np.argmin(self.total))

    def near_best(self, within_db: float) -> tuple[int, int]:
        """First and last index of the unbroken stretch around the best with SQNR within `within_db` of it."""
        inside = self.sqnr_db >= self.sqnr_db[self.best] - within_db
        first = last = self.best
        while first > 0 and inside[first - 1]:
            first -= 1
        while last < inside.size - 1 and inside[last + 1]:
            last += 1
        return first, last


def sweep_scale(x: ArrayLike, format_: Format, scales: ArrayLike) -> ScaleSweep:
    """The error of decode(encode(x / scale)) · scale for every one of `scales`, in float64.

    The encoding rounds to nearest even and saturates. Raises ValueError where all of x is zero, or a scale is
    not above 0.
    """
    x = reals("x", x).astype(np.float64).ravel()
    scales = np.atleast_1d(reals("scales", scales).astype(np.float64))
    if not (scales > 0).all():
        raise ValueError(f"a scale is above 0, got {scales.min()}")
    parts = [
        split_error(x, format_.decode(format_.encode(x / scale)) * scale, scale, format_) for scale in scales
    ]
    return ScaleSweep(
        scale=scales,
        saturation=np.array([p.saturation for p in parts]),
        deadzone=np.array([p.deadzone for p in parts]),
        grid=np.array([p.grid for p in parts]),
        saturated_share=np.array([p.saturated for p in parts]) / x.size,
        dead_share=np.array([p.dead for p in parts]) / x.size,
    )
