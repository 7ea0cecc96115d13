"""The curves of runs relative to bf16, the band of bf16's seeds, and what is left at the end."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fp8core.experiments.run_spread import Gap, gap
from kernels.train.row import TrainRow
from kernels.train.variants import Variant
from pages.kit.gemm.results import Origin
from pages.sections.loss.charts.curves import Band, Line
from pages.sections.loss.controls import HELD_OUT
from pages.sections.loss.runs import Group, Key, Run, key_of

FEWEST = 2
"""Runs of bf16 that a band needs."""
_ROOM, _NEAR = 1.15, 6.0
_SETTLED = 0.4
"""The share of the steps after which a curve counts for the height of the picture."""
_LOWEST = 0.1


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


def line(run: Run, group: Group, loss: str) -> Line:
    """A run relative to bf16: to its mean on held-out files, to the run of the same seed on batches."""
    twin = [one for one in group.bf16 if one.row.job.seed == run.row.job.seed and loss != HELD_OUT]
    above = _percent(points(run.row, loss), mean_of(twin or group.bf16, loss))
    return Line(
        name=run.title,
        seed=run.row.job.seed,
        steps=list(above),
        percent=list(above.values()),
        failure=run.row.failure,
        is_here=run.origin is Origin.HERE,
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

    `outside`: the gap lies outside the range of bf16's seeds.
    """

    key: Key
    title: str
    gap: Gap
    row: TrainRow
    outside: bool

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


def pairs(group: Group) -> dict[str, list[float]]:
    """The last losses of each published recipe by its title, in percent above bf16's of the same seed."""
    bf16 = {run.row.job.seed: run.row.final for run in group.bf16}
    found: dict[str, list[float]] = {}
    for name in group.recipes:
        for run in group.of((name, False, False)):
            final, twin = run.row.final, bf16.get(run.row.job.seed)
            if final is not None and twin is not None:
                found.setdefault(run.title, []).append(100 * (final / twin - 1))
    return found


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
    found = []
    for key in keys:
        ended = [run for run in group.of(key) if run.row.final is not None]
        if ended:
            one = gap([run.row.final for run in ended], reference)
            found.append(
                Final(
                    key=key,
                    title=ended[0].title,
                    gap=one,
                    row=ended[0].row,
                    outside=not low <= one.percent <= high,
                )
            )
    return found


def apart(variant: Variant, group: Group) -> tuple[float, float]:
    """What a change did to the last loss, in percent of bf16's, and half the width of its interval.

    Raises ValueError where a run with the change, or one without it, has not ended.
    """
    found = finals(group, [key_of(variant.job), key_of(variant.beside)])
    if len(found) < 2:
        raise ValueError(f"no runs with and without the change {variant.name!r} are recorded")
    changed, beside = (one.gap for one in found)
    return changed.percent - beside.percent, math.hypot(changed.error, beside.error)


def fell(group: Group, keys: Sequence[Key]) -> list[Run]:
    """Runs that failed, of these kinds."""
    return [run for key in keys for run in group.of(key) if run.row.failure]
