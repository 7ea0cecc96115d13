"""Mantissa bits of a format's values, binade by binade."""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from fp8core.arrays import Int64
from fp8core.formats.protocol import Format

_KEPT = 256


@dataclass(frozen=True, kw_only=True)
class BinadeRun:
    """Binades from `low` to below `high`: in [2^e, 2^(e+1)) values are 2^(e - bits) apart."""

    low: int
    high: int
    bits: int


@lru_cache(maxsize=_KEPT)
def binade_runs(format_: Format) -> tuple[BinadeRun, ...]:
    """Binades from the smallest positive value to the largest, in runs of equal precision.

    Below its smallest normal number a format loses a bit a binade. `max` may cut the last one short.
    """
    lowest = math.frexp(format_.min_subnormal)[1] - 1
    exponents = np.arange(lowest, format_.e_max + 1)
    bits = _mantissa_bits(format_, exponents)
    starts = [0, *(np.flatnonzero(np.diff(bits)) + 1).tolist(), bits.size]
    return tuple(
        BinadeRun(low=lowest + start, high=lowest + stop, bits=int(bits[start]))
        for start, stop in pairwise(starts)
    )


def mantissa_bits(format_: Format, exponent: int) -> int:
    """Mantissa bits of the values from 2^exponent to 2^(exponent + 1)."""
    return int(_mantissa_bits(format_, np.array([exponent]))[0])


def _mantissa_bits(format_: Format, exponents: Int64) -> Int64:
    starts = np.ldexp(1.0, exponents)
    gaps = np.where(starts == format_.max, format_.gap_beyond, format_.ulp(starts))
    return exponents - np.rint(np.log2(gaps)).astype(np.int64)


def dynamic_range(format_: Format) -> float:
    """Binades between the smallest and the largest positive value."""
    return math.log2(format_.max) - math.log2(format_.min_subnormal)


def finest_bits(format_: Format) -> int:
    """Mantissa bits where the format is most precise."""
    return max(run.bits for run in binade_runs(format_))
