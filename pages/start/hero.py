"""The picture of the page "Start": three rows of gradients, the window of their format, and their sums."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fp8core.experiments.pulled_number import (
    COLUMN,
    FIRST_CHANNEL,
    FIRST_TOKEN,
    PART,
    ROWS,
    STEP,
    K,
    Pulled,
    Scales,
    pulled,
    recorded,
)
from fp8core.formats import FORMATS, Format
from fp8core.inputs.recorded import metadata
from pages.kit.chart import room
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.stage.stage import Stage, floats
from pages.kit.view import here
from pages.kit.widgets import Choice, NumberStyle, Whole

# Steps of the handle in a power of two.
PER_POWER = 4
LOW, HIGH = -3, 23

SCALES = Choice(
    key="start_scales",
    label="Scales",
    options={
        Scales.NONE.value: "No scale",
        Scales.ONE.value: "One scale",
        Scales.ROWS.value: "A scale for each row",
    },
    default=Scales.ONE.value,
)
FORMAT = Choice(
    key="start_format",
    label="Format",
    options={name: f"{name}, {FORMATS[name].packed_bits} bits" for name in ("e4m3", "e5m2", "e2m1")},
    default="e4m3",
)
NUMBER = Whole(
    key="start_number",
    label="The gold number, row by row",
    low=0,
    high=ROWS * K - 1,
    default=12,
)
PULL = Whole(
    key="start_pull",
    label=f"Pull it up, in steps of a {PER_POWER}th of a power of two",
    low=LOW * PER_POWER,
    high=HIGH * PER_POWER,
    default=0,
    style=NumberStyle.SLIDER,
)
SUMMED = Whole(key="start_k", label="Numbers summed", low=0, high=K, default=K, style=NumberStyle.SLIDER)

CONTROLS = (SCALES, FORMAT, NUMBER, PULL, SUMMED)

_FOLDER = Path(__file__).parent / "stage"
_PULLED = Stage("pulled_number", _FOLDER / "pulled.js", _FOLDER / "pulled.css")
_COUNT = ROWS * K
_STEPS = np.arange(LOW * PER_POWER, HIGH * PER_POWER + 1)
_CASES_KEPT = 64
# Pixels of the picture on a laptop: the doors stand below.
_HEIGHT = 560


def show(controls: Controls) -> None:
    scales = Scales(controls.draw(SCALES, here().control))
    format_ = FORMATS[controls.draw(FORMAT)]
    index, step, summed = (controls.draw(control) for control in (NUMBER, PULL, SUMMED))
    cases = _cases(index, format_, scales)
    draw_notice(notice(cases, step - _STEPS[0], scales))

    def take(move: dict[str, Any]) -> None:
        values = {NUMBER: move.get("index"), PULL: move.get("step"), SUMMED: move.get("k")}
        if isinstance(values[PULL], int):
            values[PULL] += int(_STEPS[0])
        controls.preset(**{control.key: value for control, value in values.items() if control.accepts(value)})

    _PULLED.draw(
        {
            "frames": _frames(index, format_, scales),
            "sizes": np.log2(np.abs(recorded().a.astype(np.float64))).ravel().round(4).tolist(),
            "at": {"index": index, "step": int(step - _STEPS[0]), "k": summed},
            "low": LOW,
            "per": PER_POWER,
            "count": _STEPS.size,
            "scales": scales.value,
            "layout": format_.layout(0),
            "height": min(room(), _HEIGHT),
            "words": _words(format_, scales),
        },
        key="hand_start",
        on_change=take,
    )


@lru_cache(maxsize=_CASES_KEPT)
def _cases(index: int, format_: Format, scales: Scales) -> Pulled:
    return pulled(recorded(), index, 2.0 ** (_STEPS / PER_POWER), format_, scales)


@lru_cache(maxsize=_CASES_KEPT)
def _frames(index: int, format_: Format, scales: Scales) -> str:
    """The cases as `pulled.js` reads them: float32[F, 4 · ROWS · K + 3 · ROWS]."""
    cases = _cases(index, format_, scales)
    edges = np.array([format_.max, format_.min_normal, format_.min_subnormal / 2])
    powers = np.log2(cases.scale)[..., None] + np.log2(edges)
    parts = (cases.is_lost, cases.codes, cases.sums, cases.exact, powers)
    return floats(np.concatenate([part.reshape(_STEPS.size, -1) for part in parts], axis=1))


def _words(format_: Format, scales: Scales) -> dict[str, Any]:
    span = short(float(np.log2(format_.max / format_.min_subnormal)), 2)
    title, pins = {
        Scales.NONE: (f"The window of {format_.name}", ["Without a scale it cannot", "follow the numbers."]),
        Scales.ONE: (f"The window of {format_.name}", ["The largest number", "pins its top."]),
        Scales.ROWS: ("A window for each row", ["Pinned by the row's", "own largest number."]),
    }[scales]
    return {
        "numbers": f"{_COUNT} gradients of a training run, in {ROWS} rows",
        "title": title,
        "pins": pins,
        "span": f"{span} powers of two, always",
        "below": ["What lies below", "becomes 0."],
        "sums": ["Each row times one", "column, summed over K"],
        "rounded": f"in {format_.packed_bits} bits",
    }


def notice(cases: Pulled, frame: int, scales: Scales) -> str:
    lost, is_pulled = int(cases.is_lost[frame].sum()), _STEPS[frame] > 0
    become = f"{ {0: 'none', _COUNT: 'all'}.get(lost, lost) } of {_COUNT}"
    if scales is Scales.NONE:
        return f"Without a scale, **{become} gradients become 0**. They are too small."
    if scales is Scales.ROWS and not is_pulled:
        return f"Each row has its own scale: **{become} become 0**. Pull the gold number up."
    if scales is Scales.ROWS:
        return f"With a scale for each row, **{become} become 0**: each row pays for its own largest number."
    if not is_pulled:
        return f"Pull the gold number up. Under one scale, **{become} become 0** now."
    if not lost:
        return f"Higher! The window's lower edge is still below all: **{become} become 0**."
    return f"The large number sets the scale for all, and **{become} gradients become 0**."


def about_numbers() -> str:
    of = metadata(PART, STEP)
    eight, four = (2 * FORMATS[name].max / FORMATS[name].min_subnormal for name in ("e4m3", "e2m1"))
    return (
        f"**The numbers.** A is dyᵀ, B is x: layer {of['layer']} after step {of['after_step']} of a run. "
        f"A has the recorded output channels {FIRST_CHANNEL} to {FIRST_CHANNEL + ROWS - 1} and the tokens "
        f"{FIRST_TOKEN} to {FIRST_TOKEN + K - 1}. B is column {COLUMN} of the same tokens. D = A · B is a "
        "part of Wgrad. The reference quantizer rounds A and B. Their products are added exactly.\n\n"
        "**The case is chosen.** A search took the numbers so that rows 1 and 3 go wrong under one scale and "
        f"come back with a scale for each row. In e4m3 a number becomes 0 where another is {short(eight)} "
        f"times larger; in e2m1, {short(four)} times is enough: choose it under More controls."
    )
