"""Curves of runs relative to bf16, the band of bf16's seeds, and the gap at the end."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean

from fp8core.experiments.run_spread import (
    Gap,
    gap,
    paired_gap,
    pooled_spread,
    spread_interval,
    spread_percent,
)
from kernels.train.row import TrainRow
from kernels.train.variants import Variant
from pages.loss.charts.curves import Band, Line
from pages.loss.controls import HELD_OUT
from pages.loss.runs import Group, Key, Run, key_of

FEWEST = 2  # runs of bf16 that a band needs


def percent(value: float, digits: int = 2) -> str:
    """A percentage with its sign, such as ``+1.20%``; zero has no minus."""
    return f"{round(value, digits) + 0.0:+.{digits}f}%".replace("-", "−")


def interval(gap: Gap) -> str:
    """A gap with its interval, such as ``+1.20 ± 0.15%``."""
    return f"{percent(gap.percent)[:-1]} ± {gap.error:.2f}%".replace(" ", "\N{NO-BREAK SPACE}")


def points(row: TrainRow, loss: str) -> dict[int, float]:
    """Losses by step, without NaN."""
    steps, losses = (row.held_out_at, row.held_out) if loss == HELD_OUT else (row.at, row.losses)
    return {step: value for step, value in zip(steps, losses, strict=True) if value is not None}


def _mean(each: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The mean of curves at the steps that all of them have."""
    return {step: fmean(one[step] for one in each) for step in each[0] if all(step in one for one in each)}


def band(group: Group, loss: str) -> Band:
    """The range of bf16's seeds."""
    losses = [points(run.row, loss) for run in group.bf16]
    mean = _mean(losses)
    every = [_percent(one, mean) for one in losses]
    return Band(
        steps=list(mean),
        low=[min(one[step] for one in every) for step in mean],
        high=[max(one[step] for one in every) for step in mean],
    )


def line(
    run: Run,
    group: Group | None,
    loss: str,
    *,
    recipe: str = "",
    is_quiet: bool = False,
    opens: str = "",
) -> Line:
    """A run above bf16: above the runs' mean on held-out files, above the same seed's run on batches.

    Without a group, the losses themselves.
    """
    values = points(run.row, loss)
    if group is not None:
        twin = [one for one in group.bf16 if one.row.job.seed == run.row.job.seed and loss != HELD_OUT]
        values = _percent(values, _mean([points(one.row, loss) for one in twin or group.bf16]))
    return Line(
        name=run.title,
        seed=run.row.job.seed,
        steps=list(values),
        percent=list(values.values()),
        recipe=recipe,
        failure=run.row.failure,
        is_here=run.is_here,
        is_quiet=is_quiet,
        opens=opens,
    )


def mean_line(lines: Sequence[Line]) -> Line:
    mean = _mean([dict(zip(one.steps, one.percent, strict=True)) for one in lines])
    return replace(
        lines[0],
        steps=list(mean),
        percent=list(mean.values()),
        failure="",
        is_here=False,
        is_mean=True,
        opens=lines[0].opens.split(".")[0],
    )


def _percent(losses: Mapping[int, float], mean: Mapping[int, float]) -> dict[int, float]:
    return {step: 100 * (value / mean[step] - 1) for step, value in losses.items() if step in mean}


def reach(lines: Sequence[Line], around: Band) -> tuple[float, float]:
    """The lowest and the highest percent, and some room."""
    values = [*around.low, *around.high, *(value for each in lines for value in each.percent)]
    return 1.15 * min([-0.1, *values]), 1.15 * max([0.1, *values])


@dataclass(frozen=True, kw_only=True)
class Final:
    """The end of a kind of run: its gap, and the row of one run.

    `gap` is to the mean of bf16's seeds: the one that pages name and draw. `in_bf16` is the loss's change, in
    percent, with the same weights in bf16. `paired` is the gap to bf16's equal seeds, if these help.
    """

    key: Key
    title: str
    gap: Gap
    row: TrainRow
    bits_per_byte: float
    outside: bool
    in_bf16: float | None
    paired: Gap | None = None

    @property
    def bits(self) -> int:
        """The fewest bits of an operand's code."""
        recipe = self.row.job.recipe_data
        assert recipe is not None, "bf16 has no codes"
        operands = (one for spec in (recipe.fprop, recipe.dgrad, recipe.wgrad) for one in spec.quantized)
        return min(operand.format.bits for operand in operands)

    @property
    def beyond(self) -> bool:
        return self.outside and self.gap.is_clear

    @property
    def verdict(self) -> str:
        if not self.outside:
            return "in the band"
        return "beyond the band" if self.gap.is_clear else "outside, but too few runs to be sure"


