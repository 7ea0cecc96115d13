"""Work for the pool, without Streamlit: errors of units over K, and captured vectors against the models."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fp8core.accumulators import ACCUMULATORS, Accumulator, promoted
from fp8core.accumulators.error_over_k import (
    SumError,
    error_against_k,
    exact_sums,
    sum_error,
    sums_by_promotion,
)
from fp8core.accumulators.trace import TracedStep, trace
from fp8core.experiments.dot_terms import TermKind, draw_terms
from fp8core.formats import FORMATS
from kernels.probe.operations import Operation, mismatches, operations, predict, read_machine, read_vectors
from kernels.probe.sweep import lengths

NEVER = 0
# M and N of the sums whose errors make one point of a curve: enough for two digits, and quick.
SUMS = (16, 16)

Errors = tuple[SumError, ...]


@lru_cache(maxsize=64)
def unit_of(name: str, every: int = NEVER) -> Accumulator:
    return promoted(ACCUMULATORS[name], every) if every else ACCUMULATORS[name]


def errors(name: str, every: int, terms: str, operands: str, longest: int, seed: int) -> Errors:
    a, b = _codes(terms, operands, longest, seed)
    return error_against_k(a, b, FORMATS[operands], unit_of(name, every), lengths(longest))


def errors_by_interval(name: str, terms: str, operands: str, k: int, seed: int) -> tuple[float, ...]:
    (a, b), format_ = _codes(terms, operands, k, seed), FORMATS[operands]
    by_interval = sums_by_promotion(a, b, format_, ACCUMULATORS[name], lengths(k))
    (exact,) = exact_sums(a, b, format_, (k,))
    return tuple(sum_error(sums, exact, k).rms for sums in by_interval)


@lru_cache(maxsize=2)
def _codes(terms: str, operands: str, k: int, seed: int) -> tuple[NDArray[np.integer], ...]:
    """Codes a [M, K] and b [N, K]."""
    return tuple(FORMATS[operands].encode(x) for x in draw_terms(TermKind(terms), SUMS, k, seed))


@lru_cache(maxsize=16)
def traced(
    unit: str, terms: str, operands: str, k: int, seed: int, start: float = 0.0
) -> tuple[TracedStep, ...]:
    format_ = FORMATS[operands]
    a, b = (format_.encode(x)[0] for x in draw_terms(TermKind(terms), (1, 1), k, seed))
    return trace(a, b, format_, format_, ACCUMULATORS[unit], start)


def cut_short(steps: Sequence[TracedStep]) -> int:
    return sum(int(np.count_nonzero(step.lost[:-1])) for step in steps)


@dataclass(frozen=True, kw_only=True)
class Check:
    """One file of vectors against the model.

    `where`: machine, date and versions of the capture. `operations`: equal outputs and all, by title.
    """

    where: str
    operations: dict[str, tuple[int, int]]
    seconds: float


def check_vectors(path: str, stamp: int, bits_off: int) -> Check:
    """Run the models over a file of vectors, with `bits_off` fraction bits more than the unit has.

    `stamp`, the file's time, makes the call new. Raises ValueError for vectors of an unknown unit.
    """
    began = time.perf_counter()
    models = {one.name: _with_bits(one, bits_off) for one in operations()}
    counts = dict.fromkeys(models, (0, 0))
    for one in read_vectors(Path(path)):
        if one.operation not in models:
            raise ValueError(f"{Path(path).name} has vectors of {one.operation}, which has no model here")
        bad = mismatches(one.d, predict(models[one.operation], one.case))
        equal, outputs = counts[one.operation]
        counts[one.operation] = equal + int(bad.size - bad.sum()), outputs + bad.size
    machine = read_machine(Path(path))
    versions = [f"{name} {machine[name]}" for name in ("torch", "triton") if name in machine]
    return Check(
        where=", ".join([machine["gpu"], machine["date"], *versions]),
        operations={models[name].title: numbers for name, numbers in counts.items() if numbers[1]},
        seconds=time.perf_counter() - began,
    )


def _with_bits(operation: Operation, bits_off: int) -> Operation:
    unit = operation.accumulator
    return replace(operation, accumulator=replace(unit, fraction_bits=unit.fraction_bits + bits_off))
