"""Exercises about scales: one for a tensor, one as a power of two."""

from collections.abc import Iterator

import numpy as np

from fp8core.arrays import Float32
from fp8core.exercises.exercise import Case, exercise
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES

E4M3 = FORMATS["e4m3"]
_FPROP = MATMULS["fprop"]


def tensor_scale(x: np.ndarray) -> np.float32:
    """One scale for all of x (float32): value = code * scale.

    The largest magnitude must land on E4M3's largest value, 448. Divide once, in float32.
    A tensor of zeros takes the smallest normal float32, 2**-126, so that 1 / scale is finite.
    """
    raise NotImplementedError


def e8m0_round_up(amax: float) -> int:
    """The E8M0 code of a tile's scale in MXFP8: code c is the scale 2**(c - 127).

    Take the smallest power of two with amax <= 448 * scale. Codes are 0 to 254 (255 is NaN).
    log2 in floating point is off by one near a power of two: math.frexp is exact.
    """
    raise NotImplementedError


@exercise(tensor_scale, "One scale for a tensor", page="scaling")
def tensor() -> Iterator[Case]:
    operand, _ = RECIPES["per_tensor_e4m3"].operands(_FPROP)

    def case(x: Float32, lesson: str) -> Case:
        scale = quantize(x.copy(), operand).scale.reshape(())
        return Case(arguments=(x,), expected={"scale": scale}, lesson=lesson)

    draw = np.random.default_rng(1)
    for size in (1.0, 1e-3, 3e4):
        x = np.abs(draw.normal(size=(8, 16)) * size).astype(np.float32)
        yield case(x, "It is amax / 448, rounded once to float32. A scale multiplies back; it is no inverse.")
    x = draw.normal(size=(4, 4)).astype(np.float32)
    x[1, 2] = -9.0
    yield case(x, "amax is the largest magnitude: the sign does not count.")
    yield case(np.zeros((2, 4), np.float32), "With only zeros amax is 0, and 1 / 0 would be infinite.")


@exercise(e8m0_round_up, "A scale that is a power of two", page="scaling?scaling=rules")
def e8m0() -> Iterator[Case]:
    operand, _ = RECIPES["mxfp8"].operands(_FPROP)

    def case(amax: float, lesson: str) -> Case:
        x = np.zeros((1, operand.spec.tile.k), np.float32)
        x[0, 3] = amax
        code = quantize(x, operand).scale_codes().reshape(())
        return Case(arguments=(float(np.float32(amax)),), expected={"code": code}, lesson=lesson)

    for exponent in (-40, -3, 0, 5, 60):
        exact = E4M3.max * 2.0**exponent
        up = float(np.nextafter(np.float32(exact), np.float32(np.inf)))
        yield case(exact, "Here amax is 448 times a power of two: that power is enough.")
        yield case(
            up,
            "It is a little more than 448 times a power of two, so the next power is needed.",
        )
        yield case(exact * 0.75, "Rounding down would make amax saturate; rounding up never does.")
    for amax in np.abs(np.random.default_rng(2).normal(size=16)).astype(np.float32):
        yield case(float(amax), "It is the smallest power of two that keeps amax within 448 · scale.")
    yield case(0.0, "A tile of zeros takes the smallest scale, code 0.")
    yield case(1e-38, "Below the smallest scale there is none: code 0.")


SCALES = (tensor, e8m0)
