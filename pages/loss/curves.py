"""Section "Curves": the loss of every recipe relative to bf16, and the band of bf16's own seeds."""

from collections.abc import Sequence
from itertools import groupby

from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.terms.explain import draw_text
from pages.kit.view import here, stage
from pages.kit.widgets import Place
from pages.loss import inside, sure, words
from pages.loss.charts.curves import Band, Label, Line, curves_chart
from pages.loss.controls import COMPARED, ENDS, LAYERS, LOSS, NEAR, REACH
from pages.loss.gaps import (
    FEWEST,
    Final,
    band,
    ends_of_band,
    fell,
    finals,
    line,
    mean_line,
    reach,
)
from pages.loss.runs import Group, Key
from pages.loss.state import group_here


def show(controls: Controls) -> None:
    """Draw the curves, with what they show at the end; what a recipe does in the layers; or all ends."""
    know, group = here().know, group_here(controls)
    loss = controls.draw(LOSS, here().control)
    if loss in (LAYERS, ENDS):
        (inside if loss == LAYERS else sure).show(controls, group)
        return
    chosen = controls.draw(COMPARED) or COMPARED.default
    near = controls.draw(REACH) == NEAR
    draw_text(words.IDEA, know)
    if group is None or len(group.bf16) < FEWEST:
        stage().info(words.NOTHING if group is None else words.FEW)
        return
    keys: list[Key] = [(name, False, False) for name in chosen if name in group.recipes]
    ends = finals(group, keys)
    draw_notice(words.band_notice(ends, ends_of_band(group), fell(group, keys)))
    quiet = {one.key for one in ends if not one.outside}
    lines = [
        line(run, group, loss, recipe=key[0], is_quiet=key in quiet) for key in keys for run in group.of(key)
    ]
    means = [mean_line(list(each)) for _, each in groupby(lines, key=lambda one: one.recipe)]
    loud = [one for one in means if not one.is_quiet and one.steps]
    draw_lines([*lines, *loud], group, loss, labels(ends, loud), near=near, key="loss_curves")
    know.markdown(words.loss_rule(loss))
    if missing := [name for name in chosen if name not in group.recipes]:
        titles = ", ".join(COMPARED.options[name] for name in missing)
        know.caption(f"Not recorded for this model: {titles}. “Train one” trains it on a GPU.")
    know.markdown(words.table(ends))
    know.markdown(words.SAME_WEIGHTS)
    know.markdown(words.SMALL)
    know.caption(words.where(group))


def labels(ends: Sequence[Final], means: Sequence[Line]) -> list[Label]:
    """What stands beside the ends: a figure for each recipe outside the band, and those within it."""
    by_recipe = {one.key[0]: one for one in ends}
    found = []
    for mean in means:
        one, last = by_recipe.get(mean.recipe), mean.percent[-1]
        told = "ended early" if one is None else count(one.gap.runs, "run") + ", unsure" * (not one.beyond)
        found.append(Label(percent=last, figure=words.rough(last), name=mean.name, told=told))
    within = [one for one in ends if not one.outside]
    if within:
        told = count(len(within), "recipe")
        found.append(Label(percent=0.0, figure="no order", name="in the band", told=told))
    # A hair apart, so that they stand in their order.
    return found + [
        Label(percent=-1e-3 * (place + 1), figure="", name=one.title, recipe=one.key[0])
        for place, one in enumerate(within)
    ]


def widest(around: Band) -> float:
    """How far bf16's seeds end from their mean."""
    return max(abs(around.low[-1]), abs(around.high[-1]))


def draw_lines(
    lines: Sequence[Line],
    group: Group,
    loss: str,
    labels: Sequence[Label] = (),
    *,
    near: bool = False,
    key: str,
    place: Place | None = None,
) -> None:
    """Draw some runs over the band of their group."""
    around = band(group, loss)
    spec = curves_chart(lines, around, reach(lines, around, near=near), room(), INKS[theme()], labels=labels)
    draw_chart(spec, key=key, place=place, alt=described(lines, around), is_rigid=True)


def described(lines: Sequence[Line], around: Band) -> str:
    """The picture in words."""
    ends = "; ".join(
        f"{one.name}, seed {one.seed}: {words.percent(one.percent[-1])} at step {one.steps[-1]}"
        for one in lines
        if one.steps
    )
    return (
        f"Loss above the mean of bf16 over the steps. bf16's seeds end within ±{widest(around):.2f}%. {ends}"
    )
