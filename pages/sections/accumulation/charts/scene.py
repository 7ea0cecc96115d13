"""One dot product as rows to draw: where each bit of each term of each step lies, above the cut or below.

The picture is 1000 wide, whatever the width of the page, and as tall in pixels as its bits need.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fp8core.accumulators.trace import TracedStep
from pages.kit.charts.words import power_of_two, short

Row = dict[str, object]

WIDE, LEFT, RIGHT = 1000, 78, 872
HEAD, FOOT = 96, 34
STRIP, STRIP_HEAD = 76, 40
MOST_BITS, BITS_TALL = 44, 330
LOWEST_BIT_TALL, HIGHEST_BIT_TALL = 7.5, 17.0
BAR = 0.8
C_GAP = 0.9
LABELS = 8
DIGITS = 6


def bits(x: float) -> list[int]:
    """Exponents of the ones in the binary spelling of |x|, the largest first."""
    over, under = abs(x).as_integer_ratio()
    low = 1 - under.bit_length()
    return [low + place for place in reversed(range(over.bit_length())) if over >> place & 1]


@dataclass(frozen=True)
class StepScene:
    """The steps of one dot product and where their bits are drawn."""

    steps: tuple[TracedStep, ...]

    @cached_property
    def products(self) -> int:
        """Products of one step."""
        return len(self.steps[0].places)

    @cached_property
    def high(self) -> int:
        """The exponent above every bit, with a line of room for signs."""
        largest = max(max(bits(float(x))[:1] or [step.largest]) for step in self.steps for x in step.terms)
        return max(largest, max(step.largest for step in self.steps)) + 2

    @cached_property
    def low(self) -> int:
        """The exponent of the lowest bit drawn."""
        lowest = min((min(bits(float(x))) for s in self.steps for x in s.terms if x != 0), default=0)
        cuts = min(step.cut for step in self.steps) - 2
        return max(min(lowest, cuts), self.high - MOST_BITS)

    @cached_property
    def bit_tall(self) -> float:
        return min(max(BITS_TALL / (self.high - self.low), LOWEST_BIT_TALL), HIGHEST_BIT_TALL)

    @property
    def bottom(self) -> float:
        """Where the lowest bit ends."""
        return self.y(self.low)

    @property
    def has_strip(self) -> bool:
        return len(self.steps) > 1

    @property
    def strip_top(self) -> float:
        return self.bottom + FOOT + STRIP_HEAD

    @property
    def height(self) -> float:
        return self.strip_top + STRIP + 8 if self.has_strip else self.bottom + FOOT

    def y(self, exponent: float) -> float:
        """Where the bit of the next higher weight begins."""
        return HEAD + (self.high - exponent) * self.bit_tall

    def x(self, column: float) -> float:
        """The middle of a column: the products from 0, then c."""
        columns = self.products + 1 + C_GAP
        place = column + (C_GAP if column >= self.products else 0)
        return LEFT + (RIGHT - LEFT) * (place + 0.5) / columns

    @cached_property
    def bar(self) -> float:
        return BAR * (RIGHT - LEFT) / (self.products + 1 + C_GAP)


def term_rows(scene: StepScene) -> list[Row]:
    """One row a term of a step: the span of its bits, what is kept, and what the cut takes."""
    return [row for number, step in enumerate(scene.steps, 1) for row in _terms_of(scene, number, step)]


def _terms_of(scene: StepScene, number: int, step: TracedStep) -> Iterator[Row]:
    every = max(1, -(-scene.products // LABELS))
    for column, (term, kept) in enumerate(zip(step.terms.tolist(), step.kept.tolist(), strict=True)):
        is_c = column == scene.products
        name = "c" if is_c else str(step.places[column])
        spelled = bits(term)
        top, low = (spelled[0] + 1, spelled[-1]) if spelled else (scene.low, scene.low)
        low, cut = max(low, scene.low), max(step.cut, scene.low)
        x, half = scene.x(column), scene.bar / 2
        lost = term - kept
        yield {
            "step": number,
            "x": x,
            "x0": x - half,
            "x1": x + half,
            "top": scene.y(max(top, scene.low)),
            "low": scene.y(low),
            "cut": scene.y(min(max(cut, low), max(top, low))),
            "ones": [e for e in spelled if e >= scene.low],
            "edge": step.cut,
            "sign": "" if term == 0 else "+" if term > 0 else "−",
            "label": name if is_c or column % every == 0 else "",
            "term": "c, the running sum" if is_c else f"product k = {name}",
            "value": short(term, DIGITS),
            "kept": short(kept, DIGITS),
            "lost": short(lost, DIGITS),
            "share": abs(lost / term) if term else 0.0,
        }


def step_rows(scene: StepScene) -> list[Row]:
    """One row a step: its window, its words and its sums."""
    total = len(scene.steps)
    return [
        {
            "step": number,
            "edge": scene.y(max(step.cut, scene.low)),
            "unit": scene.y(step.largest + 1),
            "edge_name": f"cut {power_of_two(step.cut)}",
            "unit_name": f"E = {power_of_two(step.largest)}",
            "head": _head(number, total, step),
            "exact": short(step.exact_sum, DIGITS),
            "kept": short(step.kept_sum, DIGITS),
            "chain": short(step.chain, DIGITS),
            "total": short(step.total, DIGITS),
            "off": short(step.total - step.exact, 3),
        }
        for number, step in enumerate(scene.steps, 1)
    ]


def _head(number: int, total: int, step: TracedStep) -> str:
    places = np.sort(step.places)
    also = ", then promoted" if step.promotes else ""
    is_run = places[-1] - places[0] == places.size - 1
    products = f"{'' if is_run else f'{places.size} of '}products {places[0]} to {places[-1]}"
    return f"Step {number} of {total}: {products} and c = {short(step.terms[-1])}{also}"


def grid_rows(scene: StepScene) -> list[Row]:
    """A line and a label for every few weights."""
    every = max(1, math.ceil(20 / scene.bit_tall))
    first = scene.low + (-scene.low) % every
    return [
        {"y": scene.y(e + 1), "middle": scene.y(e + 0.5), "name": power_of_two(e)}
        for e in range(first, scene.high - 1, every)
    ]


def strip_rows(scene: StepScene) -> list[Row]:
    """One row a step: the error of the result so far, drawn around its zero line."""
    errors = [step.total - step.exact for step in scene.steps]
    zero, per_unit = strip_scale(scene, errors)
    last = max(len(errors) - 1, 1)
    return [
        {
            "step": number,
            "x": LEFT + (RIGHT - LEFT) * (number - 1) / last,
            "y": zero - error * per_unit,
            "zero": zero,
            "off": short(error, 3),
            "total": short(step.total, DIGITS),
            "exact": short(step.exact, DIGITS),
        }
        for number, (error, step) in enumerate(zip(errors, scene.steps, strict=True), 1)
    ]


def strip_scale(scene: StepScene, errors: Sequence[float]) -> tuple[float, float]:
    """Where zero lies in the strip, and pixels per unit of error."""
    high, low = max(*errors, 0.0), min(*errors, 0.0)
    size = (high - low) or 1.0
    return scene.strip_top + STRIP * (high / size if high - low else 0.5), STRIP / size
