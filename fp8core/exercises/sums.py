"""Exercises about noise, rotations and sums."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from fp8core.accumulators import ACCUMULATORS, Accumulator, matmul
from fp8core.arrays import Float32
from fp8core.exercises.exercise import Case, exercise
from fp8core.formats import FORMATS
from fp8core.quantize import RANDOM_BITS
from fp8core.rotations import hadamard

E4M3 = FORMATS["e4m3"]
_BLOCK = 16


def round_stochastic(x: float, random: int) -> int:
    """Round x (>= 0) to a whole number: up with a chance as large as its fraction, else down.

    `random` is a whole number from 0 to 255, drawn by the caller. Take the first 8 bits of the fraction,
    floor(fraction * 256), add `random`, and round up where the sum reaches 256: a carry.
    """
    raise NotImplementedError


def hadamard16(x: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Multiply 16 numbers (float64[16]) by their signs (+1 or -1), then by Sylvester's Hadamard matrix / 4.

    The matrix begins as [[1]] and grows by H -> [[H, H], [H, -H]]. The division by 4 = sqrt(16) keeps the
    length of the vector.
    """
    raise NotImplementedError


def promoted_dot(a: np.ndarray, b: np.ndarray, chain) -> np.float32:
    """The dot product of a and b, float32[K] with E4M3 values, promoted every 128 terms.

    chain(a_part, b_part) -> np.float32 sums products as Hopper's tensor core does, and loses bits. Let it sum
    128 terms at a time from zero, and add these partial sums in float32, first to last. The last run may be
    shorter.
    """
    raise NotImplementedError


@exercise(round_stochastic, "Rounding with a weighted coin", page="stochastic_rounding")
def noise() -> Iterator[Case]:
    scale = 2**RANDOM_BITS
    draw = np.random.default_rng(4)
    for fraction in (0.0, 1 / scale, 0.25, 0.5, 1 - 1 / scale, 0.3, 0.999):
        for random in (0, 1, scale // 2, scale - 1, int(draw.integers(scale))):
            whole = np.floor(fraction * scale)
            lesson = (
                "A whole number never moves, whatever the noise."
                if fraction == 0
                else f"floor(fraction · {scale}) is {int(whole)}; with {random} added it "
                f"{'reaches' if whole + random >= scale else 'stays below'} {scale}."
            )
            x = 5 + fraction
            yield Case(
                arguments=(x, random), expected={"number": 5 + (whole + random >= scale)}, lesson=lesson
            )


@exercise(hadamard16, "A rotation that spreads an outlier", page="rotations")
def rotation() -> Iterator[Case]:
    draw = np.random.default_rng(5)
    plain = np.ones(_BLOCK)
    for place in range(_BLOCK):
        x = np.zeros(_BLOCK)
        x[place] = 8.0
        yield Case(
            arguments=(x, plain),
            expected={"vector": hadamard(x, _BLOCK)},
            lesson="One outlier is spread over all 16 places, each a quarter as large; only signs differ.",
        )
    x = draw.integers(-8, 9, _BLOCK).astype(np.float64)
    signs = np.where(draw.random(_BLOCK) < 0.5, -1.0, 1.0)
    yield Case(
        arguments=(x, signs),
        expected={"vector": hadamard(x, _BLOCK, signs)},
        lesson="The signs come before the matrix: sign each number, then transform.",
    )


def _chain(unit: Accumulator, a: Float32, b: Float32) -> np.float32:
    codes = (E4M3.encode(np.asarray(one, np.float32))[None, :] for one in (a, b))
    return matmul(*codes, E4M3, E4M3, unit)[0, 0]


def tensor_core_chain() -> Callable[..., np.float32]:
    """Sum of products of E4M3 values in one chain, as on a Hopper tensor core."""
    chain = partial(_chain, ACCUMULATORS["hopper_fast"])
    chain.__name__ = "chain"  # type: ignore[attr-defined]
    return chain


@exercise(promoted_dot, "Promotion: partial sums that lose less", page="accumulation")
def promotion() -> Iterator[Case]:
    unit, chain = ACCUMULATORS["hopper_promoted"], tensor_core_chain()
    draw = np.random.default_rng(6)
    step = unit.promotion or 1
    for k in (step, 4 * step, 40 * step, 2 * step + 40):
        a, b = (np.abs(draw.normal(size=k)).astype(np.float32) for _ in range(2))
        a, b = (E4M3.decode(E4M3.encode(one)).astype(np.float32) for one in (a, b))
        error = abs(float(chain(a, b)) / float(a.astype(np.float64) @ b.astype(np.float64)) - 1)
        yield Case(
            arguments=(a, b, chain),
            expected={"sum": _chain(unit, a, b)},
            lesson=f"One chain over all {k} terms is off by {error:.2%}. Partial sums lose less.",
        )


SUMS = (noise, rotation, promotion)
