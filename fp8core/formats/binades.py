"""Range and precision of a format: how many mantissa bits its values have, binade by binade."""

import math
from dataclasses import dataclass
from itertools import groupby

from fp8core.formats.protocol import Format


@dataclass(frozen=True, kw_only=True)
class BinadeRun:
    """The binades from `low` up to, not including, `high`: in [2^e, 2^(e+1)) values are 2^(e -
    bits) apart.
    """

    low: int
    high: int
    bits: int


def binade_runs(format_: Format) -> tuple[BinadeRun, ...]:
    """The binades from the smallest positive value to the largest, in runs of equal precision.

    Below its smallest normal number a format loses a bit each binade. `max` may cut the last one short.
    """
    lowest = math.frexp(format_.min_subnormal)[1] - 1
    bits = {e: mantissa_bits(format_, e) for e in range(lowest, format_.e_max + 1)}
    runs = []
    for count, run in groupby(bits, key=bits.__getitem__):
        exponents = list(run)
        runs.append(BinadeRun(low=exponents[0], high=exponents[-1] + 1, bits=count))
    return tuple(runs)


def mantissa_bits(format_: Format, exponent: int) -> int:
    """The number of mantissa bits that tell the values from 2^exponent to 2^(exponent + 1) apart."""
    start = 2.0**exponent
    gap = format_.gap_beyond if start == format_.max else float(format_.ulp(start))
    return exponent - round(math.log2(gap))


def dynamic_range(format_: Format) -> float:
    """log2 of the largest over the smallest positive value: how many binades lie between them."""
    return math.log2(format_.max) - math.log2(format_.min_subnormal)


def finest_bits(format_: Format) -> int:
    """Mantissa bits where the format is most precise: the step there is 2**-bits of the binade's start."""
    return max(run.bits for run in binade_runs(format_))
