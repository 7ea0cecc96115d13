"""Section "Curves": losses over the band of bf16's seeds, tensors of each layer, or the ends of runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from statistics import fmean
from typing import Any

from fp8core.experiments import run_spread
from fp8core.experiments.run_spread import POWER, SURE, runs_needed
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.train.job import BF16
from kernels.train.row import CopyStatistics, Statistics
from kernels.train.variants import VARIANTS
from pages.kit.charts.words import count, short
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.tables import draw_rows, markdown_table
from pages.kit.view import Clicks, draw_chart, draw_notice, here, page_ink, room, stage
from pages.kit.widgets import Place
from pages.loss import gaps
from pages.loss.charts.curves import OPEN, Label, Line, curves_chart, layers_chart
from pages.loss.charts.gaps import ends_chart
from pages.loss.controls import (
    COMPARED,
    DELTA,
    EARLY,
    ENDS,
    HELD_OUT,
    INSIDE,
    LAYERS,
    LOSS,
    METRIC,
    OPEN_RUN,
    PRODUCTS,
    WHEN,
)
from pages.loss.dialog import draw_dialog, name_of
from pages.loss.gaps import FEWEST, Final, finals, interval, percent
from pages.loss.runs import FEW, NOTHING, Group, Key, Run, group_here, key_of, literature

IDEA = (
    "Every page before this one measures what a recipe does to a **tensor**. This one trains a small "
    "language model under each recipe and asks the **loss**. Runs that differ only in their random seed "
    "differ, too. So a recipe has done harm only where its runs leave the **band** of bf16's own seeds."
)
SAME_WEIGHTS = (
    "**Same weights in bf16**: the last loss once more, with every layer in bf16. No seed is in it: the two "
    "figures differ in the rounding of Fprop alone. The rest of a gap is in what the weights became."
)
SMALL = (
    "What this size cannot show: it reads few bytes, has few outliers and short sums. A gap that grows with "
    "the tokens, or a run that diverges after a trillion of them, is not seen here. “Elsewhere” has what "
    "others found for larger models."
)


def show(controls: Controls) -> None:
    group = group_here(controls)
    loss = controls.draw(LOSS, here().control)
    if loss == LAYERS:
        _draw_layers(controls, group)
        return
    recipes = controls.draw(COMPARED) or COMPARED.default
    here().know.markdown(IDEA)
    if group is None or len(group.bf16) < FEWEST:
        stage().info(NOTHING if group is None else FEW)
    elif loss == ENDS:
        _draw_ends(controls, group, recipes)
    else:
        _draw_curves(controls, group, loss, recipes)
        draw_dialog(controls, group)


def _draw_curves(controls: Controls, group: Group, loss: str, recipes: Sequence[str]) -> None:
    know = here().know
    keys: list[Key] = [(name, False, False) for name in recipes if name in group.recipes]
    last = finals(group, keys)
    failures = [run for key in keys for run in group.of(key) if run.row.failure]
    draw_notice(band_notice(last, gaps.ends_of_band(group), failures))

    def open_run(mark: Mapping[str, Any]) -> None:
        if opens := mark.get("opens"):
            controls.preset(**{OPEN_RUN.key: opens})

    draw_kinds(keys, last, group, loss, key="loss_curves", on_open=open_run)
    know.markdown(loss_rule(loss))
    if missing := [name for name in recipes if name not in group.recipes]:
        titles = ", ".join(COMPARED.options[name] for name in missing)
        know.caption(f"Not recorded for this model: {titles}. “Train one” trains it on a GPU.")
    know.markdown(table(last))
    know.markdown(SAME_WEIGHTS)
    know.markdown(SMALL)
    know.caption(group.origin)


def band_notice(last: Sequence[Final], edges: tuple[float, float], failures: Sequence[Run]) -> str:
    out, within = [one for one in last if one.beyond], [one for one in last if not one.outside]
    sentences = []
    if out and within and {one.bits for one in out} == {4} and {one.bits for one in within} == {8}:
        sentences.append("Eight bits on average change the loss no more than a new seed. Four bits do:")
    if out:
        worst = max(out, key=lambda one: one.gap.percent)
        sentences.append(f"{worst.title} ends **{worst.gap.percent:.1f}% above bf16**.")
    else:
        low, high = map(percent, edges)
        sentences.append(f"No recipe surely leaves bf16's own seeds, **{low} to {high}**.")
    if failures:
        sentences.append(f"{failures[0].title} ended early.")
    return " ".join(sentences)


def draw_kinds(
    keys: Sequence[Key],
    last: Sequence[Final],
    group: Group,
    loss: str,
    *,
    key: str,
    on_open: Callable[[Mapping[str, Any]], None] | None = None,
) -> None:
    """Draw all runs of these kinds, and the means of those that end outside the band.

    `on_open` gets the mark of an end that is clicked.
    """
    quiet = {one.key for one in last if not one.outside}
    lines = [
        gaps.line(
            run, group, loss, recipe=kind[0], is_quiet=kind in quiet, opens=name_of(run) * bool(on_open)
        )
        for kind in keys
        for run in group.of(kind)
    ]
    means = [gaps.mean_line(list(each)) for _, each in groupby(lines, key=lambda one: one.recipe)]
    loud = [one for one in means if not one.is_quiet and one.steps]
    draw_lines([*lines, *loud], group, loss, labels(last, loud), key=key, on_open=on_open)


def labels(last: Sequence[Final], means: Sequence[Line]) -> list[Label]:
    """A figure for each recipe outside the band, and the names of those within."""
    by_recipe = {one.key[0]: one for one in last}
    beside = []
    for mean in means:
        one, end = by_recipe.get(mean.recipe), mean.percent[-1]
        note = "ended early" if one is None else count(one.gap.runs, "run") + ", unsure" * (not one.beyond)
        beside.append(Label(percent=end, figure=percent(end, 1), name=mean.name, note=note))
    within = [one for one in last if not one.outside]
    if within:
        note = count(len(within), "recipe")
        beside.append(Label(percent=0.0, figure="no order", name="means in the band", note=note))
    # Names a hair apart stand in their order.
    return beside + [
        Label(percent=-1e-3 * (number + 1), name=one.title, recipe=one.key[0])
        for number, one in enumerate(within)
    ]


def draw_lines(
    lines: Sequence[Line],
    group: Group,
    loss: str,
    labels: Sequence[Label] = (),
    *,
    key: str,
    place: Place | None = None,
    on_open: Callable[[Mapping[str, Any]], None] | None = None,
) -> None:
    around = gaps.band(group, loss)
    spec = curves_chart(lines, around, gaps.reach(lines, around), room(), page_ink(), labels=labels)
    widest = max(abs(around.low[-1]), abs(around.high[-1]))
    runs = "; ".join(
        f"{one.name}, seed {one.seed}: {percent(one.percent[-1])} at step {one.steps[-1]}"
        for one in lines
        if one.steps
    )
    alt = f"Loss above the mean of bf16 over the steps. bf16's seeds end within ±{widest:.2f}%. {runs}"
    clicks = Clicks(OPEN, on_open) if on_open and any(one.opens for one in lines) else None
    draw_chart(spec, key=key, place=place, alt=alt, clicks=clicks)


def loss_rule(loss: str) -> str:
    if loss == HELD_OUT:
        return (
            "Each line is a run: its loss on the held-out files, computed in its own recipe, relative to the "
            "mean of bf16's seeds. The band reaches from the lowest of them to the highest. A recipe lies in "
            "the band where the mean of its runs does: single runs may end outside."
        )
    return (
        "Each line is a run relative to bf16 with the same seed, which began with the same weights and read "
        "the same batches. The band is that of bf16's seeds, which read other batches: a log looks like this."
    )


def table(last: Sequence[Final]) -> str:
    columns = {
        "recipe": [plain(one.title) for one in last],
        "runs": [one.gap.runs for one in last],
        "last bits per byte": [f"{one.bits_per_byte:.4f}" for one in last],
        "above bf16": [interval(one.gap) for one in last],
        "of equal seeds": [interval(one.paired) if one.paired else "–" for one in last],
        "where": [one.verdict for one in last],
        "same weights in bf16": ["–" if one.in_bf16 is None else percent(one.in_bf16) for one in last],
        "quantized GEMMs per step": [f"{one.row.quantized_gemms} of {one.row.gemms}" for one in last],
    }
    if not any(one.paired for one in last):
        del columns["of equal seeds"]
    return markdown_table([*columns], zip(*columns.values(), strict=True))


# SURE and POWER are in its subscripts.
FORMULA = r"n \;=\; 2\,(z_{0.975} + z_{0.8})^2 \left(\frac{\sigma}{\delta}\right)^2"


def _draw_ends(controls: Controls, group: Group, recipes: Sequence[str]) -> None:
    know, delta = here().know, controls.draw(DELTA)
    reference = [run.row.final for run in group.bf16]
    spread = run_spread.spread_percent(reference)
    low, high = run_spread.spread_interval(spread, len(reference))
    draw_notice(
        f"To show a difference of {delta:g}%, train **{count(runs_needed(spread, delta), 'run')} of each** "
        f"recipe. Equal runs of bf16 already spread by {spread:.2f}%."
    )
    ends, names = ends_of(group, recipes), {RECIPES[name].title: name for name in recipes}
    draw_chart(
        ends_chart(ends, names, gaps.ends_of_band(group), delta, room(), page_ink()),
        key="loss_ends",
        alt="Where each run ended, in percent above the mean of bf16. "
        + "; ".join(f"{name}: {', '.join(map(percent, each))}" for name, each in ends.items()),
    )
    know.markdown(
        "A point is a run. The gray band holds the runs of bf16. Recipes whose points lie in the band have "
        f"no order. {count(len(reference), 'run')} of bf16 give the standard deviation badly. "
        f"With {SURE:.0%} it lies between {low:.3f} and {high:.3f}%. "
        f"So {count(runs_needed(high, delta), 'run')} may be needed."
    )
    know.latex(FORMULA)
    know.markdown(
        f"σ is the standard deviation of equal runs, δ the difference of the means, n the runs of **each** "
        f"recipe; the factor is {run_spread.factor():.2f}. With n runs, a true difference of δ is found in "
        f"{POWER:.0%} of all cases, and equal recipes seem to differ in {1 - SURE:.0%}."
    )
    noise = "; ".join(
        f"σ = {short(one.percent, 2)}% over {one.runs} runs of {one.of} ({one.link})"
        for one in literature().noise
    )
    know.markdown(f":small[Elsewhere: {noise}.]")
    know.markdown(equal_seeds(group))
    know.caption(group.origin)


def ends_of(group: Group, recipes: Sequence[str]) -> dict[str, list[float]]:
    """Last losses by title, bf16 first, in percent above the mean of bf16."""
    mean = fmean(run.row.final for run in group.bf16)
    kinds = {BF16: group.bf16} | {RECIPES[name].title: group.of((name, False, False)) for name in recipes}
    ends = {
        title: [100 * (run.row.final / mean - 1) for run in runs if run.row.final is not None]
        for title, runs in kinds.items()
    }
    return {title: each for title, each in ends.items() if each}


def equal_seeds(group: Group) -> str:
    rule = (
        "Runs of equal seeds begin with the same weights and read the same text in the same order. Rounding "
        "parts them nonetheless: one changed bit in the first weights spreads the final models as far as "
        "another seed does, after long training "
        "([Summers and Dinneen](https://arxiv.org/abs/2103.04514), 2021-03)."
    )
    equal = gaps.pairing(group)
    if equal is None:
        return f"**Equal seeds?** {rule}"
    low, high = equal.interval
    distance = (
        f"{rule} In these runs of {group.first.steps:,} steps, a recipe's distance from bf16 of the same "
        f"seed has a standard deviation of {equal.spread:.2f}%, with {SURE:.0%} between {low:.2f} and "
        f"{high:.2f}%. Were seeds of no matter, it would be √2 · σ = {equal.apart:.2f}%."
    )
    if not equal.helps:
        return f"**Equal seeds do not help for sure.** {distance}"
    every = [equal.gap(each) for each in gaps.pairs(group).values()]
    return (
        f"**Equal seeds help here.** {distance} The table of “Held-out” has each recipe's interval “of equal "
        f"seeds”. Of all {len(every)}, {sum(one.is_clear for one in every)} leave out 0. Were all recipes "
        f"equal to bf16, {short((1 - SURE) * len(every), 2)} would by chance. One that barely does is no "
        "finding yet: train more seeds of it."
    )


# Names in a log that are no names in Python.
LOG_NAMES = {"underflows_percent": "underflows%", "overflows_percent": "overflows%"}
FIELDS = [field.name for field in fields(CopyStatistics) if field.name not in ("tensor", "matmul")]
_LOGARITHMIC = {"scale_inv_min", "scale_inv_max", "mse"}
_ZEROS = "A layer where a tensor is 0, every element of it, has no point for it. "
RULES = (
    "- **underflows%**: elements that are not 0 and whose code is. True zeros do not count.\n"
    "- **overflows%**: elements that are clipped to the largest code.\n"
    "- **scale_inv_min**, **scale_inv_max**: the smallest and the largest scale, which multiplies a code "
    "back. In Transformer Engine “scale” is the number that multiplies x before the cast, hence the name.\n"
    "- **mse**: the mean squared error of the copy. **sqnr_db**: the signal's energy over the error's in dB; "
    "6 dB is one bit.\n"
    "- They are taken beside the run, on a batch of its own. SQNR of y, dx and dw is against the product of "
    "the bf16 operands, in fp32.\n"
    "- In Transformer Engine's debug logs a name is `layer_tensor_recipe_statistic`, such as "
    "`…_gradient_mxfp8_underflows%`, with `_columnwise` for the copy that is read along its columns."
)


def _draw_layers(controls: Controls, group: Group | None) -> None:
    know = here().know
    name, metric, when = (controls.draw(control) for control in (INSIDE, METRIC, WHEN))
    if group is None:
        stage().info(NOTHING)
        return
    key: Key = key_of(VARIANTS[name].job) if name in VARIANTS else (name, False, False)
    run = next((run for run in group.of(key) if run.row.statistics), None)
    if run is None:
        stage().info(f"No statistics of this run are recorded: {INSIDE.options[name]}.")
        return
    statistics = run.row.statistics[0 if when == EARLY else -1]
    series, title = numbers(statistics, metric), METRIC.options[metric]
    sentence = extremes(series, statistics.layers, title)
    draw_notice(f"{run.title}: {sentence}")
    order = by_name(statistics.layers)
    spec = layers_chart(
        [statistics.layers[index] for index in order],
        {name: [values[index] for index in order] for name, values in series.items()},
        title,
        room(),
        page_ink(),
        is_log=metric in _LOGARITHMIC,
    )
    draw_chart(spec, key="loss_layers", alt=sentence.replace("**", ""))
    know.markdown(RULES)
    with know:
        draw_statistics(statistics)
    zeros = _ZEROS if any(0 in one.amax for one in statistics.copies) else ""
    know.caption(
        f"{run.title}, seed {run.row.job.seed}, after step {statistics.step:,} of {run.row.steps:,}. "
        f"{zeros}{group.origin}"
    )


def by_name(layers: Sequence[str]) -> list[int]:
    """Indices of layers, ordered by name, then by block."""
    names = [layer.partition(".")[2] for layer in layers]
    return sorted(range(len(layers)), key=lambda index: (names.index(names[index]), index))


def numbers(statistics: Statistics, metric: str) -> dict[str, Sequence[float | None]]:
    """A statistic of each copy or result, a number a layer; None for a tensor of zeros."""
    if metric == PRODUCTS:
        return {f"{one.tensor} in {MATMULS[one.matmul].title}": one.sqnr_db for one in statistics.products}
    return {
        f"{one.tensor} in {MATMULS[one.matmul].title}": [
            None if amax == 0 else value for value, amax in zip(getattr(one, metric), one.amax, strict=True)
        ]
        for one in statistics.copies
    }


def extremes(series: Mapping[str, Sequence[float | None]], layers: Sequence[str], title: str) -> str:
    every = [
        (value, name, layer)
        for name, values in series.items()
        for value, layer in zip(values, layers, strict=True)
        if value is not None
    ]
    if not every:
        return f"{title} is not finite in any layer."
    (low, *least), (high, *most) = min(every), max(every)
    if low == high:
        return f"{title} is **{short(low, 3)}** in every layer and copy."
    return (
        f"{title} goes from {short(low, 3)} ({least[0]}, layer {least[1]}) to **{short(high, 3)}** "
        f"({most[0]}, layer {most[1]})."
    )


def draw_statistics(statistics: Statistics, key: str | None = None) -> None:
    rows = [
        {"layer": layer, "tensor": one.tensor, "matmul": one.matmul}
        | {LOG_NAMES.get(field, field): getattr(one, field)[index] for field in FIELDS}
        for index, layer in enumerate(statistics.layers)
        for one in statistics.copies
    ]
    draw_rows(rows, key=key)
