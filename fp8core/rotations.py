"""Orthogonal matrices that spread an outlier over a block; on both operands they cancel.

(A R)(B R)ᵀ = A R Rᵀ Bᵀ = A Bᵀ. A Hadamard matrix has entries ±1/sqrt(size); its product with a vector takes
size · log2(size) additions.
"""

import math
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.arrays import Float64, Floats, Int64
from fp8core.checks import instance, reals, whole
from fp8core.reflections import Reflections, draw_reflections

NVFP4_SIGNS = (1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1)
"""NVFP4's fixed sign vector for its random Hadamard transform of size 16 (Transformer Engine,
pytorch/custom_recipes/reference_nvfp4.py, get_wgrad_sign_vector)."""


def hadamard(x: ArrayLike, size: int, signs: ArrayLike | None = None) -> Floats:
    """Multiply runs of `size` along the last axis by the orthonormal Sylvester Hadamard matrix.

    `signs` [size] of ±1 multiply first (random Hadamard transform). float32 stays float32; integers become
    float64. Butterflies come first and 1/sqrt(size) last: small integers are summed without rounding.

    Raises ValueError if size is no power of two or does not divide the last axis, or signs do not fit.
    """
    x = reals("x", x)
    _check_power_of_two(size)
    _check_last_axis(x, size)
    y = x.astype(np.result_type(x.dtype, np.float32)).reshape(*x.shape[:-1], x.shape[-1] // size, size)
    if signs is not None:
        signs = reals("signs", signs)
        if signs.shape != (size,) or not np.isin(signs, (-1, 1)).all():
            raise ValueError(f"signs are {size} values of 1 or -1, got {signs.tolist()}")
        y = y * signs.astype(y.dtype)
    here, there = np.array(y), np.empty_like(y)
    half = 1
    while half < size:
        pairs, sums = (z.reshape(*z.shape[:-1], size // (2 * half), 2, half) for z in (here, there))
        np.add(pairs[..., 0, :], pairs[..., 1, :], out=sums[..., 0, :])
        np.subtract(pairs[..., 0, :], pairs[..., 1, :], out=sums[..., 1, :])
        here, there = there, here
        half *= 2
    here *= y.dtype.type(1 / math.sqrt(size))
    return here.reshape(x.shape)


def _check_power_of_two(size: int) -> None:
    if whole("the size of a Hadamard transform", size, 1) & (size - 1):
        raise ValueError(f"a Hadamard transform has a size that is a power of two, got {size}")


def _check_last_axis(x: NDArray[Any], size: int) -> None:
    if x.ndim == 0 or x.shape[-1] % size:
        raise ValueError(f"the last axis must be a multiple of {size}, got shape {x.shape}")


def random_signs(size: int, seed: int) -> Int64:
    whole("the number of signs", size, 0), whole("a seed", seed, 0)
    return np.random.default_rng(seed).choice((-1, 1), size)


class RotationKind(Enum):
    HADAMARD = "Hadamard"
    NVFP4_HADAMARD = "Hadamard after NVFP4's fixed signs"
    SIGNED_HADAMARD = "Hadamard after random signs"
    ORTHOGONAL = "random orthogonal"


@dataclass(frozen=True)
class Rotation:
    """Rotation of each run of `size` along the last axis, in float64; `seed` draws a random one.

    Raises ValueError for a size below 1, NVFP4's signs with another size, and a Hadamard size that is no
    power of two.
    """

    kind: RotationKind
    size: int
    seed: int = 0

    def __post_init__(self) -> None:
        instance("kind", self.kind, RotationKind)
        whole("the size of a rotation", self.size, 1)
        whole("a seed", self.seed, 0)
        if self.kind is not RotationKind.ORTHOGONAL:
            _check_power_of_two(self.size)
        if self.kind is RotationKind.NVFP4_HADAMARD and self.size != len(NVFP4_SIGNS):
            raise ValueError(f"NVFP4's signs are for size {len(NVFP4_SIGNS)}, got {self.size}")

    @cached_property
    def signs(self) -> Int64:
        match self.kind:
            case RotationKind.NVFP4_HADAMARD:
                return np.array(NVFP4_SIGNS)
            case RotationKind.SIGNED_HADAMARD:
                return random_signs(self.size, self.seed)
            case _:
                return np.ones(self.size, np.int64)

    @cached_property
    def _reflections(self) -> Reflections:
        return draw_reflections(self.size, self.seed)

    def apply(self, x: ArrayLike) -> Float64:
        """float64, shape of x: x R. Raises ValueError if `size` does not divide the last axis."""
        x = self._checked(x)
        if self.kind is RotationKind.ORTHOGONAL:
            return self._reflections.apply(x.reshape(-1, self.size)).reshape(x.shape)
        return hadamard(x, self.size, self.signs)

    def undo(self, y: ArrayLike) -> Float64:
        y = self._checked(y)
        if self.kind is RotationKind.ORTHOGONAL:
            return self._reflections.undo(y.reshape(-1, self.size)).reshape(y.shape)
        # The Sylvester matrix is its own transpose and inverse.
        plain = hadamard(y, self.size)
        return (plain.reshape(-1, self.size) * self.signs).reshape(y.shape)

    def _checked(self, x: ArrayLike) -> Float64:
        x = reals("x", x).astype(np.float64, copy=False)
        _check_last_axis(x, self.size)
        return x
