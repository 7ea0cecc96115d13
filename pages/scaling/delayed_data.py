"""The data and pictures of the section "Now or delayed"."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from fp8core.experiments.amax_series import SeriesKind, amax_series
from fp8core.experiments.delayed_scaling import AmaxChoice, DelayedRun, run_current, run_delayed
from fp8core.formats import FORMATS
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.scaling.charts.delayed import DelayedScene, delayed_chart
from pages.scaling.data import BYTES, KEPT

Series = tuple[float, ...]
FIRST = 1
"""Steps before this one have no history: the scale is still 1. They are not counted."""
ELEMENT = FORMATS["e4m3"]
"""Any format would do: what a scale holds does not depend on it."""


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


def strategy(title: str, run: DelayedRun, series: Series) -> Strategy:
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
    current = strategy("this step's own amax (current)", run_current(series, ELEMENT), series)
    delayed = [
        strategy(f"delayed, {choice.value}", run_delayed(series, ELEMENT, history, margin, choice), series)
        for choice in AmaxChoice
    ]
    return [current, *delayed]


def delayed_scene(series: Series, history: int, margin: int, choice: AmaxChoice) -> DelayedScene:
    """The picture's data. The step shown first is the one with the largest overflow, or the last."""
    run = run_delayed(series, ELEMENT, history, margin, choice)
    reach, step = history if choice is AmaxChoice.MAX else 1, np.arange(FIRST, len(series))
    bits, overflows = run.headroom_bits(series)[FIRST:], run.overflows[FIRST:]
    amax = np.log2(series)
    worst = int(bits.argmin())
    return DelayedScene(
        amax=amax,
        steps={
            "step": step,
            "amax": amax[FIRST:],
            "holds": np.log2(run.holds[FIRST:]),
            "bits": bits,
            "overflows": overflows,
            "first": np.maximum(step - reach, 0),
            "last": step - 1,
        },
        start=int(step[worst if overflows[worst] else -1]),
    )


def delayed_spec(series: Series, history: int, margin: int, choice: str, theme: str) -> Filled:
    """The picture of one delayed strategy; `choice` is the name of an AmaxChoice."""
    return delayed_chart(delayed_scene(series, history, margin, AmaxChoice[choice]), INKS[theme])
