"""Section "In training": a weight's updates, which need noise, and a matmul's sums, which do not."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from fp8core.experiments.dot_noise import DotErrors, Unrounded, dot_errors, nearest_shrinkage, noise_ratio
from fp8core.experiments.weight_updates import Freeze, Pull, walk
from fp8core.formats import FORMATS
from fp8core.stochastic import MAX_RANDOM_BITS
from pages.kit.charts.words import percent_text, short
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED
from pages.kit.view import draw_chart, draw_notice, here, page_ink, stage
from pages.stochastic_rounding.charts.noise import Path, dot_chart, weight_chart
from pages.stochastic_rounding.controls import (
    A_MATMUL,
    A_WEIGHT,
    FORMAT,
    PULL,
    RANDOM_BITS,
    RATE,
    ROUNDED,
    STEPS,
    WEIGHT,
)

START, RUNS = 1.0, 64
SINGLE_RUNS, _STEPS = 4, 200  # runs with a line each, and steps of a path at most
TRIALS, TERMS = 40, tuple(1 << power for power in range(2, 13))


@st.cache_resource(max_entries=64, show_spinner=False)
def weight_path(name: str, lr: float, pull: Pull, steps: int, bits: int, seed: int) -> Path:
    random = np.random.default_rng(seed).integers(0, 1 << bits, (steps, RUNS), dtype=np.int32)
    whole = walk(FORMATS[name], START, lr, pull, random, bits)
    step = np.unique(np.linspace(0, steps, _STEPS).round().astype(int))
    stochastic = whole.stochastic(step)
    return Path(
        step=step,
        exact=whole.exact[step],
        nearest=whole.nearest[step],
        mean=stochastic.mean(axis=0),
        deviation=stochastic.std(axis=0),
        runs=stochastic[:SINGLE_RUNS].copy(),
        freeze=whole.freeze,
        update=float(whole.exact[1] - whole.exact[0]),
        drift=whole.drift,
    )


@dataclass(frozen=True, kw_only=True)
class DotView:
    """Errors of dot products. `floor`: nearest's bias with terms of one sign."""

    same_sign: DotErrors
    zero_mean: DotErrors
    floor: float


