"""One element of D: its sum along K by the reference on this server."""

import re

import numpy as np

from fp8core.experiments.element_sum import MOST, ElementSum, element_sum
from kernels.measure.jobs import GemmJob
from kernels.measure.rows import Row
from pages.kit.charts.words import short
from pages.kit.computing.compute import Call, computed
from pages.live_gemm.charts.error_map import SumCurve

POINTS = 240
RULE = (
    "**The sum of an element.** A click takes a ringed element, or the one in the middle of a patch. The "
    "reference on this server draws A and B by the run's seed, quantizes the row of A and the column of B, "
    "and adds their products in fp64. So it shows what rounding the operands costs. The GPU's own D "
    "has its tensor core's rounding as well; it is kept for the elements that are farthest off."
)
_ELEMENT = re.compile(r"([0-9]{1,7})[.,]([0-9]{1,7})", re.ASCII)


def too_large(job: GemmJob) -> str:
    """The reason why a click draws no sum; empty where it does."""
    numbers = (job.m + job.n) * job.k
    if numbers <= MOST:
        return ""
    most = f"at most {MOST / 1e6:.0f} are drawn"
    return f"No sum by a click: A and B have\n{numbers / 1e6:,.0f} million numbers, {most}."


def read_element(text: str, job: GemmJob) -> tuple[int, int] | None:
    """The element that a text such as ``3.7`` names; None without one.

    Raises ValueError with what came and what is needed.
    """
    if not text.strip():
        return None
    match = _ELEMENT.fullmatch(text.strip())
    if match is not None and int(match[1]) < job.m and int(match[2]) < job.n:
        return int(match[1]), int(match[2])
    raise ValueError(
        f"Got “{text}” as an element of D; needed is row.column of the D below, from 0.0 to "
        f"{job.m - 1}.{job.n - 1}."
    )


def sum_curve(element: tuple[int, int] | None, row: Row) -> SumCurve | None:
    """The sum of an element; None without one, or until the sum is there."""
    job = row.job
    if element is None or too_large(job):
        return None
    of_job = (job.own or job.recipe, job.matmul, (job.m, job.n, job.k), job.input.value, job.seed)
    call = Call(element_sum, (*of_job, element))
    answer = computed("element", (of_job, element), [call], label="Adding one element")
    if answer is None or answer.arguments[0] != of_job:
        return None
    return sampled(answer.parts[0], answer.arguments[1], gpu_words(answer.arguments[1], row))


def sampled(sums: ElementSum, element: tuple[int, int], gpu: str) -> SumCurve:
    """The sum at POINTS places along K, from before the first product to after the last."""
    at = np.unique(np.linspace(0, sums.a.size, POINTS).round().astype(int))
    exact, rounded = (np.concatenate([[0.0], part])[at] for part in (sums.exact, sums.rounded))
    return SumCurve(element=element, k=at, exact=exact, rounded=rounded, gpu=gpu)


def gpu_words(element: tuple[int, int], row: Row) -> str:
    results = [one.result for one in row.errors.worst if (one.m, one.n) == element]
    if not results:
        return "The GPU's own value was not kept here."
    return f"The kernel's own value: {short(results[0], 4)}"


def words_of(curve: SumCurve) -> str:
    m, n = curve.element
    return (
        f"The sum of D[{m}, {n}] along K is {short(float(curve.rounded[-1]), 4)} with quantized numbers, and "
        f"{short(float(curve.exact[-1]), 4)} without. {curve.gpu}"
    )
