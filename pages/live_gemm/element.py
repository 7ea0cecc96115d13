"""One element of D: its sum along K, computed by the reference on this server."""

import re

import numpy as np

from fp8core.experiments.element_sum import MOST, ElementSum, element_sum
from kernels.measure.jobs import GemmJob
from kernels.measure.rows import Row
from pages.kit.charts.words import short
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.live_gemm.charts.error_map import SumDrawn

POINTS = 240
RULE = (
    "**The sum of an element.** A click takes a ringed element, or the one in the middle of a patch. The "
    "reference on this server draws A and B by the run's seed, quantizes the row of A and the column of B, "
    "and adds their products in fp64. So it shows what rounding the operands costs. The GPU's own D "
    "has its tensor core's rounding as well; it is kept for the elements that are farthest off."
)
_ELEMENT = re.compile(r"([0-9]{1,7})\.([0-9]{1,7})", re.ASCII)


def too_large(job: GemmJob) -> str:
    """Why no sum of an element is drawn; empty where a click draws it."""
    numbers = (job.m + job.n) * job.k
    if numbers <= MOST:
        return ""
    drawn = f"at most {MOST / 1e6:.0f} are drawn"
    return f"No sum by a click: A and B have {numbers / 1e6:,.0f} million numbers, {drawn}."


def drawn_sum(text: str, row: Row) -> SumDrawn | None:
    """The sum of the element that `text` names, such as ``3.7``; None without one, or until it is there."""
    job, named = row.job, _ELEMENT.fullmatch(text)
    if named is None or too_large(job):
        return None
    element = int(named[1]), int(named[2])
    if element[0] >= job.m or element[1] >= job.n:
        return None
    of_job = (job.own or job.recipe, job.matmul, (job.m, job.n, job.k), job.input.value, job.seed)
    answer = computed(
        "element", (of_job, element), [Call(element_sum, (*of_job, element))], label="Adding one element"
    )
    if answer is None or answer.arguments[0] != of_job:
        return None
    return sampled(answer.parts[0], answer.arguments[1], gpu_words(answer.arguments[1], row))


def sampled(found: ElementSum, element: tuple[int, int], gpu: str) -> SumDrawn:
    """The sum at POINTS places along K, from before the first product to after the last."""
    at = np.unique(np.linspace(0, found.a.size, POINTS).round().astype(int))
    exact, rounded = (np.concatenate([[0.0], sums])[at] for sums in (found.exact, found.rounded))
    return SumDrawn(element=element, k=at, exact=exact, rounded=rounded, gpu=gpu)


def gpu_words(element: tuple[int, int], row: Row) -> str:
    kept = [one for one in row.errors.worst if (one.m, one.n) == element]
    if not kept:
        return "The GPU's own value was not kept here."
    return f"The kernel's own value: {short(kept[0].result, 4)}"


def words_of(drawn: SumDrawn) -> str:
    m, n = drawn.element
    return (
        f"The sum of D[{m}, {n}] along K is {short(float(drawn.rounded[-1]), 4)} with quantized numbers, and "
        f"{short(float(drawn.exact[-1]), 4)} without. {drawn.gpu}"
    )
