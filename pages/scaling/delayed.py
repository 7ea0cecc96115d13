"""Section "Now or delayed": a scale from earlier steps against the step's own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from fp8core.experiments.amax_series import (
    OFFERED_SERIES,
    RECORDED_SERIES,
    SERIES_NOTES,
    SeriesKind,
    amax_series,
)
from fp8core.experiments.delayed_scaling import DelayedRun, run_current, run_delayed
from fp8core.formats import FORMATS
from fp8core.inputs.recorded import has_amax
from pages.kit.chart_slider import Hand, chart_with_slider, with_slider
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import RAIL
from pages.kit.charts.template import Filled
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.shared_controls import SEED
from pages.kit.tables import EMPTY, markdown_table
from pages.kit.view import draw_notice, here, page_ink
from pages.kit.widgets import Select, Settings, Whole
from pages.scaling.charts.delayed import BITS, STEP, TIMELINE, delayed_chart
from pages.scaling.window import BYTES, RESULTS

SERIES = Select(
    key="scaling_series",
    label="amax over the steps",
    options={kind.value: SERIES_NOTES[kind].title for kind in OFFERED_SERIES},
    default=(SeriesKind.REAL_DOWN_DY if has_amax() else SeriesKind.WARMUP).value,
)
STEPS = Whole(key="scaling_steps", label="Steps", low=16, high=400, default=160, step=1)
HISTORY = Whole(
    key="scaling_history",
    label="History (steps)",
    low=1,
    high=400,
    default=16,
    help="How many earlier steps the delayed scale looks back on; 1 takes the most recent amax.",
)
MARGIN = Whole(
    key="scaling_margin",
    label="Margin (bits)",
    low=0,
    high=8,
    default=0,
    help="2 to this power leaves room for larger numbers, and small numbers lose bits.",
)
LOOKED_AT = Whole(
    key="scaling_step",
    label="Step on show; 0: the largest overflow, or the last step",
    low=0,
    high=400,
    default=0,
)
CONTROLS = (SERIES, STEPS, HISTORY, MARGIN, LOOKED_AT)

Series = tuple[float, ...]
# The first step with a history: before it the scale is 1, and nothing is counted.
FIRST = 1
ELEMENT = FORMATS["e4m3"]  # any format would do: the largest number that a scale holds does not depend on it
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
    "earlier steps in the history. A history of 1 takes the most recent. A step is cast with the scale it "
    "finds; its own amax counts from the next step on.\n"
    "- **Current**: $scale = amax / Q_{max}$ of the step itself, read before it is cast. So a finite amax "
    "never overflows.\n"
    "- The format plays no part in the picture: the scale above holds $amax^* \\cdot 2^{margin}$ in any "
    "format. What unused bits cost does depend on it: each doubles the number below which all becomes 0.\n"
    "- The first step has no history and its scale is 1; it is neither counted nor judged here.\n"
    "- *Unused* is log2 of what the scale holds over amax, at steps that do not overflow."
)


def show(controls: Controls) -> None:
    view = here()
    kind = controls.draw(SERIES, view.control)
    history, margin = controls.draw(HISTORY), controls.draw(MARGIN)
    is_recorded = SeriesKind(kind) in RECORDED_SERIES
    series = generated(kind, controls.draw(STEPS), 0 if is_recorded else controls.draw(SEED))
    current, delayed = strategies(series, history, margin)
    draw_notice(_notice(delayed))
    at = controls.within(LOOKED_AT, high=len(series) - 1) or opening(series, history, margin)
    chart_with_slider(
        controls,
        LOOKED_AT,
        name="scaling_delayed",
        inputs=(series, history, margin, page_ink()),
        at=at,
        spec_at=lambda start: with_slider(delayed_spec(series, history, margin, page_ink()), STEP, start),
        is_fitted=True,
        hand=Hand(label="Step", grips=((TIMELINE, RAIL), (BITS, RAIL))),
        alt_at=lambda _: (
            f"Timeline of amax over {delayed.steps} steps and of the largest number that the delayed scale "
            f"holds; {delayed.overflows} overflows are marked by triangles. Below, the bits of range unused "
            "at each step."
        ),
    )
    view.know.markdown(INTRO)
    view.know.markdown(_table([current, delayed]))
    view.know.markdown(f"**Why people stopped.** {WHY_THEY_STOPPED}")
    view.know.markdown(RULES)
    notes = [note for law, note in SERIES_NOTES.items() if law not in RECORDED_SERIES]
    view.know.markdown("\n".join(f"- **{note.title}**: {note.rule}." for note in notes))
    run = f" Recorded: {plain(SERIES_NOTES[SeriesKind(kind)].rule)}." if is_recorded else ""
    view.know.caption(f"{SOURCES}{run}")


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """The effect of one choice of scales on a series, over the steps that have a history.

    `worst` is the largest amax over the value that its scale holds. Steps without overflow make the bits.
    """

    title: str
    steps: int
    overflows: int
    worst: float
    unused_bits: float
    most_unused_bits: float

    @property
    def overflows_share(self) -> float:
        return self.overflows / self.steps


@st.cache_data(max_entries=RESULTS, max_size=BYTES, show_spinner=False)
def generated(kind: str, steps: int, seed: int) -> Series:
    return tuple(amax_series(SeriesKind(kind), steps, seed).tolist())


def _strategy(title: str, run: DelayedRun, series: Series) -> Strategy:
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


@st.cache_data(max_entries=RESULTS, max_size=BYTES, show_spinner=False)
def strategies(series: Series, history: int, margin: int) -> tuple[Strategy, Strategy]:
    """Current scaling, and delayed scaling."""
    return (
        _strategy("this step's own amax (current)", run_current(series, ELEMENT), series),
        _strategy("delayed", run_delayed(series, ELEMENT, history, margin), series),
    )


def delayed_spec(series: Series, history: int, margin: int, ink: Ink) -> Filled:
    run = run_delayed(series, ELEMENT, history, margin)
    step = np.arange(FIRST, len(series))
    bits, overflows = run.headroom_bits(series)[FIRST:], run.overflows[FIRST:]
    amax = np.log2(series)
    steps = {
        "step": step,
        "amax": amax[FIRST:],
        "holds": np.log2(run.holds[FIRST:]),
        "bits": bits,
        "overflows": overflows,
        "first": np.maximum(step - history, 0),
        "last": step - 1,
    }
    return delayed_chart(amax, steps, ink)


def opening(series: Series, history: int, margin: int) -> int:
    """The step of the largest overflow, else the last."""
    run = run_delayed(series, ELEMENT, history, margin)
    worst = FIRST + int(run.headroom_bits(series)[FIRST:].argmin())
    return worst if run.overflows[worst] else len(series) - 1


def _notice(one: Strategy) -> str:
    if not one.overflows:
        return (
            f"With a scale from the past, **none of {one.steps} steps overflows.** But part of the range "
            "stays unused. The step's own amax uses all of it."
        )
    verb = "overflows" if one.overflows == 1 else "overflow"
    return (
        f"With a scale from the past, **{one.overflows} of {one.steps} steps {verb}.** With the step's own "
        "amax none does."
    )


def _table(every: Sequence[Strategy]) -> str:
    lines = []
    for one in every:
        worst = f"{short(one.worst, 3)}×" if one.overflows else EMPTY
        bits = f"{one.unused_bits:.2f}", f"{one.most_unused_bits:.2f}"
        lines.append((one.title, f"{one.overflows} of {one.steps}", worst, *bits))
    return markdown_table(("Scale from", "overflows", "worst", "bits unused", "at most"), lines)


def _strategies(settings: Settings) -> tuple[Strategy, Strategy]:
    series = generated(*(settings[control.key] for control in (SERIES, STEPS, SEED)))
    return strategies(series, settings[HISTORY.key], settings[MARGIN.key])


FACTS = {
    "current_overflows": lambda settings: _strategies(settings)[0].overflows,
    "overflows": lambda settings: _strategies(settings)[1].overflows,
    "overflows_share": lambda settings: _strategies(settings)[1].overflows_share,
    "unused_bits": lambda settings: _strategies(settings)[1].unused_bits,
    "worst": lambda settings: _strategies(settings)[1].worst,
}
