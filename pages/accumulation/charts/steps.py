"""A dot product step by step: every term as its bits, the cut, the sums. The slider works in the browser.

The picture's x-axis has 1000 units, whatever the width of the page; its y-axis has pixels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.accumulators.trace import TracedStep
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.parts import rail, tips
from pages.kit.charts.template import Columns, Filled, number, template, text
from pages.kit.charts.words import percent_text, power_of_two, short

WIDE, LEFT, RIGHT = 1000, 78, 872
# Pixels of the words above the bits, of the numbers of their columns, and of the strip's title.
HEAD, FOOT, STRIP_HEAD = 92, 30, 40
STRIP = 0.22  # the strip's share of the height that bits and strip have
# Pixels below the strip: half the ring around a result; then K's line, a handle, and the padding.
RING, K_TALL = 14, 50
MOST_BITS, HIGHEST_BIT_TALL = 44, 17.0
BAR, C_GAP = 0.8, 0.9
LABELS, DIGITS = 8, 6
# Exponents above all terms to which a hand can pull c.
PULL = 3
LARGEST_START = 16  # the largest exponent of what c starts with
_SIGNIFICAND = 53


def top_bits(x: NDArray[np.float64]) -> NDArray[np.int64]:
    """Exponents of the highest ones of |x| in binary; 0 for a zero."""
    return np.where(x == 0, 0, np.frexp(np.abs(x))[1] - 1)


def bottom_bits(x: NDArray[np.float64]) -> NDArray[np.int64]:
    """Exponents of the lowest ones of |x| in binary; 0 for a zero."""
    fraction, exponent = np.frexp(np.abs(x))
    digits = np.ldexp(fraction, _SIGNIFICAND).astype(np.int64)
    lowest = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return np.where(x == 0, 0, exponent - _SIGNIFICAND + lowest)


@dataclass(frozen=True)
class StepScene:
    """The steps of a dot product, and the places of their bits in `room` pixels of height.

    c starts with 2**start, or with 0 where `start` is 0. `plain`, the steps from a c of 0, fix the scale
    where a hand can pull c up.
    """

    steps: tuple[TracedStep, ...]
    room: int
    start: int = 0
    plain: tuple[TracedStep, ...] = ()

    @cached_property
    def terms(self) -> NDArray[np.float64]:
        """float64[steps, products + 1]: the terms of each step, c last."""
        return np.stack([step.terms for step in self.steps])

    @cached_property
    def after_cut(self) -> NDArray[np.float64]:
        return np.stack([step.kept for step in self.steps])

    @property
    def products(self) -> int:
        return len(self.steps[0].places)

    @cached_property
    def high(self) -> int:
        """The exponent above every bit and sign."""
        return max(highest(self.steps), highest(self.plain) + PULL if self.plain else 0) + 2

    @cached_property
    def low(self) -> int:
        """The exponent of the lowest row: zeros and no bits, unless MOST_BITS cut the picture off."""
        steps = self.plain or self.steps
        terms = np.concatenate([step.terms for step in steps])
        bottoms, cuts = bottom_bits(terms[terms != 0]), min(step.cut for step in steps) - 2
        return max(min(int(bottoms.min(initial=self.high)) - 1, cuts), self.high - MOST_BITS)

    @property
    def strip(self) -> float:
        return STRIP * self._free

    @property
    def _free(self) -> float:
        return self.room - HEAD - FOOT - STRIP_HEAD - RING - K_TALL

    @cached_property
    def bit_tall(self) -> float:
        return min((self._free - self.strip) / (self.high - self.low), HIGHEST_BIT_TALL)

    @property
    def bottom(self) -> float:
        return self.y(self.low)

    @property
    def strip_top(self) -> float:
        return self.bottom + FOOT + STRIP_HEAD

    @property
    def k_line(self) -> float:
        return self.strip_top + self.strip + RING + K_TALL / 3

    @property
    def height(self) -> float:
        return self.strip_top + self.strip + RING + K_TALL

    def y(self, exponent: Any) -> Any:
        """The pixel at which the bit of the next higher weight begins."""
        return HEAD + (self.high - exponent) * self.bit_tall

    @cached_property
    def columns(self) -> NDArray[np.float64]:
        """The middle of each column: the products, then c after a gap."""
        places = np.arange(self.products + 1) + 0.5
        places[-1] += C_GAP
        return LEFT + (RIGHT - LEFT) * places / (self.products + 1 + C_GAP)

    @property
    def bar(self) -> float:
        return BAR * (RIGHT - LEFT) / (self.products + 1 + C_GAP)


def highest(steps: Sequence[TracedStep]) -> int:
    terms = np.concatenate([step.terms for step in steps])
    return max([*top_bits(terms[terms != 0]).tolist(), *(step.largest for step in steps)])


def pull_columns(scene: StepScene) -> Columns:
    """One row a step and a start of c: the top of c."""
    tops = [top if c else scene.low - 1 for c, top in ((step.terms[-1], _top(step)) for step in scene.plain)]
    rows = [
        (number, power, max(power, top) if power else top)
        for number, top in enumerate(tops, 1)
        for power in range(min(scene.high - 1, LARGEST_START + 1))
        if not power or power > top or power == scene.start
    ]
    ends = {number: _top(step) for number, step in enumerate(scene.steps, 1)}
    where = [ends[number] if power == scene.start and power else top for number, power, top in rows]
    return {
        "step": np.array([row[0] for row in rows], np.int16),
        "at": np.array([row[1] for row in rows], np.int16),
        "y": np.array([scene.y(top + 1) for top in where], np.float64),
        "words": [f"c starts with {power_of_two(row[1]) if row[1] else 0}" for row in rows],
    }


def _top(step: TracedStep) -> int:
    return int(top_bits(step.terms[-1:])[0])


def term_columns(scene: StepScene) -> Columns:
    """One row a term of a step: the span of its bits, and its parts at the cut."""
    terms, after_cut = scene.terms, scene.after_cut
    cut = np.array([[step.cut] for step in scene.steps])
    low = np.where(terms == 0, scene.low, np.maximum(bottom_bits(terms), scene.low))
    top = np.where(terms == 0, scene.low, np.maximum(top_bits(terms) + 1, scene.low))
    lost = terms - after_cut
    share = np.divide(np.abs(lost), np.abs(terms), out=np.zeros_like(terms), where=terms != 0)
    every = max(1, -(-scene.products // LABELS))
    places = [step.places.tolist() for step in scene.steps]
    return {
        "step": np.repeat(np.arange(1, len(scene.steps) + 1), scene.products + 1),
        "x": np.tile(scene.columns, len(scene.steps)),
        "top": scene.y(top).ravel(),
        "low": scene.y(low).ravel(),
        "cut": scene.y(np.clip(np.maximum(cut, scene.low), low, np.maximum(top, low))).ravel(),
        "gone": ((terms != 0) & (after_cut == 0)).ravel(),
        "sign": ["" if term == 0 else "+" if term > 0 else "−" for term in terms.ravel().tolist()],
        "label": [
            label
            for each in places
            for label in (*(f"{k}" if i % every == 0 else "" for i, k in enumerate(each)), "c")
        ],
        "term": [
            words for each in places for words in (*(f"product k = {k}" for k in each), "c, the running sum")
        ],
        "value": _short(terms),
        "kept": _short(after_cut),
        "lost": _short(lost),
        "share": share.ravel(),
    }


def one_columns(scene: StepScene) -> Columns:
    """One row a one among the bits."""
    exponents = np.arange(scene.low, scene.high)
    is_one = np.floor(np.abs(scene.terms)[..., None] / 2.0**exponents) % 2
    step, column, place = np.nonzero(is_one)
    exponent = exponents[place]
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
    steps = scene.steps
    hits = [int(np.count_nonzero(step.lost[:-1])) for step in steps]
    return {
        "step": list(range(1, len(steps) + 1)),
        "edge": [scene.y(max(step.cut, scene.low)) for step in steps],
        "unit": [scene.y(step.largest + 1) for step in steps],
        "edge_name": [f"cut {power_of_two(step.cut)}" for step in steps],
        "unit_name": [f"E = {power_of_two(step.largest)}" for step in steps],
        "hits": hits,
        "hit": [f"{hit} of {step.places.size}" for hit, step in zip(hits, steps, strict=True)],
        "lose": ["loses bits" if hit == 1 else "lose bits" for hit in hits],
        "dead": [_dead(step) for step in steps],
        "head": [_head(number, len(steps), step) for number, step in enumerate(steps, 1)],
        "exact": [short(step.exact_sum, DIGITS) for step in steps],
        "kept": [short(step.kept_sum, DIGITS) for step in steps],
        "chain": [short(step.chain, DIGITS) for step in steps],
        "total": [short(step.total, DIGITS) for step in steps],
        "off": [short(step.total - step.exact, 3) for step in steps],
    }


def _dead(step: TracedStep) -> str:
    count = int(np.count_nonzero((step.kept == 0) & (step.terms != 0)))
    return f"{count} become{'s' * (count == 1)} 0" if count else ""


def _head(number: int, total: int, step: TracedStep) -> str:
    places = step.places.tolist()
    first, last = min(places), max(places)
    also = ", then promoted" if step.promotes else ""
    is_run = last - first == len(places) - 1
    products = f"{'' if is_run else f'{len(places)} of '}products {first} to {last}"
    return f"Step {number} of {total}: {products} and c = {short(float(step.terms[-1]))}{also}"


def grid_columns(scene: StepScene) -> Columns:
    every = max(1, math.ceil(20 / scene.bit_tall))
    weights = range(scene.low + (-scene.low) % every, scene.high - 1, every)
    return {
        "y": [scene.y(weight + 1) for weight in weights],
        "middle": [scene.y(weight + 0.5) for weight in weights],
        "name": [power_of_two(weight) for weight in weights],
    }


def strip_columns(scene: StepScene) -> Columns:
    """One row a step, and one before them: the error of the result so far."""
    errors = np.array([0.0, *(step.total - step.exact for step in scene.steps)])
    high, low = errors.max(), errors.min()
    zero = scene.strip_top + scene.strip * (high / (high - low) if high > low else 0.5)
    totals, exacts = ([getattr(step, name) for step in scene.steps] for name in ("total", "exact"))
    x, sums = np.linspace(LEFT, RIGHT, errors.size), [(0.0, 0.0), *zip(totals, exacts, strict=True)]
    return {
        "step": np.arange(errors.size),
        "x": x,
        "before": np.concatenate([x[:1], x[:-1]]),
        "y": zero - errors * scene.strip / ((high - low) or 1.0),
        "zero": np.full(errors.size, zero),
        "off": [short(error, 3) for error in errors.tolist()],
        "share": ["" if not exact else percent_text(abs(total / exact - 1), 2) for total, exact in sums],
        "side": ["small" if abs(total) < abs(exact) else "large" for total, exact in sums],
        "total": [short(total, DIGITS) for total in (0.0, *totals)],
        "exact": [short(exact, DIGITS) for exact in (0.0, *exacts)],
        "words": ["", *(_head(number, len(totals), step) for number, step in enumerate(scene.steps, 1))],
    }


STEP = "step"
GRID, TERMS, ONES, SUMS, STRIP_ROWS, PULLS = "grid", "terms", "ones", "sums", "strip", "pulls"
PULL_RAIL = "pull"
NOW = f"datum.step == {STEP}"
# A field, its words, and those of a narrow page.
FIGURES = (
    ("exact", "this step, exact", "exact"),
    ("kept", "after the cut", "after cut"),
    ("chain", "stored as c", "as c"),
    ("total", "result so far", "so far"),
    ("off", "off in all", "off in all"),
)
# Marks of bits with their colors, words, and pixels from the left.
KEYS = (("■", "dot", "a bit that is 1", 0), ("□", "lost", "cut off", 118))
_NARROW = f"containerSize()[0] < {NARROW}"
_BOLD = {"align": "left", "fontWeight": "bold"}
_PLACES = ("zero_y", "tall", "foot", "half", "strip_head", "k_line", "c_x")
# What a step does, while `fall` runs from 0 to 1: its products come down, then the cut takes its bits.
FALL, DROP, CUT_AT = "fall", 70, 0.4
_MOTION = {
    "is_cut": f"{FALL} >= {CUT_AT}",
    "drop": f"-{DROP} * pow(max(0, 1 - {FALL} / {CUT_AT}), 2)",
    "pad": "min(1.5, 0.16 * tall)",
    "gone": f"pow(max(0, {FALL} - {CUT_AT}) / {1 - CUT_AT}, 2)",
}
_DROP = "(datum.x < c_x ? drop : 0)"


def steps_chart(scene: StepScene, first: int, ink: Ink) -> Filled:
    return _template(ink).filled(
        {
            GRID: grid_columns(scene),
            SUMS: step_columns(scene),
            TERMS: term_columns(scene),
            ONES: one_columns(scene),
            STRIP_ROWS: strip_columns(scene),
            PULLS: pull_columns(scene),
        },
        step=first,
        last=len(scene.steps),
        zero_y=scene.y(0),
        tall=scene.bit_tall,
        foot=scene.bottom,
        half=scene.bar / 2,
        strip_head=scene.strip_top - STRIP_HEAD + 16,
        k_line=scene.k_line,
        c_x=float(scene.columns[-1]) - scene.bar / 2,
        products=f"'{sum(step.places.size for step in scene.steps)}'",
        height=scene.height,
    )


@template
def _template(ink: Ink) -> alt.LayerChart:
    slider = alt.binding_range(min=1, max=number("last", 2), step=1, name="Step ")
    fall = alt.binding_range(min=0, max=1, step=0.001, name="What a step does ")
    parts = (_grid(ink), _sums(ink), *_terms(ink), _strip(ink), _k_line(ink), _pull())
    chart = alt.layer(*parts, height=number("height", 300))
    chart = chart.add_params(
        alt.param(name=STEP, value=number("step", 1), bind=slider),
        alt.param(name=FALL, value=1, bind=fall),
        *(alt.param(name=name, expr=expression) for name, expression in _MOTION.items()),
        *(alt.param(name=name, value=number(name, 0)) for name in _PLACES),
    )
    return chart.configure_view(stroke=None).configure_mark(tooltip=None)


def _x(field: str) -> alt.X:
    return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, WIDE], nice=False), axis=None)


def _y(field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", scale=None, axis=None)


def _at(x: float, y: float) -> dict[str, Any]:
    across = alt.X(datum=x, type="quantitative", scale=alt.Scale(domain=[0, WIDE]), axis=None)
    return {"x": across, "y": alt.value(y)}


def _grid(ink: Ink) -> alt.LayerChart:
    base = alt.Chart().transform_calculate(left=str(LEFT), right=str(RIGHT))
    lines = base.mark_rule(color=ink.hair, strokeWidth=1).encode(x=_x("left"), x2="right:Q", y=_y("y"))
    names = base.mark_text(align="right", dx=-6, fontSize=12, color=ink.soft).encode(
        x=_x("left"), y=_y("middle"), text="name:N"
    )
    return alt.layer(lines, names, data=alt.NamedData(GRID))


def _terms(ink: Ink) -> tuple[alt.LayerChart, ...]:
    """Bars of bits, filled above the cut and empty below it, with their words."""
    now = (
        alt.Chart()
        .transform_filter(NOW)
        .transform_calculate(
            x0="datum.x - half",
            x1="datum.x + half",
            y0=f"datum.top + {_DROP}",
            y1=f"(is_cut ? datum.cut : datum.low) + {_DROP}",
        )
    )
    above = now.transform_filter("datum.y0 < datum.y1").mark_rect(
        fill=ink.page, stroke=ink.line, strokeWidth=1, cornerRadius=3
    )
    lost = now.transform_filter("is_cut && datum.cut < datum.low").mark_rect(
        fill=ink.lost_area, cornerRadius=3
    )
    bars = alt.layer(
        above.encode(x=_x("x0"), x2="x1:Q", y=_y("y0"), y2="y1:Q"),
        lost.encode(x=_x("x0"), x2="x1:Q", y=_y("cut"), y2="low:Q"),
        data=alt.NamedData(TERMS),
    )
    bold = {"fontSize": 13, "fontWeight": "bold", "baseline": "bottom"}
    zeros = now.transform_filter(f"datum.gone && {FALL} == 1").mark_text(dy=3, color=ink.lost, **bold)
    sign = now.mark_text(dy=-1, color=ink.text, **bold)
    label = now.mark_text(fontSize=12, baseline="top", color=ink.soft)
    cover = now.mark_rect(opacity=0, color=ink.text)
    tooltip = tips(
        ("term:N", "term"),
        ("value:N", "exact"),
        ("kept:N", "kept"),
        ("lost:N", "lost"),
        ("share:Q", "lost share", ".3~%"),
    )
    words = alt.layer(
        zeros.transform_calculate(base="foot").encode(x=_x("x"), y=_y("base"), text=alt.value("0")),
        sign.encode(x=_x("x"), y=_y("y0"), text="sign:N"),
        label.transform_calculate(under="foot + 5").encode(x=_x("x"), y=_y("under"), text="label:N"),
        cover.transform_calculate(high=str(HEAD), low_end="foot").encode(
            x=_x("x0"), x2="x1:Q", y=_y("high"), y2="low_end:Q", tooltip=tooltip
        ),
        data=alt.NamedData(TERMS),
    )
    return bars, _ones(ink), words


def _ones(ink: Ink) -> alt.LayerChart:
    """A square for each one; those below the cut have a second one, which falls."""
    one = f"zero_y - tall * (datum.exponent + 1) + {_DROP}"
    is_above = alt.when("datum.is_kept || !is_cut").then(alt.value(ink.dot))
    bits = (
        alt.Chart()
        .transform_filter(NOW)
        .transform_calculate(
            one_top=f"{one} + pad",
            one_low=f"{one} + tall - pad",
            one_left="datum.x - 0.6 * half",
            one_right="datum.x + 0.6 * half",
        )
    )
    across = {"x": _x("one_left"), "x2": "one_right:Q"}
    falls = (
        bits.transform_filter(f"is_cut && {FALL} < 1 && !datum.is_kept")
        .transform_calculate(
            fall_top="datum.one_top + gone * (foot - datum.one_low)",
            fall_low="datum.one_low + gone * (foot - datum.one_low)",
        )
        .properties(name="falling")
        .mark_rect(fill=ink.lost, opacity=alt.ExprRef("1 - gone"), cornerRadius=1)
        .encode(**across, y=_y("fall_top"), y2="fall_low:Q")
    )
    return alt.layer(
        bits.mark_rect(strokeWidth=1.2, cornerRadius=1).encode(
            **across,
            y=_y("one_top"),
            y2="one_low:Q",
            fill=is_above.otherwise(alt.value(ink.page)),
            stroke=is_above.otherwise(alt.value(ink.lost)),
        ),
        falls,
        data=alt.NamedData(ONES),
    )


def _sums(ink: Ink) -> alt.LayerChart:
    now = alt.Chart().transform_filter(NOW).transform_calculate(left=str(LEFT), right=str(RIGHT))
    across = {"x": _x("left"), "x2": "right:Q"}
    name = {"fontSize": 13, "color": ink.scale, **_BOLD}
    layers = [
        now.mark_rect(color=ink.win).encode(**across, y=_y("unit"), y2="edge:Q"),
        now.mark_rule(color=ink.scale, strokeWidth=1.5, strokeDash=[2, 3]).encode(**across, y=_y("edge")),
        now.mark_rule(color=ink.scale, strokeWidth=2.5).encode(**across, y=_y("unit")),
        now.mark_text(dx=4, **name).encode(x=_x("right"), y=_y("edge"), text="edge_name:N"),
        # Beside the handle of c.
        now.mark_text(dx=16, **name).encode(x=_x("right"), y=_y("unit"), text="unit_name:N"),
        now.mark_text(fontSize=14, color=ink.text, **_BOLD).encode(**_at(0, 14), text="head:N"),
    ]
    # What the cut takes from this step's products, beside it where there is room.
    hit = now.transform_filter(f"is_cut && datum.hits > 0 && !({_NARROW})")
    lost, at = {"dx": 4, "color": ink.lost, **_BOLD}, {"x": _x("right"), "y": _y("edge")}
    layers += [
        hit.mark_text(dy=32, fontSize=24, **lost).encode(**at, text="hit:N"),
        hit.mark_text(dy=52, fontSize=13, **lost).encode(**at, text="lose:N"),
        hit.mark_text(dy=70, fontSize=13, **lost).encode(**at, text="dead:N"),
    ]
    size = alt.ExprRef(f"{_NARROW} ? 13 : 18")
    for place, (field, wide, narrow) in enumerate(FIGURES):
        x, color = place * WIDE / len(FIGURES), ink.lost if field == "off" else ink.text
        words = alt.value(alt.ExprRef(f"{_NARROW} ? '{narrow}' : '{wide}'"))
        under = now.mark_text(align="left", fontSize=12, color=ink.soft)
        figure = now.mark_text(fontSize=size, color=color, **_BOLD)
        layers += [under.encode(**_at(x, 40), text=words), figure.encode(**_at(x, 60), text=f"{field}:N")]
    for mark, color, words, dx in KEYS:
        key = now.mark_text(dx=dx, fontSize=13, color=getattr(ink, color), **_BOLD)
        layers.append(key.encode(x=_x("left"), y=alt.value(84), text=alt.value(f"{mark} {words}")))
    return alt.layer(*layers, data=alt.NamedData(SUMS))


def _strip(ink: Ink) -> alt.LayerChart:
    base = alt.Chart()
    tooltip = tips(
        ("step:Q", "step"), ("total:N", "result so far"), ("exact:N", "exact so far"), ("off:N", "off by")
    )
    place = {"x": _x("x"), "y": _y("y")}
    once = base.transform_filter("datum.step == 0").transform_calculate(
        left=str(LEFT), right=str(RIGHT), head="strip_head"
    )
    return alt.layer(
        once.mark_text(fontSize=13, color=ink.text, **_BOLD).encode(
            x=_at(0, 0)["x"], y=_y("head"), text=alt.value("What the result so far has lost")
        ),
        once.mark_rule(color=ink.soft, strokeWidth=1).encode(x=_x("left"), x2="right:Q", y=_y("zero")),
        once.mark_text(align="right", dx=-6, fontSize=12, color=ink.soft).encode(
            x=_x("left"), y=_y("zero"), text=alt.value("0")
        ),
        base.transform_filter(f"datum.x > {RIGHT - 1} && datum.y != datum.zero && datum.share")
        .transform_calculate(words=f"datum.share + ({_NARROW} ? '' : ' too ' + datum.side)")
        .mark_text(dx=14, fontSize=13, color=ink.lost, **_BOLD)
        .encode(**place, text="words:N"),
        base.mark_area(color=ink.lost_area).encode(**place, y2="zero:Q"),
        base.mark_line(color=ink.text, strokeWidth=2.5).encode(**place),
        base.transform_filter("datum.step > 0")
        .mark_circle(color=ink.text, size=40, opacity=1)
        .encode(**place, tooltip=tooltip),
        base.transform_filter(NOW)
        .mark_point(color=ink.text, size=160, strokeWidth=2.5, filled=False, opacity=1)
        .encode(**place),
        data=alt.NamedData(STRIP_ROWS),
    )


def _k_line(ink: Ink) -> alt.LayerChart:
    base = alt.Chart().transform_calculate(k="k_line", left=str(LEFT), right=str(RIGHT), under="k_line + 20")
    once, now = base.transform_filter("datum.step == 0"), base.transform_filter(NOW)
    line = {"color": ink.k}
    figure = once.mark_text(fontSize=13, color=ink.soft)
    # The button stands there on a narrow page.
    zero = alt.value(alt.ExprRef(f"{_NARROW} ? '' : '0'"))
    return alt.layer(
        once.mark_rule(strokeWidth=1.75, **line).encode(x=_x("left"), x2="right:Q", y=_y("k")),
        once.mark_point(shape="triangle-right", filled=True, size=90, opacity=1, **line).encode(
            x=_x("right"), y=_y("k")
        ),
        once.mark_text(text="K", dx=18, fontSize=14, color=ink.k, **_BOLD).encode(x=_x("right"), y=_y("k")),
        figure.encode(x=_x("left"), y=_y("under"), text=zero),
        figure.encode(x=_x("right"), y=_y("under"), text=alt.value(alt.ExprRef(text("products", "'256'")))),
        now.mark_rule(strokeWidth=5, strokeCap="round", **line).encode(x=_x("before"), x2="x:Q", y=_y("k")),
        rail(base.transform_filter("datum.step > 0").transform_calculate(at="datum.step"), _x("x"), _y("k")),
        data=alt.NamedData(STRIP_ROWS),
    )


def _pull() -> alt.Chart:
    base = alt.Chart(alt.NamedData(PULLS)).transform_filter(NOW)
    return rail(base.transform_calculate(x="c_x + half"), _x("x"), _y("y"), PULL_RAIL)
