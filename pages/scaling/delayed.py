"""Section "Now or delayed": a scale from earlier steps against the step's own."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from fp8core.experiments.amax_series import (
    OFFERED_SERIES,
    RECORDED_SERIES,
    SERIES_NOTES,
    SeriesKind,
    amax_series,
)
from fp8core.experiments.delayed_scaling import AmaxChoice, DelayedRun, run_current, run_delayed
from fp8core.formats import FORMATS
from fp8core.inputs.recorded import has_amax
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import count, short
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.number_text import without_typesetting
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.terms.explain import draw_text
from pages.kit.view import here
from pages.kit.widgets import Choice, ChoiceStyle, Place, Text, Whole
from pages.scaling.charts.delayed import delayed_chart
from pages.scaling.controls import BYTES, KEPT

PASTED = "pasted"
FEWEST, MOST = 2, 400
LONGEST = 10_000
"""The characters that the field takes; a browser cuts what is pasted beyond them."""
SMALLEST, LARGEST = 1e-30, 1e30
_MOST_CHARACTERS = 24
_BETWEEN = re.compile(r"[\s,;，；、\u200b]+")
_NUMBER = re.compile(r"\+?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)

SERIES = Choice(
    key="scaling_series",
    label="amax over the steps",
    options={kind.value: SERIES_NOTES[kind].title for kind in OFFERED_SERIES} | {PASTED: "My own numbers"},
    default=(SeriesKind.REAL_DOWN_DY if has_amax() else SeriesKind.WARMUP).value,
    style=ChoiceStyle.SELECT,
)
STEPS = Whole(key="scaling_steps", label="Steps", low=16, high=400, default=160, step=1)
HISTORY = Whole(
    key="scaling_history",
    label="History (steps)",
    low=1,
    high=400,
    default=16,
    help="How many earlier steps the delayed scale looks back on.",
)
MARGIN = Whole(
    key="scaling_margin",
    label="Margin (bits)",
    low=0,
    high=8,
    default=0,
    help=(
        "The delayed scale is multiplied by 2 to this power. That leaves room for larger numbers, and small "
        "numbers lose bits."
    ),
)
AMAX_CHOICE = Choice(
    key="scaling_amax",
    label="Delayed scale from",
    options={choice.name.lower(): text for choice, text in (
        (AmaxChoice.MAX, "Largest of the history"),
        (AmaxChoice.MOST_RECENT, "Most recent amax")
    )},
    default=AmaxChoice.MAX.name.lower()
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class TextArea(Text):
    """Several lines of text."""

    def widget(self, place: Place, on_change: Callable[[], None] | None) -> str | None:
        return place.text_area(
            self.label,
            max_chars=self.longest,
            height=90,
            key=self.key,
            help=self.help,
            on_change=on_change,
            persist_state="session",
        )


OWN = TextArea(
    key="scaling_own",
    label="amax of each step",
    default="1 1.1 0.9 1 1 24 1.1 1 0.9 1 1.2 1 0.5 0.25 0.12 0.1 0.1 0.9 1 1.1",
    longest=LONGEST,
    help="Numbers above 0, separated by spaces, commas, semicolons or line ends.",
)


CONTROLS = (SERIES, OWN, STEPS, HISTORY, MARGIN, AMAX_CHOICE)

Series = tuple[float, ...]
FIRST = 1
"""Steps before this one have no history: the scale is still 1. They are not counted."""
ELEMENT = FORMATS["e4m3"]
"""Any format would do: what a scale holds does not depend on it."""
INTRO = (
    "To scale by amax, one must know it first. That takes a pass over the whole tensor, before the pass that "
    "casts it. **Delayed scaling** saves the first pass: it takes the amax of earlier steps and hopes that "
    "this step has no larger one. **Current scaling** (also called dynamic or online) makes the pass."
)
WHY_THEY_STOPPED = (
    "A scale from the past clips new, larger numbers without a warning. A longer history or a margin "
    "prevents that, but takes bits from every other step. The history is also state: for every tensor it "
    "must be kept, reduced over GPUs and saved in checkpoints. Current scaling has none of these problems. "
    "And where one scale serves a small block only, the casting kernel already holds the numbers of the "
    "block. It finds amax among them: there is no extra pass left to save."
)
SOURCES = (
    "Sources: Transformer Engine, common/recipe/delayed_scaling.cu, and its guide to low-precision training, "
    "FP8 delayed scaling (one read of the tensor instead of two); DeepSeek-V3, arXiv 2412.19437, section "
    "3.3.2, online quantization (accurate scales, a simpler framework)."
)
RULES = (
    r"- **Delayed**: $scale = amax^* \cdot 2^{margin} / Q_{max}$, where $amax^*$ is the largest of the "
    "window of earlier steps, or the most recent. A step is cast with the scale it finds; its own amax "
    "counts from the next step on.\n"
    "- **Current**: $scale = amax / Q_{max}$ of the step itself, read before it is cast. So a finite amax "
    "never overflows.\n"
    "- An amax of 0, infinity or NaN leaves the scale as it was.\n"
    "- The format plays no part in the picture: the scale above holds $amax^* \\cdot 2^{margin}$ in any "
    "format. What unused bits cost does depend on it: each doubles the number below which all becomes 0.\n"
    "- The first step has no history and its scale is 1; it is neither counted nor judged here.\n"
    "- *Unused* is log2 of what the scale holds over amax, at steps that do not overflow."
)


def show(controls: Controls) -> None:
    """Draw the section for the series and the strategy that the controls hold."""
    view = here()
    choice = AmaxChoice[controls.draw(AMAX_CHOICE, view.control).upper()]
    kind, history, margin = (controls.draw(control) for control in (SERIES, HISTORY, MARGIN))
    series = _series(controls, kind)
    if series is None:
        return
    every = strategies(series, history, margin)
    draw_notice(_notice(every, choice))
    draw_chart(
        delayed_spec(series, history, margin, choice, theme()), key="scaling_delayed", alt=_alt(every, choice)
    )
    draw_text(INTRO, view.know)
    view.know.markdown(_table(every, choice))
    view.know.markdown(f"**Why people stopped.** {WHY_THEY_STOPPED}")
    view.know.markdown(RULES)
    notes = [note for law, note in SERIES_NOTES.items() if law not in RECORDED_SERIES]
    view.know.markdown("\n".join(f"- **{note.title}**: {note.rule}." for note in notes))
    view.know.caption(f"{SOURCES}{_of_run(kind)}")


def _of_run(kind: str) -> str:
    """A sentence on the run that a recorded series is from; nothing for others."""
    if kind == PASTED or SeriesKind(kind) not in RECORDED_SERIES:
        return ""
    return f" Recorded: {plain(SERIES_NOTES[SeriesKind(kind)].rule)}."


def _series(controls: Controls, kind: str) -> Series | None:
    """The chosen series; None, and a sentence to the reader, where the pasted text is none."""
    if kind != PASTED:
        steps = controls.draw(STEPS)
        is_drawn = SeriesKind(kind) not in RECORDED_SERIES
        return generated(kind, steps, controls.draw(SEED) if is_drawn else 0)
    try:
        return parse_series(controls.draw(OWN))
    except ValueError as wrong:
        st.error(plain(str(wrong)))
        return None


def parse_series(text: str) -> tuple[float, ...]:
    """The numbers of `text`, separated by spaces of any width, commas, semicolons or line ends.

    Raises ValueError with one sentence for the reader: what came, and what is needed.
    """
    if len(text) >= LONGEST:
        raise ValueError(
            f"The text fills all {LONGEST:,} characters of this field, so its end may be missing; needed are "
            f"{FEWEST} to {MOST} numbers."
        )
    words = [word for word in map(without_typesetting, _BETWEEN.split(text)) if word]
    if not FEWEST <= len(words) <= MOST:
        raise ValueError(f"A series needs {FEWEST} to {MOST} numbers; {len(words)} came.")
    series = []
    for number, word in enumerate(words, start=1):
        value = float(word) if _NUMBER.fullmatch(word) else None
        if value is None or not SMALLEST <= value <= LARGEST:
            cut = word if len(word) <= _MOST_CHARACTERS else f"{word[:_MOST_CHARACTERS]}…"
            raise ValueError(
                f"Number {number} of {len(words)} is “{cut}”; an amax is needed: a number from "
                f"{SMALLEST:g} to {LARGEST:g}, such as 0.5 or 3e-4."
            )
        series.append(value)
    return tuple(series)


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """The effect of one way to choose scales on a series, without its first step."""

    title: str
    steps: int
    overflows: int
    worst: float
    unused_bits: float
    most_unused_bits: float


@st.cache_data(max_entries=KEPT, max_size=BYTES, show_spinner=False)
def generated(kind: str, steps: int, seed: int) -> Series:
    """The amax of each step."""
    return tuple(amax_series(SeriesKind(kind), steps, seed).tolist())


def _strategy(title: str, run: DelayedRun, series: Series) -> Strategy:
    """Counts over the steps that have a history.

    `worst` is the largest ratio of amax to the value that the scale holds. The bits are means and maxima over
    the steps that do not overflow.
    """
    bits, over = run.headroom_bits(series)[FIRST:], run.overflows[FIRST:]
    fitting = bits[~over]
    return Strategy(
        title=title,
        steps=bits.size,
        overflows=int(over.sum()),
        worst=float(np.exp2(-bits.min())),
        unused_bits=float(fitting.mean()) if fitting.size else 0.0,
        most_unused_bits=float(fitting.max()) if fitting.size else 0.0,
    )


@st.cache_data(max_entries=KEPT, max_size=BYTES, show_spinner=False)
def strategies(series: Series, history: int, margin: int) -> list[Strategy]:
    """Current scaling, then every delayed choice with this history and margin."""
    current = _strategy("this step's own amax (current)", run_current(series, ELEMENT), series)
    delayed = [
        _strategy(f"delayed, {choice.value}", run_delayed(series, ELEMENT, history, margin, choice), series)
        for choice in AmaxChoice
    ]
    return [current, *delayed]


def delayed_spec(series: Series, history: int, margin: int, choice: AmaxChoice, theme: str) -> Filled:
    """The picture of one delayed strategy. It opens at the step with the largest overflow, or the last."""
    run = run_delayed(series, ELEMENT, history, margin, choice)
    reach, step = history if choice is AmaxChoice.MAX else 1, np.arange(FIRST, len(series))
    bits, overflows = run.headroom_bits(series)[FIRST:], run.overflows[FIRST:]
    amax = np.log2(series)
    worst = int(bits.argmin())
    steps = {
        "step": step,
        "amax": amax[FIRST:],
        "holds": np.log2(run.holds[FIRST:]),
        "bits": bits,
        "overflows": overflows,
        "first": np.maximum(step - reach, 0),
        "last": step - 1,
    }
    return delayed_chart(amax, steps, int(step[worst if overflows[worst] else -1]), INKS[theme])


def _delayed(every: list[Strategy], choice: AmaxChoice) -> Strategy:
    """The delayed strategy among current scaling and every delayed one."""
    return every[1 + list(AmaxChoice).index(choice)]


def _notice(every: list[Strategy], choice: AmaxChoice) -> str:
    one = _delayed(every, choice)
    if not one.overflows:
        return (
            f"With a scale from the past, **none of {count(one.steps, 'step')} overflows.** But part of the "
            "range stays unused. The step's own amax uses all of it."
        )
    verb = "overflows" if one.overflows == 1 else "overflow"
    return (
        f"With a scale from the past, **{one.overflows} of {count(one.steps, 'step')} {verb}.** "
        "With the step's own amax none does."
    )


def _table(every: list[Strategy], choice: AmaxChoice) -> str:
    current = _delayed(every, choice)
    lines = ["| Scale from | overflows | worst | bits unused | at most |", "|:--|--:|--:|--:|--:|"]
    for one in every:
        mark = "**" if one is current else ""
        worst = f"{short(one.worst, 3)}×" if one.overflows else "–"
        lines.append(
            f"| {mark}{one.title}{mark} | {one.overflows} of {one.steps} | {worst} | "
            f"{one.unused_bits:.2f} | {one.most_unused_bits:.2f} |"
        )
    return "\n".join(lines)


def _alt(every: list[Strategy], choice: AmaxChoice) -> str:
    one = _delayed(every, choice)
    return (
        f"Timeline of amax over {one.steps} steps and of the largest number that the delayed scale holds; "
        f"{one.overflows} overflows are marked by triangles. Below, the bits of range unused at each step."
    )


def _strategy_of(settings: Mapping[str, Any], is_current: bool = False) -> Strategy:
    if settings[SERIES.key] == PASTED:
        series = parse_series(settings[OWN.key])
    else:
        series = generated(*(settings[control.key] for control in (SERIES, STEPS, SEED)))
    every = strategies(series, settings[HISTORY.key], settings[MARGIN.key])
    return every[0] if is_current else _delayed(every, AmaxChoice[settings[AMAX_CHOICE.key].upper()])


def _of_delayed(field: str) -> Callable[[Mapping[str, Any]], float]:
    return lambda settings: getattr(_strategy_of(settings), field)


FACTS = {
    **{name: _of_delayed(name) for name in ("overflows", "unused_bits", "worst")},
    "overflows_share": lambda settings: _strategy_of(settings).overflows / _strategy_of(settings).steps,
    "current_overflows": lambda settings: _strategy_of(settings, is_current=True).overflows,
}
