"""Exercises about one number: from a code to its value, and back."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from fp8core.exercises.exercise import Case, exercise
from fp8core.formats import FORMATS

E4M3 = FORMATS["e4m3"]


def decode_e4m3(code: int) -> float:
    """The number that an E4M3 code (0 to 255) stands for.

    The bits are S EEEE MMM. With a bias of 7, an exponent field E > 0 gives
    (-1)**S * 2**(E - 7) * (1 + M / 8). E = 0 gives a subnormal: (-1)**S * 2**-6 * M / 8.
    Only S 1111 111 is NaN; there is no infinity.
    """
    raise NotImplementedError


def encode_e4m3(x: float) -> int:
    """The E4M3 code of the value nearest to x.

    At a tie the code whose last bit is 0 wins. Beyond 448 the result stays at 448 ("saturates").
    NaN becomes 0x7F. A negative number sets the sign bit, and so does -0.0.
    """
    raise NotImplementedError


@exercise(decode_e4m3, "From a code to its number", page="formats")
def decode() -> Iterator[Case]:
    subnormals = 2**E4M3.mantissa_bits
    for code in range(2**E4M3.bits):
        size = code % 2 ** (E4M3.bits - 1)
        if size < subnormals:
            lesson = "Its exponent field is 0: a subnormal has no hidden 1, and the exponent is -6."
        elif size == E4M3.encode(np.nan) % 2 ** (E4M3.bits - 1):
            lesson = "All ones is the NaN."
        elif size >= 2 ** (E4M3.bits - 1) - subnormals:
            lesson = "E4M3 has no infinity: the top exponent holds ordinary numbers, up to the largest."
        else:
            lesson = "Count the hidden 1, and take the bias off the exponent field."
        yield Case(arguments=(code,), expected={"value": E4M3.decode(np.uint8(code))}, lesson=lesson)


@exercise(encode_e4m3, "From a number to its code", page="formats")
def encode() -> Iterator[Case]:
    def case(x: float, lesson: str) -> Case:
        return Case(arguments=(x,), expected={"code": E4M3.encode(np.float64(x))}, lesson=lesson)

    values = np.unique(E4M3.decode(np.arange(2 ** (E4M3.bits - 1) - 1, dtype=np.uint8)))
    for value in values:
        yield case(float(value), "This is a value of the format: it must come back as its own code.")
    for low, high in pairwise(values):
        middle = float(low + high) / 2
        yield case(middle, "It lies half way between two values: the code whose last bit is 0 wins.")
        yield case(
            float(np.nextafter(np.float32(middle), np.float32(np.inf))),
            "It lies just above the middle: the upper value is nearer.",
        )
        yield case(
            -float(np.nextafter(np.float32(middle), np.float32(0))),
            "A negative number rounds as its size does.",
        )
    for beyond in (E4M3.max * 1.01, E4M3.max * 2, np.inf):
        yield case(float(beyond), "Beyond the largest value the result stays there. A cast may give NaN.")
    yield case(-0.0, "The sign of a zero is kept.")
    yield case(np.nan, "NaN has a code of its own.")


NUMBERS = (decode, encode)
