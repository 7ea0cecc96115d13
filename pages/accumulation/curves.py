"""Section "Error against K": every unit that multiplies the operands, on the same axes."""

from collections.abc import Mapping
from functools import lru_cache

from fp8core.accumulators import ACCUMULATORS
from fp8core.accumulators.model import Accumulator, Evidence
from pages.accumulation.charts.curves import Curve, curves_chart
from pages.accumulation.data import NEVER, SUMS, Errors, errors, unit_of
from pages.accumulation.facts import BIAS, CHAIN, ERROR, LONGEST_K, OPERANDS, RMS, draw_numbers, percent, side
from pages.kit.computing.compute import Call, computed
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room

_NEARLY_ALL = 0.9  # a share of the rms error: beyond it, the error has one direction
NO_ERROR = (
    "**Every sum comes out exact.** All products are multiples of one small step, and up to this K no sum "
    "needs more bits than the window keeps."
)
COUNTING = (
    "With error = result − exact over all sums of a K: **rms** is √mean(error²) / √mean(exact²); **signed** "
    "is mean(error · sign(exact)) / mean|exact|, negative where results lie nearer to zero than the exact "
    "sums. The exact sums are taken in fp64, where they fit. Every unit is given the same products; K = 64 "
    "is the first half of K = 128. Points of zero error cannot be drawn on a logarithmic axis and are left "
    "out. Block-scaled FP4 is given scales of 1."
)


def show(controls: Controls) -> None:
    terms = draw_numbers(controls, here().control)
    field, seed = controls.draw(ERROR), controls.draw(SEED)
    operands, longest = controls.draw(OPERANDS), controls.draw(LONGEST_K)
    calls = [Call(errors, (*one, terms, operands, longest, seed)) for one in series(operands)]
    answer = computed("accumulation_curves", (operands, longest), calls, label="Adding in every unit")
    if answer is None:
        return
    operands, longest = answer.arguments
    by_unit = dict(zip([unit_of(*one) for one in series(operands)], answer.parts, strict=True))
    draw_notice(notice(by_unit))
    if _is_exact(by_unit):
        return
    curves = [
        Curve(name=unit.title, evidence=unit.evidence.name.lower(), errors=one)
        for unit, one in by_unit.items()
    ]
    word = {RMS: "rms error", BIAS: "signed error"}[field]
    ends = (f"{unit.title} {percent(getattr(one[-1], field))}" for unit, one in by_unit.items())
    draw_chart(
        curves_chart(curves, field, room(), page_ink()),
        key="accumulation_curves",
        alt=f"{word} over K up to {longest:,}, at the end: {'; '.join(ends)}",
    )
    here().know.markdown(
        f"{SUMS[0] * SUMS[1]:,} sums of seeded {operands} products a point. **Captured** (solid): the "
        "model is bit-equal to vectors from an H200. **Published** (dashed): a published model of the unit. "
        "**Definition** (dotted): a rule of adding, not a unit. Click a name to see its line alone."
    )
    here().know.markdown(COUNTING)


@lru_cache(maxsize=8)
def series(operands: str) -> tuple[tuple[str, int], ...]:
    """Units that multiply the operands, by name and interval of promotion."""
    step = ACCUMULATORS[CHAIN].fused_products
    return tuple(
        (name, every)
        for name, unit in ACCUMULATORS.items()
        if operands in unit.operands
        for every in ((NEVER, step) if name == CHAIN else (NEVER,))
    )


def _is_exact(by_unit: Mapping[Accumulator, Errors]) -> bool:
    return not any(error.rms for errors in by_unit.values() for error in errors)


def notice(by_unit: Mapping[Accumulator, Errors]) -> str:
    """The worst unit at the longest K, of captured units before others."""
    if _is_exact(by_unit):
        return NO_ERROR
    last, order = {unit: one[-1] for unit, one in by_unit.items()}, list(Evidence)
    worst = max(last, key=lambda unit: (last[unit].rms > 0, -order.index(unit.evidence), last[unit].rms))
    error = last[worst]
    is_bias = abs(error.bias) > _NEARLY_ALL * error.rms
    why = (
        f"Nearly all of it is bias, {side(error.bias)}."
        if is_bias
        else "Errors of both signs cancel in part."
    )
    name = worst.title + ("," if "," in worst.title else "")
    return f"At K = {error.k:,}, {name} is off by **{percent(error.rms)}**. {why}"