@st.cache_data(max_entries=64, show_spinner=False)
def dot_view(name: str, seed: int) -> DotView:
    format_, rng, shape = FORMATS[name], np.random.default_rng(seed), (TRIALS, TERMS[-1])
    a, b = (
        Unrounded(
            x=np.abs(rng.standard_normal(shape, np.float32)).astype(np.float64),
            random=rng.integers(0, 1 << MAX_RANDOM_BITS, shape, dtype=np.int32),
        )
        for _ in "ab"
    )
    coins = np.unpackbits(np.frombuffer(rng.bytes(TRIALS * TERMS[-1] // 8), np.uint8)).reshape(shape)
    signs = 1 - 2 * coins.view(np.int8)
    same_sign, zero_mean = dot_errors(format_, a, b, np.array(TERMS), (None, signs))
    return DotView(same_sign=same_sign, zero_mean=zero_mean, floor=abs(1 - nearest_shrinkage(format_) ** 2))


def show(controls: Controls) -> None:
    draw = {A_WEIGHT: _draw_weight, A_MATMUL: _draw_matmul}
    draw[controls.draw(ROUNDED, here().control)](controls)


def _draw_weight(controls: Controls) -> None:
    name, lr = controls.draw(WEIGHT, here().control), controls.draw(RATE)
    pull = Pull[controls.draw(PULL).upper()]
    steps, bits, seed = (controls.draw(control) for control in (STEPS, RANDOM_BITS, SEED))
    path = weight_path(name, lr, pull, steps, bits, seed)
    exact, nearest, mean = (float(line[-1]) for line in (path.exact, path.nearest, path.mean))
    draw_notice(f"{_stop(path.freeze)} With noise it ends at {short(mean, 3)}; exact is {short(exact, 3)}.")
    draw_chart(
        weight_chart(path, page_ink()),
        key="weight_chart",
        is_fitted=True,
        alt=f"A weight over {steps} steps from {START:g}: not rounded it ends at {short(exact)}, rounded to "
        f"nearest at {short(nearest)}, stochastically at {short(mean)} on average",
    )
    here().know.markdown(f"{_why_frozen(path.freeze, name)}{_drift(path, bits)}")
    here().know.caption(
        f"w ← round(w − lr · g) in {name}, from w = {START:g}; the update itself is exact. Thick: the mean "
        f"of {RUNS} runs with noise of their own; thin: {SINGLE_RUNS} of them. Point at the picture for the "
        "numbers."
    )


def _stop(freeze: Freeze | None) -> str:
    if freeze is None:
        return "To nearest, the weight moves at **every step** here."
    when = "from the start" if freeze.step == 0 else f"from step {freeze.step:,} on"
    return f"To nearest, **the weight stands still {when}.**"


def _why_frozen(freeze: Freeze | None, name: str) -> str:
    """The reason why nearest stands still where it should not, and a space; else empty."""
    if freeze is None or freeze.half_gap == 0 or freeze.update == 0:
        return ""
    size = "less than" if abs(freeze.update) < freeze.half_gap else "just"
    return (
        f"An update of |lr · g| = {short(abs(freeze.update), 2)} is {size} half the gap to {name}'s next "
        f"value, {short(freeze.half_gap, 3)}. So it rounds back to where it was. "
    )


def _drift(path: Path, bits: int) -> str:
    ratio = path.drift / path.update
    size = f"{short(ratio, 3)} times the update" if ratio else "nothing: fewer than one chance in 2ᴺ"
    return (
        f"With N = {bits}, lower bits dropped as hardware does, the first step moves the weight by {size} on "
        "average. An update of less than 2⁻ᴺ of a gap needs more random bits. The other cure is a master "
        "weight: a copy in fp32 that takes the updates, rounded anew for each step's matmuls."
    )


def _draw_matmul(controls: Controls) -> None:
    name, seed = controls.draw(FORMAT, here().control), controls.draw(SEED)
    view = dot_view(name, seed)
    same, zero = view.same_sign, view.zero_mean
    draw_notice(_winners(view))
    errors = [*same.nearest, *same.stochastic, *zero.nearest, *zero.stochastic, view.floor]
    domain = float(min(errors)) / 1.5, float(max(errors)) * 1.5
    pictures = (
        ("Terms of one sign", same, view.floor, "dot_same_sign"),
        ("Terms of both signs", zero, None, "dot_zero_mean"),
    )
    for place, (title, errors, floor, key) in zip(stage().columns(2, gap="large"), pictures, strict=True):
        draw_chart(
            dot_chart(errors, domain, title, page_ink(), floor),
            place=place,
            key=key,
            is_fitted=True,
            alt=f"{title}: at K = {TERMS[-1]:,} the relative error is "
            f"{percent_text(errors.nearest[-1], 2)} to nearest, "
            f"{percent_text(errors.stochastic[-1], 2)} stochastically",
        )
    here().know.markdown(_why(view, noise_ratio(FORMATS[name])))
    here().know.caption(
        f"d = Σ round(aₖ) · round(bₖ), both operands in {name} without a scale, added in fp64: what is seen "
        "is the rounding of the operands alone. One sign: |N(0, 1)|, as after a ReLU; both signs: N(0, 1). "
        f"rms of the error of {TRIALS} dot products over the rms of the exact ones."
    )


def _winners(view: DotView) -> str:
    zero, first = view.zero_mean, first_win(view.same_sign)
    ratio = short(float(zero.stochastic[-1] / zero.nearest[-1]), 2)
    one = "nearest stays better" if first is None else f"noise wins from K = {first:,} on"
    return f"With one sign, {one}. Where signs cancel, noise has **{ratio} times nearest's error.**"


def first_win(errors: DotErrors) -> int | None:
    """The least K from which on stochastic's error is smaller; None where nearest's is at the end."""
    behind = np.flatnonzero(errors.stochastic >= errors.nearest)
    first = behind[-1] + 1 if behind.size else 0
    return int(errors.terms[first]) if first < errors.terms.size else None


def _why(view: DotView, ratio: float) -> str:
    same = view.same_sign
    return (
        "Where all terms have one sign, the noise averages out as 1/√K. Nearest's bias "
        f"({percent_text(view.floor, 2)}) does not, however many terms are added. At K = {TERMS[-1]:,} the "
        f"errors are {percent_text(same.stochastic[-1], 2)} stochastically and "
        f"{percent_text(same.nearest[-1], 2)} to nearest. Where signs cancel, the result itself grows only "
        "as √K: nothing averages out. In the mean over many sums, stochastic rounding has "
        f"{short(ratio, 2)} times nearest's error."
    )
