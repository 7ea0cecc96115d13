"""Section "Crest factor": how much may the largest element stand out?"""

import streamlit as st

from fp8core.experiments.error_curves import CREST_POWERS, DRAWS, Counted, Draws
from fp8core.recipes.keys import recipe_of_key
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.sections.outliers import chosen
from pages.sections.outliers.charts.draws import Curve, draws_chart, has_error
from pages.sections.outliers.controls import COUNTED
from pages.sections.outliers.measures import CREST_SHAPE, crest
from pages.sections.outliers.words import BF16, NO_ERROR, bits, db, listed, ranged, table

GAUSSIAN = CREST_POWERS.index(1.0)


def show(controls: Controls) -> None:
    """Draw SQNR over the crest factor."""
    keys, role, seed = chosen.recipes(controls), chosen.role(controls), chosen.seed(controls)
    asked = (keys, role, seed, Counted[controls.draw(COUNTED).upper()])
    calls = [Call(crest, (key, *asked[1:])) for key in asked[0]]
    shown = computed("outliers_crest", asked, calls, doing="Quantizing five draws of every point")
    if shown is None:
        return
    keys, _, _, counted = shown.asked
    found = {
        recipe_of_key(key).title: points for key, points in zip(keys, shown.parts, strict=True) if points
    }
    bf16 = [title for title in (recipe_of_key(key).title for key in keys) if title not in found]
    if not found:
        st.markdown(f"Every chosen recipe {BF16}.")
        return
    draw_notice(f"**Notice:** {notice(found, counted)}")
    draw_chart(
        draws_chart(
            [Curve(name=name, points=points) for name, points in found.items()],
            "crest factor of the tensor: largest |x| over rms",
            INKS[theme()],
        ),
        key="outliers_crest",
        alt="; ".join(f"{name}: {db(p[0].mean)} to {db(p[-1].mean)}" for name, p in found.items()),
    )
    rows, columns = CREST_SHAPE
    st.caption(
        f"{DRAWS} draws a point, {rows} × {columns} elements each: the line is their mean, the bar reaches "
        "from the worst to the best. x = sign(g) · |g|ᵖ with g from N(0, 1); p near 0 gives ±1, p = 1 the "
        "Gaussian, and a larger p a heavier tail. A point without any error is left out."
    )
    st.markdown(figures(found))
    if bf16:
        st.markdown(f"{listed(bf16)} {BF16}.")


def notice(found: dict[str, tuple[Draws, ...]], counted: Counted) -> str:
    """The recipes that lose most and least from the Gaussian to the heaviest tail."""
    found = {name: points for name, points in found.items() if all(map(has_error, points))}
    if not found:
        return NO_ERROR
    fall = {name: _gaussian(points).mean - points[-1].mean for name, points in found.items()}
    most, least = max(fall, key=fall.__getitem__), min(fall, key=fall.__getitem__)
    first, last = _gaussian(found[most]), found[most][-1]
    told = (
        f"from the Gaussian (crest factor {short(first.at, 2)}) to the heaviest tail ({short(last.at, 2)}) "
        f"the SQNR of {counted.value} goes from {db(first.mean)} to {db(last.mean)} under **{most}**"
    )
    if most != least:
        told += f", from {db(_gaussian(found[least]).mean)} to {db(found[least][-1].mean)} under **{least}**"
    apart = max(points[-1].high - points[-1].low for points in found.values())
    if counted is Counted.ALL and fall[least] < -1:
        told += (
            ". A rise is no merit: amax lands on the largest code, so the outlier, which holds most of the "
            "energy, has hardly an error. Look at the smaller half"
        )
    return f"{told}. Five draws of one recipe differ there by up to {db(apart)}: one draw proves nothing."


def _gaussian(points: tuple[Draws, ...]) -> Draws:
    """The point whose crest factor is that of a Gaussian."""
    return points[GAUSSIAN]


def figures(found: dict[str, tuple[Draws, ...]]) -> str:
    """Each recipe's SQNR at the Gaussian and at the heaviest tail, with the range of the draws."""
    rows = [
        (
            name,
            *(ranged(p.mean, p.low, p.high) for p in (_gaussian(points), points[-1])),
            bits(points[0].bits),
        )
        for name, points in found.items()
    ]
    return table(("recipe", "Gaussian", "heaviest tail", "bits an element"), rows)
