"""The errors of units over K, which take longer than a rerun may.

The pool's processes import this module: it imports no Streamlit. Each function depends on its arguments only.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fp8core.accumulators import ACCUMULATORS, Accumulator, promoted
from fp8core.accumulators.error_over_k import SumError, exact_sums, prefix_sums, sum_error, sums_by_promotion
from fp8core.experiments.dot_terms import TermKind, draw_terms
from fp8core.formats import FORMATS
from kernels.probe.job import ROWS, SHORTEST, swept

NEVER = 0
SUMS = (16, 16)
"""M and N of the sums whose errors make one point of a curve: enough for two digits, and quick."""
_DRAWS_KEPT, _UNITS_KEPT = 2, 64

Errors = tuple[SumError, ...]


def lengths(longest: int) -> tuple[int, ...]:
    """Powers of two from the shortest K on."""
    return tuple(SHORTEST << power for power in range((longest // SHORTEST).bit_length()))


@lru_cache(maxsize=_UNITS_KEPT)
def unit_of(name: str, every: int = NEVER) -> Accumulator:
    """A unit by name; promoted after `every` products where that is not NEVER."""
    return promoted(ACCUMULATORS[name], every) if every else ACCUMULATORS[name]


def errors(name: str, every: int, terms: str, operands: str, longest: int, seed: int) -> Errors:
    """The errors over K of a unit by name, promoted after `every` products where that is not NEVER."""
    return _errors(unit_of(name, every), terms, operands, longest, seed, SUMS)


def errors_of_operation(name: str, terms: str, operands: str, longest: int, seed: int) -> Errors:
    """The errors over K that the model predicts for an operation of a GPU, by name."""
    return _errors(swept(name).accumulator, terms, operands, longest, seed, ROWS)


def errors_by_interval(name: str, terms: str, operands: str, k: int, seed: int) -> tuple[float, ...]:
    """The rms errors of sums of k products in a unit, for every interval of promotion that `lengths` has."""
    a, b, exact = _drawn(terms, operands, k, seed, SUMS)
    found = sums_by_promotion(a, b, FORMATS[operands], ACCUMULATORS[name], lengths(k))
    return tuple(sum_error(sums, exact[-1], k).rms for sums in found)


def _errors(
    unit: Accumulator, terms: str, operands: str, longest: int, seed: int, rows: tuple[int, int]
) -> Errors:
    a, b, exact = _drawn(terms, operands, longest, seed, rows)
    found = prefix_sums(a, b, FORMATS[operands], unit, lengths(longest))
    return tuple(map(sum_error, found, exact, lengths(longest)))


@lru_cache(maxsize=_DRAWS_KEPT)
def _drawn(
    terms: str, operands: str, longest: int, seed: int, rows: tuple[int, int]
) -> tuple[NDArray[np.integer], NDArray[np.integer], tuple[NDArray[np.float64], ...]]:
    """Codes a [M, K] and b [N, K], which the units of one picture share, and their exact sums."""
    format_ = FORMATS[operands]
    a, b = (format_.encode(x) for x in draw_terms(TermKind(terms), rows, longest, seed))
    return a, b, exact_sums(a, b, format_, lengths(longest))
