"""The curves of runs relative to bf16, the band of bf16's seeds, and what is left at the end."""

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
from pages.kit.gemm.results import Origin
from pages.loss.charts.curves import Band, Line
from pages.loss.controls import HELD_OUT
from pages.loss.runs import Group, Key, Run, key_of

FEWEST = 2
"""Runs of bf16 that a band needs."""
_ROOM, _NEAR = 1.15, 6.0
_SETTLED = 0.4
"""The share of the steps after which a curve counts for the height of the picture."""
_LOWEST = 0.1
_GROUPS_KEPT = 8


def points(row: TrainRow, loss: str) -> dict[int, float]:
    """The losses of a run by the step after which they hold; those that are no numbers are left out."""
    pairs = (
        zip(row.held_out_at, row.held_out, strict=True)
        if loss == HELD_OUT
        else zip(row.at, row.losses, strict=True)
    )
    return {step: value for step, value in pairs if value is not None}


def mean_of(runs: Sequence[Run], loss: str) -> dict[int, float]:
    """The mean loss of some runs at each step that all of them have."""
    each = [points(run.row, loss) for run in runs]
    return {step: fmean(one[step] for one in each) for step in each[0] if all(step in one for one in each)}


def band(group: Group, loss: str) -> Band:
    """The range of bf16's seeds. Raises ValueError for fewer than FEWEST of them."""
    if len(group.bf16) < FEWEST:
        raise ValueError(f"a band needs {FEWEST} runs of bf16, got {len(group.bf16)}")
    mean = mean_of(group.bf16, loss)
    every = [_percent(points(run.row, loss), mean) for run in group.bf16]
    return Band(
        steps=list(mean),
        low=[min(one[step] for one in every) for step in mean],
        high=[max(one[step] for one in every) for step in mean],
    )


def line(run: Run, group: Group, loss: str, *, recipe: str = "", is_quiet: bool = False) -> Line:
    """A run relative to bf16: to its mean on held-out files, to the run of the same seed on batches."""
    twin = [one for one in group.bf16 if one.row.job.seed == run.row.job.seed and loss != HELD_OUT]
    above = _percent(points(run.row, loss), mean_of(twin or group.bf16, loss))
    return Line(
        name=run.title,
        seed=run.row.job.seed,
        steps=list(above),
        percent=list(above.values()),
        recipe=recipe,
        failure=run.row.failure,
        is_here=run.origin is Origin.HERE,
        is_quiet=is_quiet,
    )


def mean_line(lines: Sequence[Line]) -> Line:
    """The mean of runs of one kind, at the steps that all of them have."""
    each = [dict(zip(one.steps, one.percent, strict=True)) for one in lines]
    mean = {step: fmean(one[step] for one in each) for step in each[0] if all(step in one for one in each)}
    return replace(
        lines[0], steps=list(mean), percent=list(mean.values()), failure="", is_here=False, is_mean=True
    )


def _percent(losses: Mapping[int, float], mean: Mapping[int, float]) -> dict[int, float]:
    return {step: 100 * (value / mean[step] - 1) for step, value in losses.items() if step in mean}


def reach(lines: Sequence[Line], around: Band, *, near: bool) -> tuple[float, float]:
    """The lowest and the highest percent to draw; the first steps, where all differ, count for nothing."""
    ends = [
        end
        for step, *both in zip(around.steps, around.low, around.high, strict=True)
        for end in both
        if step >= _SETTLED * around.steps[-1]
    ]
    widest = max(map(abs, ends), default=_LOWEST)
    values = [
        percent
        for each in lines
        for step, percent in zip(each.steps, each.percent, strict=True)
        if step >= _SETTLED * each.steps[-1]
    ]
    if near:
        values = [min(max(value, -_NEAR * widest), _NEAR * widest) for value in values]
    low, high = min([-widest, *values]), max([widest, *values])
    return _ROOM * min(low, -_LOWEST), _ROOM * max(high, _LOWEST)


@dataclass(frozen=True, kw_only=True)
class Final:
    """The end of a kind of run: its gap, and a row of it for what all of them share.

    - bits_per_byte: the last loss in bits, the mean of the runs.
    - outside: the gap lies outside the range of bf16's seeds.
    - in_bf16: what the loss changes where the same weights are computed in bf16, in percent.
    - paired: the gap to bf16's runs of equal seeds; None where there are none, or where these do not help for
      sure.
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
        """The fewest bits of an operand's code in the recipe."""
        recipe = self.row.job.recipe_data
        if recipe is None:
            raise ValueError("bf16 has no recipe")
        specs = (
            operand for spec in (recipe.fprop, recipe.dgrad, recipe.wgrad) for operand in (spec.a, spec.b)
        )
        return min(operand.format.bits for operand in specs if operand is not None)

    @property
    def closest(self) -> Gap:
        """The gap with the smaller interval: of equal seeds where they help."""
        return self.paired or self.gap

    @property
    def beyond(self) -> bool:
        """True if the runs end outside the band, and are enough to say so."""
        return self.outside and self.gap.is_clear

    @property
    def verdict(self) -> str:
        """Where the runs end, in words."""
        if not self.outside:
            return "in the band"
        return "beyond the band" if self.gap.is_clear else "outside, but too few runs to be sure"


