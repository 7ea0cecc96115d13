"""The picture of the page "Start": three rows of gradients, the window of their format, and their sums."""

import math
from dataclasses import dataclass
from functools import lru_cache
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
    is_plain,
    pulled,
    recorded,
)
from fp8core.formats import FORMATS
from fp8core.formats.float_format import FloatFormat
from fp8core.inputs.recorded import metadata
from fp8core.linear import MATMULS, WGRAD, LayerTensor, Matmul, Side
from fp8core.recipes import RECIPES, MatmulSpec
from pages.kit.charts.words import short
from pages.kit.controls import Controls, link_params
from pages.kit.stage.window import HANDLE, HIGH, PER_POWER, STEPS, WINDOW, frames, pull_of, span
from pages.kit.view import draw_notice, here, room
from pages.kit.widgets import Choice, NumberStyle, Select, Whole

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
MATMUL = Choice(
    key="start_matmul",
    label="Matmul",
    options={name: f"{matmul.title}, A = {matmul.symbol(Side.A)}" for name, matmul in MATMULS.items()},
    default=WGRAD.name,
)
RECIPE = Select(
    key="start_format",
    label="Formats and scales of",
    options={
        name: recipe.title
        for name, recipe in RECIPES.items()
        if all(is_plain(recipe.spec(matmul)) for matmul in MATMULS.values())
    },
    default="per_tensor_e4m3",
    moved={"e4m3": "per_tensor_e4m3", "e5m2": "per_tensor", "e2m1": "mxfp4"},
)
NUMBER = Whole(key="start_number", label="The gold number, row by row", low=0, high=ROWS * K - 1, default=12)
PULL = pull_of("start_pull")
TERMS = Whole(key="start_k", label="Numbers summed", low=0, high=K, default=K, style=NumberStyle.SLIDER)

CONTROLS = (SCALES, MATMUL, RECIPE, NUMBER, PULL, TERMS)

_COUNT = ROWS * K
_MOST_CASES = 64
_MUCH = 0.1  # a sum that is off by less is hardly wrong
_HEIGHT = 560  # pixels of the picture on a laptop: the doors stand below
_ABOVE, _TALL = 8, 27  # powers of two between the lines of the axis, and from its top to its foot


@dataclass(frozen=True)
class Scene:
    """The matmul, the recipe of the formats, the scales, and the number in hand."""

    matmul: Matmul
    recipe: str
    scales: Scales
    index: int

    @property
    def spec(self) -> MatmulSpec:
        return RECIPES[self.recipe].spec(self.matmul)

    @property
    def format(self) -> FloatFormat:
        return self.spec.a.format

    @property
    def has_rows(self) -> bool:
        return self.scales is Scales.ROWS

    @property
    def noun(self) -> str:
        return "gradients" if self.matmul.operand(Side.A) is LayerTensor.DY else "activations"


def show(controls: Controls) -> None:
    scales = Scales(controls.draw(SCALES, here().control))
    matmul, recipe = MATMULS[controls.draw(MATMUL)], controls.draw(RECIPE)
    index, step, terms = (controls.draw(control) for control in (NUMBER, PULL, TERMS))
    scene = Scene(matmul, recipe, scales, index)
    draw_notice(notice(scene, step - STEPS[0]))

    def take(move: dict[str, Any]) -> None:
        values = {NUMBER: move.get("index"), PULL: move.get("step"), TERMS: move.get("k")}
        if isinstance(values[PULL], int):
            values[PULL] += int(STEPS[0])
        controls.preset(**{control.key: value for control, value in values.items() if control.accepts(value)})

    sizes = np.log2(np.abs(recorded(matmul).a.astype(np.float64))).ravel()
    WINDOW.draw(
        {
            "frames": _frames(scene),
            "rows": ROWS,
            "k": K,
            "windows": [[row * K, row * K + K] for row in range(ROWS)] if scene.has_rows else [[0, _COUNT]],
            "sizes": sizes.round(4).tolist(),
            "at": {"index": index, "step": int(step - STEPS[0]), "k": terms},
            "stops": list(range(K + 1)),
            "lowest": TERMS.low,
            "top": _ABOVE * math.ceil((sizes.max() + HIGH) / _ABOVE) - _ABOVE,
            "tall": _TALL,
            "layout": scene.format.layout(0),
            "height": min(room(), _HEIGHT),
            "names": [f"Row {row + 1}" for row in range(ROWS)],
            "words": _words(scene),
            **HANDLE,
        },
        key="hand_start",
        on_change=take,
    )


