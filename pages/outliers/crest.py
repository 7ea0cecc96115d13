"""Section "Crest factor": how much may the largest element stand out?"""

import streamlit as st

from fp8core.experiments.error_curves import CREST_POWERS, DRAWS, Counted, Draws
from fp8core.recipes.keys import recipe_of_key
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.outliers import chosen
from pages.outliers.charts.draws import Curve, draws_chart, has_error
from pages.outliers.controls import COUNTED
from pages.outliers.measures import CREST_SHAPE, crest
from pages.outliers.words import BF16, db, listed

GAUSSIAN = CREST_POWERS.index(1.0)


def show(controls: Controls) -> None:
    """Draw SQNR over the crest factor."""
    counted = controls.draw(COUNTED, here().control)
    keys, role, seed = chosen.recipes(controls), chosen.role(controls), chosen.seed(controls)
    asked = (keys, role, seed, Counted[counted.upper()])
    calls = [Call(crest, (key, *asked[1:])) for key in asked[0]]
    shown = computed("outliers_crest", asked, calls, doing="Quantizing five draws of every point")
    if shown is None:
        return
    keys, _, _, counted = shown.asked
    titles = {key: recipe_of_key(key).title for key in keys}
    found = {key: points for key, points in zip(keys, shown.parts, strict=True) if points}
    if not found:
        draw_notice(f"Every chosen recipe {BF16}.")
        return
    draw_notice(notice({titles[key]: points for key, points in found.items()}, counted))
    draw_chart(
        draws_chart(
            [Curve(name=titles[key], points=points, mark=mark_of(key)) for key, points in found.items()],
            "crest factor of the tensor: largest |x| over rms",
            INKS[theme()],
        ),
        key="outliers_crest",
        alt="; ".join(f"{titles[key]}: {db(p[0].mean)} to {db(p[-1].mean)}" for key, p in found.items()),
    )
    if bf16 := [title for key, title in titles.items() if key not in found]:
        st.markdown(f"{listed(bf16)} {BF16}.")
    rows, columns = CREST_SHAPE
    here().know.caption(
        f"{DRAWS} draws per point, {rows} × {columns} elements each: the line is their mean, the bar reaches "
        "from the worst to the best. x = sign(g) · |g|ᵖ with g from N(0, 1); p near 0 gives ±1, p = 1 the "
        "Gaussian, and a larger p a heavier tail. A point without any error is left out."
    )


def notice(found: dict[str, tuple[Draws, ...]], counted: Counted) -> str:
    """The recipe whose SQNR changes most from the Gaussian to the heaviest tail, and whether to trust it."""
    found = {name: points for name, points in found.items() if all(map(has_error, points))}
    if not found:
        return "Every number is a value of every chosen recipe: **the error is 0.**"
    gain = {name: points[-1].mean - points[GAUSSIAN].mean for name, points in found.items()}
    best, worst = max(gain, key=gain.__getitem__), min(gain, key=gain.__getitem__)
    if counted is Counted.ALL and gain[best] > 1:
        return (
            f"Do not trust the rise **to {db(found[best][-1].mean)}.** "
            "The outlier itself is stored exactly, and it holds most of the energy."
        )
    return (
        f"From the Gaussian to the heaviest tail, {worst} goes from {db(found[worst][GAUSSIAN].mean)} "
        f"**to {db(found[worst][-1].mean)}.**"
    )