def _last(runs: Sequence[Run]) -> dict[int, float]:
    """The last losses of whole runs by their seed."""
    return {run.row.job.seed: run.row.final for run in runs if run.row.final is not None}


def differences(runs: Sequence[Run], others: Sequence[Run]) -> list[float]:
    """The last losses in percent above those of other runs, for each seed that both have."""
    mine, theirs = _last(runs), _last(others)
    return [100 * (mine[seed] / theirs[seed] - 1) for seed in mine if seed in theirs]


def pairs(group: Group) -> dict[str, list[float]]:
    """The last losses of each published recipe by its title, in percent above bf16's of the same seed."""
    each = {name: group.of((name, False, False)) for name in group.recipes}
    by_title = {runs[0].title: differences(runs, group.bf16) for runs in each.values()}
    return {title: percents for title, percents in by_title.items() if percents}


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """The standard deviation of the last losses of two runs with equal seeds, in percent.

    - freedom: degrees of freedom that it is known with. interval: where it lies for sure.
    - apart: the standard deviation that two runs of different seeds have.
    """

    spread: float
    freedom: int
    interval: tuple[float, float]
    apart: float

    @property
    def helps(self) -> bool:
        """True if equal seeds end nearer to each other for sure."""
        return self.interval[1] < self.apart

    def gap(self, percents: Sequence[float]) -> Gap | None:
        """The gap of runs to others of equal seeds; None without a pair, or where these do not help."""
        return paired_gap(percents, self.spread, self.freedom) if percents and self.helps else None


@lru_cache(maxsize=_GROUPS_KEPT)
def pairing(group: Group) -> Pairing | None:
    """What equal seeds are worth here; None where no recipe has two pairs."""
    every = list(pairs(group).values())
    if not any(len(each) > 1 for each in every):
        return None
    spread, freedom = pooled_spread(every)
    low, high = (share * spread for share in spread_interval(1.0, freedom + 1))
    apart = math.sqrt(2) * spread_percent([run.row.final for run in group.bf16])
    return Pairing(spread=spread, freedom=freedom, interval=(low, high), apart=apart)


def ends_of_band(group: Group) -> tuple[float, float]:
    """The lowest and the highest last loss of bf16's seeds, in percent of their mean."""
    losses = [run.row.final for run in group.bf16]
    mean = fmean(losses)
    return 100 * (min(losses) / mean - 1), 100 * (max(losses) / mean - 1)


def finals(group: Group, keys: Sequence[Key]) -> list[Final]:
    """The kinds of runs that reached their end, in the order of the keys."""
    reference = [run.row.final for run in group.bf16]
    if len(reference) < FEWEST:
        return []
    low, high = ends_of_band(group)
    equal = pairing(group)
    last = []
    for key in keys:
        ended = [run for run in group.of(key) if run.row.final is not None]
        if ended:
            one = gap([run.row.final for run in ended], reference)
            last.append(
                Final(
                    key=key,
                    title=ended[0].title,
                    gap=one,
                    row=ended[0].row,
                    outside=not low <= one.percent <= high,
                    bits_per_byte=fmean(run.row.final_bits for run in ended),
                    in_bf16=_in_bf16(ended),
                    paired=equal and equal.gap(differences(ended, group.bf16)),
                )
            )
    return last


def _in_bf16(ended: Sequence[Run]) -> float | None:
    rows = [run.row for run in ended if run.row.held_out_bf16 is not None]
    return fmean(100 * (row.held_out_bf16 / row.final - 1) for row in rows) if rows else None


def apart(variant: Variant, group: Group) -> tuple[float, float]:
    """What a change did to the last loss, in percent, and half the width of its interval.

    Runs of equal seeds are compared where these help. Raises ValueError where a run with the change, or one
    without it, has not ended.
    """
    both = finals(group, [key_of(variant.job), key_of(variant.beside)])
    if len(both) < 2:
        raise ValueError(f"no runs with and without the change {variant.name!r} are recorded")
    equal = pairing(group)
    runs = (group.of(key_of(job)) for job in (variant.job, variant.beside))
    if equal is not None and (one := equal.gap(differences(*runs))) is not None:
        return one.percent, one.error
    changed, beside = (one.gap for one in both)
    return changed.percent - beside.percent, math.hypot(changed.error, beside.error)


def fell(group: Group, keys: Sequence[Key]) -> list[Run]:
    """Runs that failed, of these kinds."""
    return [run for key in keys for run in group.of(key) if run.row.failure]
