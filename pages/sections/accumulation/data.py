"""The data of "Accumulation": traces, errors and charts, kept between runs.

A kept function depends only on its arguments: names, numbers and the theme, nothing of the session.
"""

import streamlit as st

from fp8core.accumulators import ACCUMULATORS, promoted
from fp8core.accumulators.error_over_k import SumError, error_against_k
from fp8core.accumulators.model import Accumulator
from fp8core.accumulators.trace import TracedStep, trace
from fp8core.experiments.dot_terms import TermKind, draw_terms
from fp8core.formats import FORMATS
from kernels.probe.job import SHORTEST
from pages.kit.charts.ink import INKS
from pages.sections.accumulation.charts.scene import StepScene
from pages.sections.accumulation.charts.steps import Spec, steps_chart

KEPT = 256
NEVER = 0
SUMS = (16, 16)
"""M and N of the sums whose errors make one point of a curve: enough for two digits, and quick."""


@st.cache_data(max_entries=KEPT, show_spinner=False)
def traced(unit: str, terms: str, operands: str, k: int, seed: int) -> tuple[TracedStep, ...]:
    """One dot product of K seeded products in a unit."""
    format_ = FORMATS[operands]
    a, b = (format_.encode(x)[0] for x in draw_terms(TermKind(terms), (1, 1), k, seed))
    return trace(a, b, format_, format_, ACCUMULATORS[unit])


@st.cache_data(max_entries=KEPT, show_spinner=False)
def steps_spec(unit: str, terms: str, operands: str, k: int, seed: int, first: int, theme: str) -> Spec:
    """The picture of a dot product, opened at step `first`."""
    return steps_chart(StepScene(traced(unit, terms, operands, k, seed)), first, INKS[theme])


def lengths(longest: int) -> tuple[int, ...]:
    """Powers of two from the shortest K on."""
    return tuple(SHORTEST << power for power in range((longest // SHORTEST).bit_length()))


def unit_of(name: str, every: int = NEVER) -> Accumulator:
    """A unit by name; promoted after `every` products where that is not NEVER."""
    return promoted(ACCUMULATORS[name], every) if every else ACCUMULATORS[name]


def errors(name: str, every: int, terms: str, operands: str, longest: int, seed: int) -> tuple[SumError, ...]:
    """The errors over K of a unit by name, promoted after `every` products where that is not NEVER."""
    return errors_of_unit(unit_of(name, every), terms, operands, longest, seed, SUMS)


@st.cache_data(
    max_entries=4 * KEPT,
    show_spinner="Adding in every unit …",
    hash_funcs={Accumulator: repr},
)
def errors_of_unit(
    unit: Accumulator, terms: str, operands: str, longest: int, seed: int, rows: tuple[int, int]
) -> tuple[SumError, ...]:
    """The errors of a unit over K, for the sums of `rows` seeded products: M and N."""
    format_ = FORMATS[operands]
    a, b = (format_.encode(x) for x in draw_terms(TermKind(terms), rows, longest, seed))
    return error_against_k(a, b, format_, unit, lengths(longest))
