"""Section "In training": updates of a weight, which need the noise, and sums of a matmul, which do not."""

from fp8core.experiments.weight_updates import Freeze, Pull
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.view import here
from pages.stochastic_rounding import dot
from pages.stochastic_rounding.charts.weight import SINGLE_RUNS, DrawnWalk, weight_chart
from pages.stochastic_rounding.controls import A_MATMUL, PULL, RANDOM_BITS, RATE, ROUNDED, STEPS, WEIGHT
from pages.stochastic_rounding.data import RUNS, START, WeightView, weight_view


def show(controls: Controls) -> None:
    """Draw the weight's path, or the error of the matmul's dot products."""
    what = controls.draw(ROUNDED, here().control)
    (dot.show if what == A_MATMUL else _weight)(controls)


def _weight(controls: Controls) -> None:
    """Draw the weight's path: not rounded, to nearest and stochastically."""
    name, lr = controls.draw(WEIGHT, here().control), controls.draw(RATE)
    pull = Pull[controls.draw(PULL).upper()]
    steps, bits, seed = (controls.draw(control) for control in (STEPS, RANDOM_BITS, SEED))
    view = weight_view(name, lr, pull, steps, bits, seed)
    walk = view.walk
    draw_notice(f"{_frozen(view.freeze)} {_moved(walk)}")
    draw_chart(
        weight_chart(walk, INKS[theme()]),
        key="weight_chart",
        alt=f"A weight over {steps} steps from {START:g}: not rounded it ends at "
        f"{short(float(walk.exact[-1]))}, rounded to nearest at {short(float(walk.nearest[-1]))}, "
        f"stochastically at {short(float(walk.mean[-1]))} on average",
    )
    here().know.markdown(f"{_why(view.freeze, name)}{_drift(view, bits)}")
    here().know.caption(
        f"w ← round(w − lr · g) in {name}, from w = {START:g}; the update itself is exact. Thick: the mean "
        f"of {RUNS} runs with noise of their own; thin: {SINGLE_RUNS} of them. Point at the picture for the "
        "numbers."
    )


def _frozen(freeze: Freeze | None) -> str:
    if freeze is None:
        return "To nearest, the weight moves at **every step** here."
    when = "from the start" if freeze.step == 0 else f"from step {freeze.step:,} on"
    return f"To nearest, **the weight stands still {when}.**"


def _why(freeze: Freeze | None, name: str) -> str:
    """The reason why nearest stands still, and a space; nothing where it moves or should stand still."""
    if freeze is None or freeze.half_gap == 0 or freeze.update == 0:
        return ""
    size = "less than" if abs(freeze.update) < freeze.half_gap else "just"
    return (
        f"An update of |lr · g| = {short(abs(freeze.update), 2)} is {size} half the gap to {name}'s next "
        f"value, {short(freeze.half_gap, 3)}. So it rounds back to where it was. "
    )


def _moved(walk: DrawnWalk) -> str:
    mean, exact = short(float(walk.mean[-1]), 3), short(float(walk.exact[-1]), 3)
    return f"With noise it ends at {mean}; exact is {exact}."


def _drift(view: WeightView, bits: int) -> str:
    ratio = view.drift / view.update
    told = f"{short(ratio, 3)} times the update" if ratio else "nothing: fewer than one chance in 2ᴺ"
    return (
        f"With N = {bits}, lower bits dropped as hardware does, the first step moves the weight by {told} on "
        "average. An update of less than 2⁻ᴺ of a gap needs more random bits. The other cure is a master "
        "weight: a copy in fp32 that takes the updates, rounded anew for each step's matmuls."
    )
