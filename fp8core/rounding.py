"""How a value between two codes, or beyond the last one, becomes a code."""

from enum import Enum


class Rounding(Enum):
    """Which of its two neighbors a value takes. Every mode treats both signs alike."""

    NEAREST_EVEN = "nearest, ties to the even code"
    NEAREST_AWAY = "nearest, ties away from zero"
    TOWARD_ZERO = "toward zero"
    STOCHASTIC = "up with probability equal to the fraction"


class Overflow(Enum):
    """What a value beyond the largest finite code becomes, infinities included."""

    SATURATE = "the largest finite value of its sign"
    INF = "infinity"
    NAN = "NaN"