def differences(runs: Sequence[Run], others: Sequence[Run]) -> list[float]:
    """Last losses in percent above those of the others, seed by seed."""
    mine, theirs = (
        {run.row.job.seed: run.row.final for run in each if run.row.final is not None}
        for each in (runs, others)
    )
    return [100 * (mine[seed] / theirs[seed] - 1) for seed in mine if seed in theirs]


def pairs(group: Group) -> dict[str, list[float]]:
    """Last losses by the recipe's title, in percent above bf16's of the same seed."""
    each = {name: group.of((name, False, False)) for name in group.recipes}
    by_title = {runs[0].title: differences(runs, group.bf16) for runs in each.values()}
    return {title: percents for title, percents in by_title.items() if percents}


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Two runs with equal seeds: the standard deviation of their last losses, in percent, and its interval.

    `apart` is the standard deviation with different seeds.
    """

    spread: float
    freedom: int
    interval: tuple[float, float]
    apart: float

    @property
    def helps(self) -> bool:
        return self.interval[1] < self.apart

    def gap(self, percents: Sequence[float]) -> Gap | None:
        """The gap to runs of equal seeds, if there are some and equal seeds help."""
        return paired_gap(percents, self.spread, self.freedom) if percents and self.helps else None


@lru_cache(maxsize=8)
def pairing(group: Group) -> Pairing | None:
    """The spread of pairs with equal seeds; None if no recipe has two pairs."""
    every = list(pairs(group).values())
    if not any(len(each) > 1 for each in every):
        return None
    spread, freedom = pooled_spread(every)
    low, high = (share * spread for share in spread_interval(1.0, freedom + 1))
    apart = math.sqrt(2) * spread_percent([run.row.final for run in group.bf16])
    return Pairing(spread=spread, freedom=freedom, interval=(low, high), apart=apart)


def ends_of_band(group: Group) -> tuple[float, float]:
    """The lowest and the highest last loss of bf16, in percent above their mean."""
    losses = [run.row.final for run in group.bf16]
    mean = fmean(losses)
    return 100 * (min(losses) / mean - 1), 100 * (max(losses) / mean - 1)


def finals(group: Group, keys: Sequence[Key]) -> list[Final]:
    """The ends of these kinds, as far as they have whole runs."""
    reference = [run.row.final for run in group.bf16]
    if len(reference) < FEWEST:
        return []
    low, high = ends_of_band(group)
    equal = pairing(group)
    last = []
    for key in keys:
        runs = [run for run in group.of(key) if run.row.final is not None]
        if not runs:
            continue
        one = gap([run.row.final for run in runs], reference)
        rows = [run.row for run in runs if run.row.held_out_bf16 is not None]
        in_bf16 = [100 * (row.held_out_bf16 / row.final - 1) for row in rows]
        last.append(
            Final(
                key=key,
                title=runs[0].title,
                gap=one,
                row=runs[0].row,
                outside=not low <= one.percent <= high,
                bits_per_byte=fmean(run.row.final_bits for run in runs),
                in_bf16=fmean(in_bf16) if in_bf16 else None,
                paired=equal and equal.gap(differences(runs, group.bf16)),
            )
        )
    return last


def apart(variant: Variant, group: Group) -> tuple[float, float]:
    """The change of the last loss in percent, and its ± error; between equal seeds if these help.

    Raises ValueError without whole runs with the change and without it.
    """
    both = finals(group, [key_of(variant.job), key_of(variant.beside)])
    if len(both) < 2:
        raise ValueError(f"no runs with and without the change {variant.name!r} are recorded")
    equal = pairing(group)
    runs = (group.of(key_of(job)) for job in (variant.job, variant.beside))
    if equal is not None and (one := equal.gap(differences(*runs))) is not None:
        return one.percent, one.error
    own, beside = (one.gap for one in both)
    return own.percent - beside.percent, math.hypot(own.error, beside.error)
