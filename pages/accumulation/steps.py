"""Section "One dot product": its terms as bits, the cut, and the sums, step by step."""

from collections.abc import Sequence

from fp8core.accumulators import ACCUMULATORS
from fp8core.accumulators.model import Accumulator
from fp8core.accumulators.trace import TracedStep
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE
from pages.accumulation.charts.steps import LARGEST_START, PULL, PULL_RAIL, StepScene, highest, steps_chart
from pages.accumulation.charts.steps import STEP as SLIDER
from pages.accumulation.data import cut_short, traced
from pages.accumulation.facts import OPERANDS, START, STEP, TRACE_K, UNIT, draw_numbers, start_of
from pages.kit.chart_slider import Hand, chart_with_slider, with_slider
from pages.kit.charts.words import power_of_two, short
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED
from pages.kit.view import draw_notice, here, page_ink, room

C_HAND = Hand(label="What c starts with", way="up", rail=PULL_RAIL)


def show(controls: Controls) -> None:
    unit = ACCUMULATORS[controls.draw(UNIT, here().control)]
    terms, seed = draw_numbers(controls), controls.draw(SEED)
    operands = controls.draw(OPERANDS, options={name: OPERANDS.options[name] for name in unit.operands})
    product = (unit.name, terms, operands, controls.draw(TRACE_K), seed)
    plain = traced(*product)
    most = min(LARGEST_START, highest(plain) + PULL)
    start = controls.draw(START, options={one: START.options[one] for one in START.options if one <= most})
    steps = traced(*product, start_of(start))
    # A unit that promotes adds the start in fp32: its c begins at 0.
    pulls = {"start": start, "plain": plain} if unit.promotion is WHOLE else {}
    draw_notice(notice(steps, "start" in pulls and start > highest(plain)))
    scene, ink = StepScene(steps, room(), **pulls), page_ink()
    place = chart_with_slider(
        controls,
        STEP,
        name="accumulation_steps",
        inputs=(product, page_ink()),
        at=controls.within(STEP, high=len(steps)),
        spec_at=lambda start: with_slider(steps_chart(scene, start, ink), SLIDER, start),
        alt_at=lambda start: alt_text(unit, steps, start),
        hand=Hand(label="Products added", play="add along K"),
    )
    with place:
        C_HAND.mount(
            "hand_accumulation_start", at=start, on_change=lambda at: controls.preset(**{START.key: int(at)})
        )
    know = here().know
    know.markdown(
        "Each bar is one term, spelled in binary: a square where the bit of that weight is one. The band is "
        f"the window of {unit.fraction_bits} fraction bits below the largest exponent E. Bits under the cut "
        "are dropped before anything is added. Point at a bar for its numbers. "
        f"The sum c is kept in {unit.out.bits} bits, {unit.out.name}."
    )
    know.markdown(rule(unit))


def notice(steps: Sequence[TracedStep], is_pulled: bool = False) -> str:
    products, count = sum(step.places.size for step in steps), cut_short(steps)
    if not count:
        return f"The window holds every bit of these products: **none of {products} loses any** to the cut."
    climbs = "The sum grows, and its window climbs with it. " if steps[-1].cut > steps[0].cut else ""
    first = "c holds the window up. " if is_pulled else climbs
    return f"{first}**{count} of {products} products lose bits** to the cut."


def alt_text(unit: Accumulator, steps: Sequence[TracedStep], first: int) -> str:
    """The picture in words, without c: with other words, Streamlit would draw it anew."""
    return (
        f"Step {first} of {len(steps)} in {unit.title}: {steps[0].terms.size} terms on an axis of exponents. "
        f"Bits more than {unit.fraction_bits} places below the largest exponent are cut off"
    )


def rule(unit: Accumulator) -> str:
    rounding = "cut toward zero" if unit.out_rounding is Rounding.TOWARD_ZERO else "rounded to nearest even"
    chain = (
        "The chain goes on over all of K."
        if unit.promotion is WHOLE
        else f"After {unit.promotion} products c is added to an fp32 register, rounded to nearest even, and "
        "starts again from 0."
    )
    lines = [
        f"- A step adds **{unit.fused_products} products and c** at once. A product's exponent is the sum of "
        "its operands' exponents; it is not renormalized (1.875 · 1.875 counts as exponent 0). Subnormal "
        f"operands keep the smallest normal exponent; a zero counts as exponent {short(unit.zero_exponent)}.",
        f"- **E** is the largest exponent of all terms. Of each term, what lies below "
        f"2^(E − {unit.fraction_bits}) is dropped: a truncation of the magnitude, so there is no tie and "
        "both signs lose toward zero.",
        "- The rest is added exactly, in any order: inside a step the order of k makes no difference.",
        f"- The sum is {rounding} to {unit.out.mantissa_bits} fraction bits ({unit.out.name}) and becomes "
        "c. A zero comes out as +0; any NaN as 0x7FFFFFFF; infinities follow IEEE 754.",
        f"- {chain}",
    ]
    if unit.unpacked is not None:
        lines.append(f"- Operands are converted to {unit.unpacked.name} first.")
    if unit.order:
        first = ", ".join(map(str, unit.order[: unit.fused_products]))
        lines.append(f"- Of each run of {len(unit.order)} products, the first step takes these: {first}.")
    lines.append(
        f"- One term loses less than {power_of_two(-unit.fraction_bits)} of 2^E. Source: {unit.source}."
    )
    return "\n".join(lines)
