"""Section "A weight that moves": thousands of updates too small for the format."""

import streamlit as st

from fp8core.experiments.weight_updates import Freeze, Pull
from fp8core.formats import FORMATS
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.sections.stochastic.charts.weight import SINGLE_RUNS, DrawnWalk, weight_chart
from pages.sections.stochastic.controls import PULL, RANDOM_BITS, RATE, STEPS, WEIGHT
from pages.sections.stochastic.data import RUNS, START, WeightView, weight_view


def show(controls: Controls) -> None:
    """Draw the controls, the three ways of the weight, and where nearest stops."""
    name, lr = controls.draw(WEIGHT), controls.draw(RATE)
    place = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
    pull = Pull[controls.draw(PULL, place.container(width=320)).upper()]
    steps = controls.draw(STEPS, place.container(width=200))
    bits = controls.draw(RANDOM_BITS, place.container(width=200))
    view = weight_view(name, lr, pull, steps, bits, controls.value(SEED))
    walk = view.walk
    draw_notice(f"**Notice:** {_frozen(view.freeze, name)} {_moved(walk, name)}")
    draw_chart(
        weight_chart(walk, INKS[theme()]),
        key="weight_chart",
        alt=f"A weight over {steps} steps from {START:g}: not rounded it ends at "
        f"{short(float(walk.exact[-1]))}, rounded to nearest at {short(float(walk.nearest[-1]))}, "
        f"stochastically at {short(float(walk.mean[-1]))} on average",
    )
    st.caption(
        f"w ← round(w − lr · g) in {name}, from w = {START:g}; the update itself is exact. Thick: the mean "
        f"of {RUNS} runs with noise of their own; thin: {SINGLE_RUNS} of them. Point at the picture for the "
        "numbers."
    )
    st.markdown(_drift(view, bits))


def _frozen(freeze: Freeze | None, name: str) -> str:
    if freeze is None:
        return "Rounded to nearest, the weight moves at every step here: each update is at least half a gap."
    when = "from the start" if freeze.step == 0 else f"from step {freeze.step:,} on"
    if freeze.half_gap == 0:
        return f"Rounded to nearest, the weight stands still {when}: {name} ends at {short(freeze.w)}."
    if freeze.update == 0:
        return f"Rounded to nearest, the weight stands still {when}, where it should: g is 0 there."
    size = "less than" if abs(freeze.update) < freeze.half_gap else "just"
    return (
        f"Rounded to nearest, **the weight stands still {when}**, at {short(freeze.w)}: an update of "
        f"|lr · g| = {short(abs(freeze.update), 2)} is {size} half the gap to {name}'s next value, "
        f"{short(freeze.half_gap, 3)}, and rounds back to where it was."
    )


def _moved(walk: DrawnWalk, name: str) -> str:
    mean, deviation = short(float(walk.mean[-1]), 3), short(float(walk.deviation[-1]), 2)
    exact = short(float(walk.exact[-1]), 3)
    end = {FORMATS[name].max: f", {name}'s largest value", -FORMATS[name].max: f", {name}'s lowest value"}
    limit = end.get(float(walk.mean[-1]), "")
    return f"Stochastically it ends at {mean} ± {deviation}{limit}; without rounding, at {exact}."


def _drift(view: WeightView, bits: int) -> str:
    ratio = view.drift / view.update
    told = f"{short(ratio, 3)} times the update" if ratio else "nothing: fewer than one chance in 2ᴺ"
    return (
        f"With N = {bits}, lower bits dropped as hardware does, the first step moves the weight by {told} on "
        "average. An update of less than 2⁻ᴺ of a gap needs more random bits. The other cure is a master "
        "weight: a copy in fp32 that takes the updates, rounded anew for each step's matmuls."
    )
