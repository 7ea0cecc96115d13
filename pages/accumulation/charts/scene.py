"""One dot product as columns to draw: where each bit of each term of each step lies, above the cut or below.

The picture is 1000 wide, whatever the width of the page, and as tall in pixels as it has room.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp8core.accumulators.trace import TracedStep
from pages.kit.charts.words import power_of_two, short

Columns = dict[str, Sequence[object] | NDArray[np.generic]]

WIDE, LEFT, RIGHT = 1000, 78, 872
HEAD, FOOT, STRIP_HEAD = 92, 30, 40
"""Pixels of the words above the bits, of the numbers of their columns, and of the strip's title."""
STRIP = 0.22
"""The strip's share of the height that bits and strip have."""
RING = 18
"""Pixels below the strip: half the ring around a result, and what the padding takes from the height."""
WORD_WIDE, WORD_OFF = 90, 11
"""The width that a result's word takes after its ring, and the pixels from its middle to the line."""
MOST_BITS = 44
HIGHEST_BIT_TALL = 17.0
BAR = 0.8
C_GAP = 0.9
LABELS = 8
DIGITS = 6
_SIGNIFICAND = 53


@dataclass(frozen=True)
class Spelled:
    """Numbers in binary, all arrays of one shape: |x| = digits · 2**lowest, from exponents `bottom` to `top`.

    `top` and `bottom` are the exponents of the highest and the lowest one, and 0 for a zero.
    """

    digits: NDArray[np.int64]
    lowest: NDArray[np.int64]
    top: NDArray[np.int64]
    bottom: NDArray[np.int64]

    @classmethod
    def of(cls, x: NDArray[np.float64]) -> "Spelled":
        fraction, exponent = np.frexp(np.abs(x))
        digits = np.ldexp(fraction, _SIGNIFICAND).astype(np.int64)
        lowest = exponent.astype(np.int64) - _SIGNIFICAND
        last = np.frexp((digits & -digits).astype(np.float64))[1] - 1
        return cls(digits, lowest, np.where(x == 0, 0, exponent - 1), np.where(x == 0, 0, lowest + last))

    def ones(self, exponents: range) -> tuple[NDArray[np.int64], ...]:
        """Find the ones of these exponents: indices into the numbers and, last, their exponents."""
        places = np.array(exponents) - self.lowest[..., None]
        is_within = (places >= 0) & (places < _SIGNIFICAND)
        *where, which = np.nonzero(is_within & (self.digits[..., None] >> np.where(is_within, places, 0) & 1))
        return (*where, which + exponents.start)


@dataclass(frozen=True)
class StepScene:
    """The steps of one dot product and where their bits are drawn."""

    steps: tuple[TracedStep, ...]
    room: int
    """Pixels of height that the picture may have."""

    @cached_property
    def terms(self) -> NDArray[np.float64]:
        """float64[steps, products + 1]: the terms of each step, c last."""
        return np.stack([step.terms for step in self.steps])

    @cached_property
    def kept(self) -> NDArray[np.float64]:
        """float64[steps, products + 1]: the terms without what the cut takes."""
        return np.stack([step.kept for step in self.steps])

    @cached_property
    def spelled(self) -> Spelled:
        return Spelled.of(self.terms)

    @cached_property
    def products(self) -> int:
        """Products of one step."""
        return len(self.steps[0].places)

    @cached_property
    def high(self) -> int:
        """The exponent above every bit, with a line of room for signs."""
        tops = self.spelled.top[self.terms != 0].tolist()
        return max([*tops, *(step.largest for step in self.steps)]) + 2

    @cached_property
    def low(self) -> int:
        """The exponent of the lowest bit drawn."""
        bottoms = self.spelled.bottom[self.terms != 0]
        cuts = min(step.cut for step in self.steps) - 2
        return max(min(int(bottoms.min(initial=self.high)), cuts), self.high - MOST_BITS)

    @cached_property
    def bit_tall(self) -> float:
        return min((self._free - self.strip) / (self.high - self.low), HIGHEST_BIT_TALL)

    @property
    def _free(self) -> float:
        """Pixels for bits and strip."""
        return self.room - HEAD - FOOT - (STRIP_HEAD + RING if self.has_strip else 0)

    @property
    def strip(self) -> float:
        """The strip's height in pixels."""
        return STRIP * self._free if self.has_strip else 0.0

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
        return self.strip_top + self.strip + RING if self.has_strip else self.bottom + FOOT

    def y(self, exponent: Any) -> Any:
        """Where the bit of the next higher weight begins."""
        return HEAD + (self.high - exponent) * self.bit_tall

    def x(self, column: float) -> float:
        """The middle of a column: the products from 0, then c."""
        columns = self.products + 1 + C_GAP
        place = column + (C_GAP if column >= self.products else 0)
        return LEFT + (RIGHT - LEFT) * (place + 0.5) / columns

    @cached_property
    def columns(self) -> NDArray[np.float64]:
        """The middle of each column."""
        return np.array([self.x(column) for column in range(self.products + 1)])

    @cached_property
    def bar(self) -> float:
        return BAR * (RIGHT - LEFT) / (self.products + 1 + C_GAP)


