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
from pages.loss import ends, layers, words
from pages.loss.charts.curves import Label, Line, curves_chart
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
from pages.loss.runs import Group, Key, group_here


def show(controls: Controls) -> None:
    """Draw the curves, with what they show at the end; what a recipe does in the layers; or all ends."""
    group = group_here(controls)
    loss = controls.draw(LOSS, here().control)
    if loss == LAYERS:
        layers.show(controls, group)
        return
    chosen = controls.draw(COMPARED) or COMPARED.default
    draw_text(words.IDEA, here().know)
    if group is None or len(group.bf16) < FEWEST:
        stage().info(words.NOTHING if group is None else words.FEW)
    elif loss == ENDS:
        ends.show(controls, group, chosen)
    else:
        _draw_curves(group, loss, chosen, near=controls.draw(REACH) == NEAR)


def _draw_curves(group: Group, loss: str, chosen: Sequence[str], *, near: bool) -> None:
    know = here().know
    keys: list[Key] = [(name, False, False) for name in chosen if name in group.recipes]
    last = finals(group, keys)
    draw_notice(words.band_notice(last, ends_of_band(group), fell(group, keys)))
    quiet = {one.key for one in last if not one.outside}
    lines = [
        line(run, group, loss, recipe=key[0], is_quiet=key in quiet) for key in keys for run in group.of(key)
    ]
    means = [mean_line(list(each)) for _, each in groupby(lines, key=lambda one: one.recipe)]
    loud = [one for one in means if not one.is_quiet and one.steps]
    draw_lines([*lines, *loud], group, loss, labels(last, loud), near=near, key="loss_curves")
    know.markdown(words.loss_rule(loss))
    if missing := [name for name in chosen if name not in group.recipes]:
        titles = ", ".join(COMPARED.options[name] for name in missing)
        know.caption(f"Not recorded for this model: {titles}. “Train one” trains it on a GPU.")
    know.markdown(words.table(last))
    know.markdown(words.SAME_WEIGHTS)
    know.markdown(words.SMALL)
    know.caption(words.where(group))


def labels(last: Sequence[Final], means: Sequence[Line]) -> list[Label]:
    """The words beside the ends: a figure for each recipe outside the band, and the names of those within."""
    by_recipe = {one.key[0]: one for one in last}
    beside = []
    for mean in means:
        one, end = by_recipe.get(mean.recipe), mean.percent[-1]
        note = "ended early" if one is None else count(one.gap.runs, "run") + ", unsure" * (not one.beyond)
        beside.append(Label(percent=end, figure=words.rough(end), name=mean.name, note=note))
    within = [one for one in last if not one.outside]
    if within:
        note = count(len(within), "recipe")
        beside.append(Label(percent=0.0, figure="no order", name="in the band", note=note))
    # A hair apart, so that they stand in their order.
    return beside + [
        Label(percent=-1e-3 * (number + 1), figure="", name=one.title, recipe=one.key[0])
        for number, one in enumerate(within)
    ]


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
    widest = max(abs(around.low[-1]), abs(around.high[-1]))
    runs = "; ".join(
        f"{one.name}, seed {one.seed}: {words.percent(one.percent[-1])} at step {one.steps[-1]}"
        for one in lines
        if one.steps
    )
    draw_chart(
        spec,
        key=key,
        place=place,
        alt=f"Loss above the mean of bf16 over the steps. bf16's seeds end within ±{widest:.2f}%. {runs}",
        is_rigid=True,
    )
