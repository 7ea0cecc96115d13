"""Section "Error against K": every unit that multiplies the chosen operands, on the same axes."""

from dataclasses import dataclass, replace
from functools import cache

from fp8core.accumulators import ACCUMULATORS
from fp8core.accumulators.error_over_k import SumError
from fp8core.accumulators.model import Accumulator, Evidence
from fp8core.tiles import WHOLE
from pages.accumulation.charts.curves import Curve, curves_chart
from pages.accumulation.controls import BIAS, ERROR, LONGEST_K, OPERANDS, RMS
from pages.accumulation.sweeps import NEVER, SUMS, errors, unit_of
from pages.accumulation.terms import draw_terms_choice
from pages.accumulation.words import percent, side
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.view import here

EVIDENCE = {
    Evidence.CAPTURED: "captured",
    Evidence.PUBLISHED: "published",
    Evidence.DEFINITION: "definition",
}


_NEARLY_ALL = 0.9
"""A share of the rms error: beyond it, the error has one direction."""


@dataclass(frozen=True)
class Series:
    """A unit by name, promoted after `every` products unless that is NEVER."""

    name: str
    every: int = NEVER

    @property
    def unit(self) -> Accumulator:
        return unit_of(self.name, self.every)


@cache
def series(operands: str) -> tuple[Series, ...]:
    """Every unit that multiplies the operands. One that is also listed promoted comes promoted at every step
    too.
    """
    found = []
    for name, unit in ACCUMULATORS.items():
        if operands in unit.operands:
            found.append(Series(name))
            if any(_is_promoted(other, unit) for other in ACCUMULATORS.values()):
                found.append(Series(name, unit.fused_products))
    return tuple(found)


def _is_promoted(other: Accumulator, unit: Accumulator) -> bool:
    """True if `other` is the unit, promoted."""
    chain = replace(other, promotion=WHOLE, name=unit.name, title=unit.title)
    return unit.promotion is WHOLE and other.promotion is not WHOLE and chain == unit


@dataclass(frozen=True)
class Asked:
    """What the curves are of."""

    terms: str
    operands: str
    longest: int
    seed: int

    def calls(self) -> list[Call]:
        """A call for the errors of each unit."""
        of_all = (self.terms, self.operands, self.longest, self.seed)
        return [Call(errors, (one.name, one.every, *of_all)) for one in series(self.operands)]


def show(controls: Controls) -> None:
    """Draw the controls, what to notice, and the curves."""
    know = here().know
    terms = draw_terms_choice(controls, here().control)
    field, seed = controls.draw(ERROR), controls.draw(SEED)
    asked = Asked(terms, controls.draw(OPERANDS), controls.draw(LONGEST_K), seed)
    shown = computed("accumulation_curves", asked, asked.calls(), doing="Adding in every unit")
    if shown is None:
        return
    of = shown.asked
    found = dict(zip(series(of.operands), shown.parts, strict=True))
    draw_notice(notice(found))
    if not any(error.rms for one in found.values() for error in one):
        return
    curves = [
        Curve(name=one.unit.title, evidence=EVIDENCE[one.unit.evidence], errors=found[one]) for one in found
    ]
    draw_chart(
        curves_chart(curves, field, room(), INKS[theme()]),
        key="accumulation_curves",
        is_rigid=True,
        alt=alt_text(found, field, of.longest),
    )
    know.markdown(
        f"{SUMS[0] * SUMS[1]:,} sums of seeded {of.operands} products a point. **Captured** (solid): the "
        "model is bit-equal to vectors from an H200. **Published** (dashed): a published model of the unit. "
        "**Definition** (dotted): a rule of adding, not a unit. Click a name to see its line alone."
    )
    know.markdown(COUNTING)


COUNTING = (
    "With error = result − exact over all sums of a K: **rms** is √mean(error²) / √mean(exact²); **signed** "
    "is mean(error · sign(exact)) / mean|exact|, negative where results lie nearer to zero than the exact "
    "sums. The exact sums are taken in fp64, where they fit. Every unit is given the same products; K = 64 "
    "is the first half of K = 128. Points of zero error cannot be drawn on a logarithmic axis and are left "
    "out. Block-scaled FP4 is given scales of 1."
)


NO_ERROR = (
    "**Every sum comes out exact.** All products are multiples of one small step, and up to this K no sum "
    "needs more bits than the window keeps."
)


def notice(found: dict[Series, tuple[SumError, ...]]) -> str:
    """The worst unit at the longest K, and the direction of its error."""
    if not any(error.rms for one in found.values() for error in one):
        return NO_ERROR
    units = [one for one in found if one.unit.evidence is not Evidence.DEFINITION]
    captured = [one for one in units if one.unit.evidence is Evidence.CAPTURED]
    pools = ([one for one in pool if found[one][-1].rms] for pool in (captured, units, list(found)))
    worst = max(next(pool for pool in pools if pool), key=lambda one: found[one][-1].rms)
    last = found[worst][-1]
    is_bias = abs(last.bias) > _NEARLY_ALL * last.rms
    why = (
        f"Nearly all of it is bias, {side(last.bias)}." if is_bias else "Errors of both signs cancel in part."
    )
    name = worst.unit.title + ("," if "," in worst.unit.title else "")
    return f"At K = {last.k:,}, {name} is off by **{percent(last.rms)}**. {why}"


def alt_text(found: dict[Series, tuple[SumError, ...]], field: str, longest: int) -> str:
    """The chart in words."""
    word = {RMS: "rms error", BIAS: "signed error"}[field]
    told = "; ".join(
        f"{one.unit.title} {percent(getattr(errors_[-1], field))}" for one, errors_ in found.items()
    )
    return f"{word} over K up to {longest:,}, at the end: {told}"
