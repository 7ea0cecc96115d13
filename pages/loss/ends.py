"""Ends: the spread of seeds, and the runs that a difference takes."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from fp8core.experiments.run_spread import (
    POWER,
    SURE,
    factor,
    paired_gap,
    runs_needed,
    spread_interval,
    spread_percent,
)
from fp8core.recipes import RECIPES
from kernels.train.job import BF16
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count, short
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.loss import words
from pages.loss.charts.ends import ends_chart
from pages.loss.controls import DELTA
from pages.loss.gaps import Pairing, pairing, pairs
from pages.loss.runs import Group, sourced

FORMULA = r"n \;=\; 2\,(z_{0.975} + z_{0.8})^2 \left(\frac{\sigma}{\delta}\right)^2"
"""SURE and POWER are in its subscripts."""
DIFFERENCES = (1.0, 0.5, 0.2, 0.1, 0.05)


def show(controls: Controls, group: Group, chosen: Sequence[str]) -> None:
    """Draw where the runs of the chosen recipes ended, and what the chosen difference takes."""
    know, delta = here().know, controls.draw(DELTA)
    reference = [run.row.final for run in group.bf16]
    spread = spread_percent(reference)
    low, high = spread_interval(spread, len(reference))
    needed = runs_needed(spread, delta)
    draw_notice(
        f"To show a difference of {delta:g}%, train **{count(needed, 'run')} of each** recipe. "
        f"Equal runs of bf16 already spread by {spread:.2f}%."
    )
    ends = ends_of(group, chosen)
    band = min(ends[BF16]), max(ends[BF16])
    names = {RECIPES[name].title: name for name in chosen}
    draw_chart(
        ends_chart(ends, {title: names.get(title) for title in ends}, band, delta, room(), INKS[theme()]),
        key="loss_ends",
        alt="Where each run ended, in percent above the mean of bf16. "
        + "; ".join(f"{name}: {', '.join(map(words.percent, each))}" for name, each in ends.items()),
        is_rigid=True,
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
        f"recipe; the factor is {factor():.2f}. With n runs, a true difference of δ is found in "
        f"{POWER:.0%} of all cases, and equal recipes seem to differ in {1 - SURE:.0%}."
    )
    know.markdown(table(spread, (low, high)))
    know.markdown(f":small[Elsewhere: {noise()}.]")
    know.markdown(equal_seeds(group))
    know.caption(words.where(group))


def equal_seeds(group: Group) -> str:
    """What it helps to compare runs of equal seeds."""
    rule = (
        "Runs of equal seeds begin with the same weights and read the same text in the same order. Rounding "
        "parts them nonetheless: one changed bit in the first weights spreads the final models as far as "
        "another seed does, after long training "
        "([Summers and Dinneen](https://arxiv.org/abs/2103.04514), 2021-03)."
    )
    equal = pairing(group)
    if equal is None:
        return f"**Equal seeds?** {rule}"
    low, high = equal.interval
    distance = (
        f"{rule} In these runs of {group.steps:,} steps, a recipe's distance from bf16 of the same seed has "
        f"a standard deviation of {equal.spread:.2f}%, with {SURE:.0%} between {low:.2f} and {high:.2f}%. "
        f"Were seeds of no matter, it would be √2 · σ = {equal.apart:.2f}%."
    )
    if not equal.helps:
        return f"**Equal seeds do not help for sure.** {distance}"
    return f"**Equal seeds help here.** {distance}\n\n{pair_table(pairs(group), equal)}"


def pair_table(by_title: Mapping[str, Sequence[float]], equal: Pairing) -> str:
    """A Markdown table: each recipe's distance from bf16 of the same seeds."""
    lines = ["| recipe | pairs | above bf16 of the same seed | leaves out 0 |", "|:--|--:|--:|:--|"]
    for name, each in by_title.items():
        one = paired_gap(each, equal.spread, equal.freedom)
        verdict = "yes" if one.is_clear else "no"
        lines.append(f"| {plain(name)} | {one.runs} | {words.interval(one)} | {verdict} |")
    return "\n".join(lines) + f"\n\n{by_chance(len(by_title))}"


def by_chance(compared: int) -> str:
    """The intervals that would leave out 0 if all recipes were equal to bf16."""
    return (
        f"Were all {compared} equal to bf16, {short((1 - SURE) * compared, 2)} of these intervals would "
        "leave out 0 by chance. One that barely does is no finding yet: train more seeds of it."
    )


def ends_of(group: Group, recipes: Sequence[str]) -> dict[str, list[float]]:
    """The last losses of bf16 and of recipes by their titles, in percent above the mean of bf16."""
    mean = fmean(run.row.final for run in group.bf16)
    kinds = {BF16: group.bf16} | {RECIPES[name].title: group.of((name, False, False)) for name in recipes}
    ends = {
        title: [100 * (run.row.final / mean - 1) for run in runs if run.row.final is not None]
        for title, runs in kinds.items()
    }
    return {title: each for title, each in ends.items() if each}


def table(spread: float, interval: tuple[float, float]) -> str:
    """A Markdown table: runs of each recipe by the difference, at the spread and its interval's ends."""
    low, high = interval
    lines = [
        "| difference δ | runs of each | if σ is at its low end | if σ is at its high end |",
        "|--:|--:|--:|--:|",
    ]
    for delta in DIFFERENCES:
        cells = " | ".join(f"{runs_needed(one, delta):,}" for one in (spread, low, high))
        lines.append(f"| {delta:g}% | {cells} |")
    return "\n".join(lines)


def noise() -> str:
    """The spreads that others measured."""
    return "; ".join(
        f"σ = {short(one.percent, 2)}% over {one.runs} runs of {one.of} ({one.link})"
        for one in sourced().noise
    )