def term_columns(scene: StepScene) -> Columns:
    """One row a term of a step: the span of its bits, what is kept, and what the cut takes."""
    terms, kept, spelled = scene.terms, scene.kept, scene.spelled
    cut = np.array([[step.cut] for step in scene.steps])
    low = np.where(terms == 0, scene.low, np.maximum(spelled.bottom, scene.low))
    top = np.where(terms == 0, scene.low, np.maximum(spelled.top + 1, scene.low))
    lost = terms - kept
    share = np.divide(np.abs(lost), np.abs(terms), out=np.zeros_like(terms), where=terms != 0)
    every = max(1, -(-scene.products // LABELS))
    is_labeled = [column % every == 0 for column in range(scene.products)]
    names = [[*map(str, step.places.tolist())] for step in scene.steps]
    return {
        "step": np.repeat(np.arange(1, len(scene.steps) + 1), scene.products + 1),
        "x": np.tile(scene.columns, len(scene.steps)),
        "top": scene.y(top).ravel(),
        "low": scene.y(low).ravel(),
        "cut": scene.y(np.clip(np.maximum(cut, scene.low), low, np.maximum(top, low))).ravel(),
        "gone": ((terms != 0) & (kept == 0)).ravel(),
        "sign": ["" if term == 0 else "+" if term > 0 else "−" for term in terms.ravel().tolist()],
        "label": [
            label
            for places in names
            for label in (*(n if there else "" for n, there in zip(places, is_labeled, strict=True)), "c")
        ],
        "term": [
            told for places in names for told in (*(f"product k = {n}" for n in places), "c, the running sum")
        ],
        "value": _short(terms),
        "kept": _short(kept),
        "lost": _short(lost),
        "share": share.ravel(),
    }


def one_columns(scene: StepScene) -> Columns:
    """One row a one among the bits: the exponent that it stands for, and whether it lies above the cut."""
    step, column, exponent = scene.spelled.ones(range(scene.low, scene.high))
    cut = np.array([step.cut for step in scene.steps])
    return {
        "step": (step + 1).astype(np.int16),
        "x": scene.columns[column].astype(np.float32),
        "exponent": exponent.astype(np.int16),
        "is_kept": exponent >= cut[step],
    }


def _short(numbers: NDArray[np.float64]) -> list[str]:
    return [short(number, DIGITS) for number in numbers.ravel().tolist()]


def step_columns(scene: StepScene) -> Columns:
    """One row a step: its window, its words and its sums."""
    steps = scene.steps
    return {
        "step": list(range(1, len(steps) + 1)),
        "edge": [scene.y(max(step.cut, scene.low)) for step in steps],
        "unit": [scene.y(step.largest + 1) for step in steps],
        "edge_name": [f"cut {power_of_two(step.cut)}" for step in steps],
        "unit_name": [f"E = {power_of_two(step.largest)}" for step in steps],
        "head": [_head(number, len(steps), step) for number, step in enumerate(steps, 1)],
        "exact": [short(step.exact_sum, DIGITS) for step in steps],
        "kept": [short(step.kept_sum, DIGITS) for step in steps],
        "chain": [short(step.chain, DIGITS) for step in steps],
        "total": [short(step.total, DIGITS) for step in steps],
        "off": [short(step.total - step.exact, 3) for step in steps],
    }


def _head(number: int, total: int, step: TracedStep) -> str:
    places = step.places.tolist()
    first, last = min(places), max(places)
    also = ", then promoted" if step.promotes else ""
    is_run = last - first == len(places) - 1
    products = f"{'' if is_run else f'{len(places)} of '}products {first} to {last}"
    return f"Step {number} of {total}: {products} and c = {short(float(step.terms[-1]))}{also}"


def grid_columns(scene: StepScene) -> Columns:
    """A line and a label for every few weights."""
    every = max(1, math.ceil(20 / scene.bit_tall))
    weights = range(scene.low + (-scene.low) % every, scene.high - 1, every)
    return {
        "y": [scene.y(weight + 1) for weight in weights],
        "middle": [scene.y(weight + 0.5) for weight in weights],
        "name": [power_of_two(weight) for weight in weights],
    }


def strip_columns(scene: StepScene) -> Columns:
    """One row a step: the error of the result so far, drawn around its zero line."""
    errors = np.array([step.total - step.exact for step in scene.steps])
    zero, per_unit = strip_scale(scene, errors.tolist())
    last = max(len(errors) - 1, 1)
    x, y = LEFT + (RIGHT - LEFT) * np.arange(len(errors)) / last, zero - errors * per_unit
    return {
        "step": np.arange(1, len(errors) + 1),
        "x": x,
        "y": y,
        "word_y": _word_heights(x, y, zero),
        "zero": np.full(len(errors), zero),
        "off": [short(error, 3) for error in errors.tolist()],
        "total": [short(step.total, DIGITS) for step in scene.steps],
        "exact": [short(step.exact, DIGITS) for step in scene.steps],
    }


def _word_heights(x: NDArray[np.float64], y: NDArray[np.float64], zero: float) -> NDArray[np.float64]:
    """float64[steps]: where each result's word lies: near it, on neither the line nor zero's."""
    heights = np.empty_like(y)
    for place, (at, here) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        reach = np.append(x[(x > at) & (x < at + WORD_WIDE)], min(at + WORD_WIDE, x[-1]))
        line = np.append(np.interp(reach, x, y), here)
        low, high = float(line.min()) - WORD_OFF, float(line.max()) + WORD_OFF
        free = [
            word
            for word in (low, high, zero - WORD_OFF, zero + WORD_OFF)
            if not low < word < high and abs(word - zero) >= WORD_OFF
        ]
        heights[place] = min(free, key=lambda word: abs(word - here))
    return heights


def strip_scale(scene: StepScene, errors: Sequence[float]) -> tuple[float, float]:
    """Where zero lies in the strip, and pixels per unit of error."""
    high, low = max(*errors, 0.0), min(*errors, 0.0)
    size = (high - low) or 1.0
    return scene.strip_top + scene.strip * (high / size if high - low else 0.5), scene.strip / size