def at_full_size(controls: Controls) -> dict[str, str]:
    """The address of this picture on Tile layouts, at the tensors' full size."""
    return link_params(show="row", recipe=controls.value(RECIPE), matmul=controls.value(MATMUL))


@lru_cache(maxsize=_MOST_CASES)
def _cases(scene: Scene) -> Pulled:
    factors = 2.0 ** (STEPS / PER_POWER)
    return pulled(recorded(scene.matmul), scene.index, factors, scene.spec, scene.scales)


@lru_cache(maxsize=_MOST_CASES)
def _frames(scene: Scene) -> str:
    cases = _cases(scene)
    scale = cases.scale if scene.has_rows else cases.scale[:, :1]
    return frames(scene.format, scale, cases.is_lost, cases.codes, cases.sums, cases.exact)


def _words(scene: Scene) -> dict[str, Any]:
    format_ = scene.format
    title, pins = {
        Scales.NONE: (f"The window of {format_.name}", ["Without a scale it cannot", "follow the numbers."]),
        Scales.ONE: (f"The window of {format_.name}", ["The largest number", "pins its top."]),
        Scales.ROWS: ("A window for each row", ["Pinned by the row's", "own largest number."]),
    }[scene.scales]
    if scene.scales is not Scales.NONE and scene.spec.a.scale_rule.format.name == "e8m0":
        pins = [*pins[:-1], pins[-1].removesuffix("."), "in powers of two."]
    return {
        "numbers": f"{_COUNT} {scene.noun} of a training run, in {ROWS} rows",
        "title": title,
        "pins": pins,
        "span": f"{short(span(format_), 2)} powers of two, always",
        "below": ["What lies below", "becomes 0."],
        "sums": ["Each row times one", "column, summed over K"],
        "rounded": f"in {format_.packed_bits} bits",
    }


def notice(scene: Scene, frame: int) -> str:
    cases = _cases(scene)
    lost, is_pulled = int(cases.is_lost[frame].sum()), STEPS[frame] > 0
    become = f"{ {0: 'none', _COUNT: 'all'}.get(lost, lost) } of {_COUNT}"
    if scene.scales is Scales.NONE:
        why = " They are too small." if lost else " They happen to lie in the window."
        return f"Without a scale, **{become} {scene.noun} become 0**.{why}"
    if scene.has_rows and not is_pulled:
        return f"Each row has its own scale: **{become} become 0**. Pull the gold number up."
    if scene.has_rows:
        return f"With a scale for each row, **{become} become 0**: each row pays for its own largest number."
    if not is_pulled:
        return f"Pull the gold number up. Under one scale, **{become} become 0** now."
    if not lost:
        return f"Higher! The window's lower edge is still below all: **{become} become 0**."
    row, place = divmod(scene.index, K)
    exact, wrong = cases.exact[frame, row], cases.sums[frame, row, -1] / cases.exact[frame, row, -1] - 1
    is_most = np.diff(exact, prepend=0)[place] / exact[-1] > 0.5 and cases.is_lost[frame, row].any()
    own = " It is most of its own row's sum." * bool(is_most and abs(wrong) < _MUCH)
    return f"The large number sets the scale: **{become} become 0**.{own}"


def about_numbers() -> str:
    of = metadata(PART, STEP)
    eight, four = (2 * FORMATS[name].max / FORMATS[name].min_subnormal for name in ("e4m3", "e2m1"))
    return (
        f"**The numbers.** Layer {of['layer']} after step {of['after_step']} of a run, from output channel "
        f"{FIRST_CHANNEL}, token {FIRST_TOKEN} and input channel {COLUMN} on. In Wgrad, A is {ROWS} rows of "
        f"dyᵀ over {K} tokens, and B is one column of x over the same tokens: D = A · B is a part of dw. The "
        "reference quantizer rounds A and B. Their products are added exactly.\n\n"
        "**The case is chosen.** A search took the numbers so that rows 1 and 3 of Wgrad go wrong under one "
        "scale and come back with a scale for each row. In e4m3 a number becomes 0 where another is "
        f"{short(eight)} times larger; in e2m1, {short(four)} times is enough: choose MXFP4 under More "
        "controls. Recipe and matmul can be changed there, too; the tiles are those of the buttons."
    )
